"""JSON in UTF-8, without blanks. None is null of Kafka's, a tombstone, and not the text `null`."""

import json
from collections.abc import Callable
from typing import Any

from odradek.serde.errors import SerializationError
from odradek.serde.plain import Headers


# Any: a value is of whichever of JSON's types, or of those that these two functions know.
class Json:
    """`default` and `object_hook` are those of Python's `json`: for what JSON has no form of."""

    def __init__(
        self,
        *,
        default: Callable[[Any], Any] | None = None,
        object_hook: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self._encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=default).encode
        self._decode = json.JSONDecoder(object_hook=object_hook).decode

    def serialize(self, topic: str, headers: Headers, value: Any) -> bytes | None:
        if value is None:
            return None
        try:
            return self._encode(value).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise SerializationError(f"there is no JSON for it: {error}") from error

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        if data is None:
            return None
        try:
            return self._decode(data.decode())
        except (ValueError, RecursionError) as error:
            raise SerializationError(f"{len(data)} bytes are no JSON: {error}") from error
