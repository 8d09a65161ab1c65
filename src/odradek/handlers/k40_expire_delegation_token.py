"""ExpireDelegationToken, versions 0-2: the controller moves the end of a token's life.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)

Who may: the token's owner or a renewer, authenticated without a token.
Errors: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED on a connection that proves no name; DELEGATION_TOKEN_AUTH_DISABLED, from
the controller, where no secret key is set.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.delegation_tokens import check_may_ask
from odradek.handlers.forward import forward
from odradek.handlers.serves import serves
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.k40_expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)


def refuse_expire(
    request: ExpireDelegationTokenRequest, error: KafkaError, version: int
) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=-1)


@serves(ExpireDelegationTokenRequest, versions="0-2", refuse=refuse_expire)
async def expire_delegation_token(
    call: BrokerCall, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    check_may_ask(call)
    return await forward(call, request, ExpireDelegationTokenResponse)
