"""RenewDelegationToken, versions 0-2: makes a token live longer.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)

Not served yet: tokens are refused as where no secret key is set (KIP-48).

Who may: whoever the broker let through. Errors: DELEGATION_TOKEN_AUTH_DISABLED.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.serves import serves
from odradek.protocol.errors import DelegationTokenAuthDisabled
from odradek.protocol.messages.k39_renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)


@serves(RenewDelegationTokenRequest, versions="0-2", on="controller")
def renew_delegation_token(call: ControllerCall, request: RenewDelegationTokenRequest) -> RenewDelegationTokenResponse:
    return RenewDelegationTokenResponse(error_code=DelegationTokenAuthDisabled.code, expiry_timestamp_ms=-1)
