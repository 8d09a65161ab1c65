"""A principal as a broker forwards it to the controller, in Envelope (KIP-590).

Version 0, flexible; two bytes of version come first. A custom principal builder may use a form of its own.
"""

from odradek.protocol.declare import Data, boolean, string


class DefaultPrincipalData(Data, versions="0", flexible="0+"):
    type                = string()
    name                = string()
    token_authenticated = boolean()
