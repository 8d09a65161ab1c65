"""The seam for authorization: who decides whether a request may do what it asks for (Kafka's Authorizer).

A node without an authorizer allows everything to everybody.
"""

from typing import Protocol

from odradek.security.principal import Principal


class AuthorizableRequest(Protocol):
    """What an authorizer may ask of a request: Kafka's AuthorizableRequestContext."""

    @property
    def principal(self) -> Principal: ...

    @property
    def listener(self) -> str: ...

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the client."""
        ...


class Authorizer(Protocol):
    def authorize(self, request: AuthorizableRequest, operation: int, resource_type: int, name: str) -> bool:
        """Whether the principal of the request may do this operation on the resource of this type and name."""
        ...
