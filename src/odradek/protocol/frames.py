"""The few bytes that stand before an internal record and say what it is.

- `__consumer_offsets`, `__transaction_state`, `__share_group_state`: two bytes. Before a key its record type (3.x calls
  the same number the key's version), before a value its version.
- The metadata log: three unsigned varints: frame version, record type, record version. `__remote_log_metadata` has the
  same without the frame version.
"""

from odradek.broken_rule import BrokenRuleError
from odradek.protocol import registry
from odradek.protocol.declare import Message
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.parts import Buffer
from odradek.protocol.words import remaining

METADATA_FRAME_VERSION = 1


def _record_type(message: Message | type[Message]) -> int:
    record_type = message.api_key
    if record_type is None:
        raise BrokenRuleError(f"an internal record has a type: {message!r}")
    return record_type


class CoordinatorRecords:
    """The record types of one internal topic: keys and values that share a type id."""

    __slots__ = ("_keys", "_modules", "_values")

    def __init__(self, modules: tuple[str, ...]) -> None:
        self._modules = modules
        self._keys: dict[int, type[Message]] = {}
        self._values: dict[int, type[Message]] = {}

    def encode_key(self, key: Message) -> bytes:
        """The record type and the key."""
        return _record_type(key).to_bytes(2, "big") + key.to_bytes(0)

    def encode_value(self, value: Message, version: int) -> bytes:
        """The version and the value."""
        return version.to_bytes(2, "big") + value.to_bytes(version)

    def decode_key(self, data: Buffer) -> Message | None:
        """The key, or None for a record type that is not known here: a newer release may have written it."""
        self._load()
        cls = self._keys.get(_int16(data, "record type"))
        return cls.decode(data, 0, at=2) if cls is not None else None

    def decode_value(self, key: Message, data: Buffer) -> Message:
        """The value that belongs to a key; a version that nobody declares is an error."""
        self._load()
        cls = self._values[_record_type(key)]
        version = _int16(data, "value version")
        if version not in cls.versions:
            raise PeerProtocolError(f"{cls.__name__} has no version {version}", 0)
        return cls.decode(data, version, at=2)

    def _load(self) -> None:
        if self._keys:
            return
        keys: dict[int, type[Message]] = {}
        values: dict[int, type[Message]] = {}
        for module in self._modules:
            for name, cls in registry.messages_of(module).items():
                (keys if name.endswith("Key") else values)[_record_type(cls)] = cls
        # Whole tables, the one that is looked at last: jobs of several threads may be the first to ask.
        self._values = values
        self._keys = keys


OFFSETS = CoordinatorRecords(registry.OFFSETS_RECORDS)
TRANSACTIONS = CoordinatorRecords(registry.TRANSACTION_RECORDS)
SHARE_STATE = CoordinatorRecords(registry.SHARE_RECORDS)


def _int16(data: Buffer, what: str) -> int:
    if len(data) < 2:
        raise PeerProtocolError(f"the {what} needs 2 bytes, {remaining(len(data))}", 0)
    return int.from_bytes(data[:2], "big", signed=True)


class TypedRecords:
    """Records framed by varints: type and version, in the metadata log after a frame version."""

    __slots__ = ("_by_type", "_has_frame_version", "_modules")

    def __init__(self, modules: tuple[str, ...], *, has_frame_version: bool) -> None:
        self._modules = modules
        self._has_frame_version = has_frame_version
        self._by_type: dict[int, type[Message]] = {}

    def encode(self, record: Message, version: int) -> bytes:
        """The record behind its frame."""
        head = _uvarint(METADATA_FRAME_VERSION) if self._has_frame_version else b""
        return head + _uvarint(_record_type(record)) + _uvarint(version) + record.to_bytes(version)

    def decode(self, data: Buffer) -> tuple[Message, int]:
        """The record and its version. A type or version that nobody declares is an error: state would be lost."""
        self._load()
        at = 0
        if self._has_frame_version:
            frame_version, at = _read_uvarint(data, at, "frame version")
            if frame_version != METADATA_FRAME_VERSION:
                raise PeerProtocolError(f"frame version {frame_version}, expected {METADATA_FRAME_VERSION}", 0)
        record_type, at = _read_uvarint(data, at, "record type")
        version, at = _read_uvarint(data, at, "record version")
        cls = self._by_type.get(record_type)
        if cls is None:
            raise PeerProtocolError(f"no record has the type {record_type}", at)
        if version not in cls.versions:
            raise PeerProtocolError(f"{cls.__name__} has no version {version}", at)
        return cls.decode(data, version, at=at), version

    def _load(self) -> None:
        if self._by_type:
            return
        by_type: dict[int, type[Message]] = {}
        for module in self._modules:
            for cls in registry.messages_of(module).values():
                by_type[_record_type(cls)] = cls
        self._by_type = by_type  # whole: jobs of several threads may be the first to ask


METADATA = TypedRecords(registry.METADATA_RECORDS, has_frame_version=True)
REMOTE_LOG = TypedRecords(registry.REMOTE_LOG_RECORDS, has_frame_version=False)


def _uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_uvarint(data: Buffer, at: int, what: str) -> tuple[int, int]:
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            raise PeerProtocolError(f"the {what} is cut off", at)
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise PeerProtocolError(f"the {what} is longer than five bytes", at)
