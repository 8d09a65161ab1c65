"""ExpireDelegationToken, versions 0-2: sets the end of a token.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)

Not served yet: tokens are refused as where no secret key is set (KIP-48).

Who may: whoever the broker let through. Errors: DELEGATION_TOKEN_AUTH_DISABLED.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.serves import serves
from odradek.protocol.errors import DelegationTokenAuthDisabled
from odradek.protocol.messages.k40_expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)


@serves(ExpireDelegationTokenRequest, versions="0-2", on="controller")
def expire_delegation_token(
    call: ControllerCall, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(error_code=DelegationTokenAuthDisabled.code, expiry_timestamp_ms=-1)
