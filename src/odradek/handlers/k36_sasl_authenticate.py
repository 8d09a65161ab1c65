"""SaslAuthenticate, versions 0-2: on a connection that has authenticated, or needs not to.

Before that the listener's authenticator answers it (`security/`); here it can only come too late.

     1  response: how long the session lasts
     2  same fields in the flexible encoding

Who may: everybody. Errors: ILLEGAL_SASL_STATE, always.
"""

from odradek.handlers.call import AnyCall
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse

_TOO_LATE = "SaslAuthenticate request received after successful authentication"


@serves(SaslAuthenticateRequest, versions="0-2", on="both")
def sasl_authenticate(call: AnyCall, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(error_code=errors.IllegalSaslState.code, error_message=_TOO_LATE)
