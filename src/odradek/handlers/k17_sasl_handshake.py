"""SaslHandshake, versions 0-1: on a connection that has authenticated, or needs not to.

Before that the listener's authenticator answers it (`security/`); here it can only come too late.

     0  SASL tokens follow as bare frames
     1  SASL tokens follow in SaslAuthenticate

Who may: everybody. Errors: ILLEGAL_SASL_STATE, always.
"""

from odradek.handlers.call import AnyCall
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


@serves(SaslHandshakeRequest, versions="0-1", on="both")
def sasl_handshake(call: AnyCall, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=errors.IllegalSaslState.code)
