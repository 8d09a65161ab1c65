"""CreateDelegationToken, versions 0-3: makes a token.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  a token for another owner; response: who asked for it (KIP-373)

Not served yet: tokens are refused as where no secret key is set (KIP-48).

Who may: whoever the broker let through. Errors: DELEGATION_TOKEN_AUTH_DISABLED.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.serves import serves
from odradek.protocol.errors import DelegationTokenAuthDisabled
from odradek.protocol.messages.k38_create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)


@serves(CreateDelegationTokenRequest, versions="0-3", on="controller")
def create_delegation_token(
    call: ControllerCall, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    return CreateDelegationTokenResponse(
        error_code=DelegationTokenAuthDisabled.code,
        principal_type=call.principal.kind,
        principal_name=call.principal.name,
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )
