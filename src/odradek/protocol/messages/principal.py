"""A principal as it is forwarded between brokers."""

from odradek.protocol.declare import Data, boolean, string


class DefaultPrincipalData(Data, versions="0", flexible="0+"):
    type                = string()
    name                = string()
    token_authenticated = boolean()
