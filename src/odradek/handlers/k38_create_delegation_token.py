"""CreateDelegationToken, versions 0-3: the controller makes a token for who asks, or for another owner.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  a token for another owner; response: who asked for it (KIP-373)

Who may: whoever authenticated without a token; for another owner CREATE_TOKENS on that user, asked by the controller.
Errors: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED on a connection that proves no name; DELEGATION_TOKEN_AUTH_DISABLED, from
the controller, where no secret key is set.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.delegation_tokens import check_may_ask
from odradek.handlers.forward import forward
from odradek.handlers.serves import serves
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.k38_create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)


@serves(CreateDelegationTokenRequest, versions="0-3")
async def create_delegation_token(
    call: BrokerCall, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    try:
        check_may_ask(call)
        return await forward(call, request, CreateDelegationTokenResponse)
    except KafkaError as error:
        return _refused(call, error)


def _refused(call: BrokerCall, error: KafkaError) -> CreateDelegationTokenResponse:
    """The answer names who asked, whatever became of it."""
    kind, name = call.principal.kind, call.principal.name
    response = CreateDelegationTokenResponse(
        error_code=error.code,
        principal_type=kind,
        principal_name=name,
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )
    if call.version >= 3:
        response.token_requester_principal_type = kind
        response.token_requester_principal_name = name
    return response
