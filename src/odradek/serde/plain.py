"""The formats that Kafka itself has for keys and values: text, numbers, truth, UUIDs, bytes.

Each class is a format in both directions, with the bytes of Kafka's own serializers: numbers are big-endian and of a
fixed width, text is UTF-8 unless a config says otherwise, a UUID is its text. None is null, in both directions.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from odradek.serde.errors import SerializationError

if TYPE_CHECKING:
    from uuid import UUID  # most programs have no use for it

Headers = Sequence[tuple[str, bytes | None]]

T = TypeVar("T")
Value = TypeVar("Value", contravariant=True)
Made = TypeVar("Made", covariant=True)


class SerializerWithContext(Protocol[Value]):
    """Makes bytes of a value and knows where it goes. It may have `configure(configs, is_key)` and `close()`."""

    def serialize(self, topic: str, headers: Headers, value: Value, /) -> bytes | None: ...


class DeserializerWithContext(Protocol[Made]):
    """Makes a value of bytes and knows where they are from. It may have `configure(configs, is_key)` and `close()`."""

    def deserialize(self, topic: str, headers: Headers, data: bytes | None, /) -> Made: ...


class Bytes:
    """Bytes as they are; a `bytearray` or a `memoryview` is copied."""

    def serialize(self, topic: str, headers: Headers, value: bytes | bytearray | memoryview | None) -> bytes | None:
        if value is None or type(value) is bytes:
            return value
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        raise SerializationError(f"bytes were expected, not {_a(value)}")

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> bytes | None:
        return data


class String:
    """Text, in UTF-8 or in what key.serializer.encoding, serializer.encoding and the like say."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self._encoding = encoding
        self._encoding_back = encoding

    def configure(self, configs: Mapping[str, object], is_key: bool) -> None:
        side = "key" if is_key else "value"
        self._encoding = _encoding(configs, side, "serializer") or self._encoding
        self._encoding_back = _encoding(configs, side, "deserializer") or self._encoding_back

    def serialize(self, topic: str, headers: Headers, value: str | None) -> bytes | None:
        if value is None:
            return None
        if not isinstance(value, str):
            raise SerializationError(f"text was expected, not {_a(value)}")
        try:
            return value.encode(self._encoding)
        except ValueError as error:
            raise SerializationError(f"the text has no form in {self._encoding}") from error

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> str | None:
        if data is None:
            return None
        try:
            return data.decode(self._encoding_back)
        except ValueError as error:
            raise SerializationError(f"{len(data)} bytes are no text in {self._encoding_back}") from error


class _Number(Generic[T]):
    """A number of a fixed width, in network order."""

    _form: struct.Struct
    _types: tuple[type, ...] = (int,)
    _kind: str

    def serialize(self, topic: str, headers: Headers, value: T | None) -> bytes | None:
        if value is None:
            return None
        if not isinstance(value, self._types) or (isinstance(value, bool) and bool not in self._types):
            raise SerializationError(f"{self._kind} was expected, not {_a(value)}")
        try:
            return self._form.pack(value)
        except (struct.error, OverflowError) as error:
            raise SerializationError(f"the number does not fit {self._form.size} bytes") from error

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> T | None:
        if data is None:
            return None
        if len(data) != self._form.size:
            raise SerializationError(f"{self._kind} has {self._form.size} bytes, and these are {len(data)}")
        value: T = self._form.unpack(data)[0]
        return value


class Short(_Number[int]):
    """An integer of 2 bytes."""

    _form = struct.Struct(">h")
    _kind = "an integer of 16 bits"


class Int(_Number[int]):
    """An integer of 4 bytes, which Java's programs call Integer."""

    _form = struct.Struct(">i")
    _kind = "an integer of 32 bits"


class Long(_Number[int]):
    """An integer of 8 bytes."""

    _form = struct.Struct(">q")
    _kind = "an integer of 64 bits"


class Float(_Number[float]):
    """A floating-point number of 4 bytes."""

    _form = struct.Struct(">f")
    _types = (float, int)
    _kind = "a number"


class Double(_Number[float]):
    """A floating-point number of 8 bytes, which is Python's own."""

    _form = struct.Struct(">d")
    _types = (float, int)
    _kind = "a number"


class Boolean(_Number[bool]):
    """True or False, in one byte. Any other byte than 0 and 1 is neither."""

    _form = struct.Struct(">?")
    _types = (bool,)
    _kind = "True or False"

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> bool | None:
        if data is not None and len(data) == 1 and data not in (b"\x00", b"\x01"):
            raise SerializationError(f"True or False is the byte 1 or 0, and this is {data[0]}")
        return super().deserialize(topic, headers, data)


class Uuid:
    """A `uuid.UUID`, as its text."""

    def serialize(self, topic: str, headers: Headers, value: "UUID | None") -> bytes | None:
        from uuid import UUID

        if value is None:
            return None
        if not isinstance(value, UUID):
            raise SerializationError(f"a UUID was expected, not {_a(value)}")
        return str(value).encode()

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> "UUID | None":
        from uuid import UUID

        if data is None:
            return None
        try:
            return UUID(data.decode())
        except ValueError as error:
            raise SerializationError(f"{len(data)} bytes are no UUID") from error


class Void:
    """Nothing at all: the key of those who never have one."""

    def serialize(self, topic: str, headers: Headers, value: None) -> None:
        if value is not None:
            raise SerializationError(f"None was expected, not {_a(value)}")

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> None:
        if data is not None:
            raise SerializationError(f"no bytes were expected, and these are {len(data)}")


def _encoding(configs: Mapping[str, object], side: str, direction: str) -> str | None:
    found = configs.get(f"{side}.{direction}.encoding") or configs.get(f"{direction}.encoding")
    return None if found is None else str(found)


def _a(value: object) -> str:
    return f"an object of class {type(value).__qualname__}"
