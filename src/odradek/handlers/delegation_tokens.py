"""Who may ask for delegation tokens, and whether there are any: what the four APIs about them have in common."""

from odradek.config.listeners import protocol_map
from odradek.handlers.call import BrokerCall
from odradek.protocol import errors

_SECRET_KEY = "delegation.token.secret.key"


def check_may_ask(call: BrokerCall) -> None:
    """A token stands for who asked for it: that takes a proven name, and one that was not proven by a token."""
    protocol = protocol_map(call.services.configs.current.config).get(call.listener, "PLAINTEXT")
    principal = call.principal
    is_unproven = protocol == "PLAINTEXT" or (protocol == "SSL" and str(principal) == "User:ANONYMOUS")
    if is_unproven or principal.token_authenticated:
        raise errors.DelegationTokenRequestNotAllowed()


def check_enabled(call: BrokerCall) -> None:
    if call.services.configs.current.config.get(_SECRET_KEY) is None:
        raise errors.DelegationTokenAuthDisabled()
