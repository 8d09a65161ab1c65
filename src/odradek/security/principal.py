"""Whom a connection speaks for."""

USER = "User"


class Principal:
    """`User:alice`. Two are equal if kind and name are; how they logged in does not matter."""

    __slots__ = ("kind", "name", "token_authenticated")

    def __init__(self, kind: str, name: str, token_authenticated: bool = False) -> None:
        self.kind = kind
        self.name = name
        self.token_authenticated = token_authenticated  # by a delegation token: it may not ask for another

    @classmethod
    def parse(cls, text: str) -> "Principal":
        """`kind:name`; ValueError for anything else. The name may hold colons."""
        kind, colon, name = text.partition(":")
        if not colon or not kind or not name:
            raise ValueError(f"expected a principal as kind:name, not {text!r}")
        return cls(kind, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Principal) and other.kind == self.kind and other.name == self.name

    def __hash__(self) -> int:
        return hash((self.kind, self.name))

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    def __repr__(self) -> str:
        return f"Principal({self})"


ANONYMOUS = Principal(USER, "ANONYMOUS")
