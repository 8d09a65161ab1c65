"""The records of __consumer_offsets while a partition of it is loaded. Runs in a job.

Of a million records nearly all are offsets in the layout that today's brokers write, and the same group and topic come
again and again. Those are taken apart here by position; every other record, and every one whose lengths do not fit,
goes the long way through the codec, which knows what is wrong with it.

    key        type 1, group, topic, partition        int16, two strings with int16 lengths, int32
    value 3    offset, leader epoch, metadata, time   int64, int32, a string with an int16 length, int64
    value 4    the same                               a length of one byte; behind it tags: the topic id or none
"""

from struct import Struct
from typing import NamedTuple

from odradek.coordinator.group.offsets import NO_EXPIRY, Stored
from odradek.protocol.field import ZERO_UUID
from odradek.protocol.frames import CoordinatorRecords
from odradek.replicated.record_decoder import Producer, RecordDecoder

_OFFSET_COMMIT_TYPE = b"\0\1"
_PARTITION_BYTES = 4
_PARTITION = Struct(">i")
_VALUE_3 = Struct(">hqih")  # version, offset, leader epoch, length of the metadata
_VALUE_4 = Struct(">hqiB")  # the length is one more than that, and has one byte up to 126
_TIMESTAMP = Struct(">q")
_EMPTY_3, _EMPTY_4 = Struct(">hqihq"), Struct(">hqiBqB")  # a whole value without metadata and tags
_USUAL_4 = Struct(">hqiBq3s16s")  # the same with a topic id: what a 4.3 writes for nearly every consumer
_NO_TAGS = b"\0"
_TOPIC_ID_TAG = b"\1\0\x10"  # one field: tag 0 of 16 bytes
_COMPACT_LENGTH_MAX = 0x7F
_new_tuple = tuple.__new__


class LoadedOffset(NamedTuple):
    """A commit as it was found in the log, ready to be stored."""

    group: str
    topic: str
    partition: int
    committed: Stored
    producer_id: int


class OffsetsDecoder(RecordDecoder):
    __slots__ = ("_names",)

    def __init__(self, codec: CoordinatorRecords) -> None:
        super().__init__(codec)
        self._names: dict[bytes, tuple[str, str] | None] = {}  # group and topic by the key without its partition

    def decode(self, key: bytes, value: bytes | None, offset: int, producer: Producer) -> object:
        head = key[:-_PARTITION_BYTES]
        try:
            names = self._names[head]
        except KeyError:
            names = self._names[head] = _names(head)
        if names is None or value is None or (committed := _committed(value, offset)) is None:
            return super().decode(key, value, offset, producer)
        (partition,) = _PARTITION.unpack_from(key, len(head))
        # LoadedOffset(...), without the call that a named tuple makes of it: a million times
        return _new_tuple(LoadedOffset, (*names, partition, committed, producer[0]))


def _names(head: bytes) -> tuple[str, str] | None:
    """None if this is not the beginning of an offset's key."""
    if not head.startswith(_OFFSET_COMMIT_TYPE):
        return None
    at = len(_OFFSET_COMMIT_TYPE)
    names = []
    for _ in range(2):
        end = at + 2 + int.from_bytes(head[at : at + 2], "big")
        names.append(head[at + 2 : end])
        at = end
    if at != len(head):
        return None
    try:
        return names[0].decode(), names[1].decode()
    except UnicodeDecodeError:
        return None


def _committed(value: bytes, record_offset: int) -> Stored | None:
    """None if the value has to go the long way."""
    if len(value) == _USUAL_4.size:
        version, offset, epoch, length, timestamp, tags, topic_id = _USUAL_4.unpack(value)
        if version == 4 and length == 1 and tags == _TOPIC_ID_TAG:
            return offset, epoch, "", timestamp, NO_EXPIRY, topic_id, record_offset
    head = value[:2]
    if head == b"\0\4":
        return _of_version_4(value, record_offset)
    return _of_version_3(value, record_offset) if head == b"\0\3" else None


def _of_version_3(value: bytes, record_offset: int) -> Stored | None:
    if len(value) < _EMPTY_3.size:
        return None
    _, offset, epoch, length, timestamp = _EMPTY_3.unpack_from(value)
    end = _VALUE_3.size + length
    if length < 0 or end + _TIMESTAMP.size != len(value):
        return None
    if not length:
        return offset, epoch, "", timestamp, NO_EXPIRY, ZERO_UUID, record_offset
    metadata = _text(value[_VALUE_3.size : end])
    (timestamp,) = _TIMESTAMP.unpack_from(value, end)
    return None if metadata is None else (offset, epoch, metadata, timestamp, NO_EXPIRY, ZERO_UUID, record_offset)


def _of_version_4(value: bytes, record_offset: int) -> Stored | None:
    if len(value) < _EMPTY_4.size:
        return None
    _, offset, epoch, length = _VALUE_4.unpack_from(value)
    end = _VALUE_4.size + length - 1
    if not 1 <= length <= _COMPACT_LENGTH_MAX or end + _TIMESTAMP.size >= len(value):
        return None
    metadata = "" if length == 1 else _text(value[_VALUE_4.size : end])
    tags = value[end + _TIMESTAMP.size :]
    topic_id = ZERO_UUID if tags == _NO_TAGS else _topic_id(tags)
    if metadata is None or topic_id is None:
        return None
    return offset, epoch, metadata, *_TIMESTAMP.unpack_from(value, end), NO_EXPIRY, topic_id, record_offset


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _topic_id(tags: bytes) -> bytes | None:
    return tags[3:] if len(tags) == 19 and tags.startswith(_TOPIC_ID_TAG) else None
