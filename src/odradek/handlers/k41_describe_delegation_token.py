"""DescribeDelegationToken, versions 0-3: the tokens that the caller may see.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  response: who asked for the token (KIP-373)

Who may: whoever authenticated without a token. Errors: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED on a connection that proves
no name; DELEGATION_TOKEN_AUTH_DISABLED where no secret key is set. Where one is set there are no tokens yet: none can
be made.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.delegation_tokens import check_enabled, check_may_ask
from odradek.handlers.serves import serves
from odradek.protocol.messages.k41_describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)


@serves(DescribeDelegationTokenRequest, versions="0-3")
def describe_delegation_token(
    call: BrokerCall, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    check_may_ask(call)
    check_enabled(call)
    return DescribeDelegationTokenResponse()
