"""The base classes of serializers that are objects."""

from collections.abc import Callable
from typing import Any

from odradek.serde.plain import Headers


class Serializer:
    """Subclass it and write `serialize`. Any: a value is of the type that the subclass is for."""

    def serialize(self, topic: str, headers: Headers, value: Any) -> bytes | None:
        raise NotImplementedError

    def close(self) -> None:
        """The client is closed."""


class Deserializer:
    """Subclass it and write `deserialize`. Any: as above."""

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        """The client is closed."""


class Always:
    """A function of one argument that is asked about None as well, as kafka-python does."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function

    def serialize(self, topic: str, headers: Headers, value: object) -> object:
        return self._function(value)

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> object:
        return self._function(data)


class WithoutHeaders:
    """An object of older releases, whose methods are not told of headers. Any: it may have one of the two."""

    def __init__(self, given: Any) -> None:
        self._given = given
        self.close = getattr(given, "close", lambda: None)

    def serialize(self, topic: str, headers: Headers, value: object) -> object:
        return self._given.serialize(topic, value)

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> object:
        return self._given.deserialize(topic, data)


def adapted(given: Any, method: str) -> Any:
    """What was handed in, as our clients take it. Any: a function, or an object of theirs or of ours."""
    if given is None:
        return None
    named = getattr(given, method, None)
    if named is None:
        return Always(given)
    return WithoutHeaders(given) if _parameters(named) == 2 else given


def _parameters(method: Callable[..., object]) -> int:
    from inspect import signature

    return len(signature(method).parameters)
