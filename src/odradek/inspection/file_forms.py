"""The small files of a log dir as plain values, for the tools.

Each function takes the bytes of a whole file and returns what they say, or raises `MalformedFile` with the place. They
share nothing with the code that writes these files: a verifier that used it would repeat its mistakes.

    .index      relative offset 4 | position 4                    sorted by both; zeros at the end are preallocated
    .timeindex  timestamp 8 | relative offset 4                   the largest timestamp up to and with that offset
    .txnindex   version 2 | producer id 8 | first offset 8 | last offset 8 | last stable offset 8
    .snapshot   version 2 | crc 4 | entries                       crc over the entries and their count
    checkpoint  a line with the version, one with the count, and a line per entry
"""

import json
from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple

from odradek.protocol import errors
from odradek.protocol.json_value import JsonObject
from odradek.protocol.messages.producer_snapshot import ProducerEntry, ProducerSnapshot
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import parse_uuid
from odradek.records.crc import crc32c

OFFSET_ENTRY = Struct(">ii")
TIME_ENTRY = Struct(">qi")
ABORTED_ENTRY = Struct(">hqqqq")

SNAPSHOT_VERSION = 1
SNAPSHOT_CRC_START = 6
CHECKPOINT_VERSION = 0
ABORTED_VERSION = 0


Entry = tuple[int, list[str], list[int]]  # of a checkpoint: its line, names and numbers


class MalformedFile(Exception):  # noqa: N818 - it names what is found, not what went wrong here
    """`position` counts bytes; in a text file it is the line, from 1."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


class SparseIndex(NamedTuple):
    """`entries` are (offset, position) or (timestamp, offset), offsets absolute."""

    entries: list[tuple[int, int]]
    zero_tail: int
    odd_bytes: int


class AbortedTransaction(NamedTuple):
    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class SnapshotFile(NamedTuple):
    crc: int
    crc_ok: bool
    entries: list[ProducerEntry]


def offset_index(data: bytes, base_offset: int) -> SparseIndex:
    used, zero_tail, odd_bytes = _without_zero_tail(data, OFFSET_ENTRY.size)
    entries = [(base_offset + relative, position) for relative, position in OFFSET_ENTRY.iter_unpack(used)]
    return SparseIndex(entries, zero_tail, odd_bytes)


def time_index(data: bytes, base_offset: int) -> SparseIndex:
    used, zero_tail, odd_bytes = _without_zero_tail(data, TIME_ENTRY.size)
    entries = [(timestamp, base_offset + relative) for timestamp, relative in TIME_ENTRY.iter_unpack(used)]
    return SparseIndex(entries, zero_tail, odd_bytes)


def _without_zero_tail(data: bytes, entry_size: int) -> tuple[bytes, int, int]:
    """The entries, how many bytes of zeros follow them, and how many bytes are too few for an entry."""
    odd_bytes = len(data) % entry_size
    whole = len(data) - odd_bytes
    used = len(data[:whole].rstrip(b"\0"))
    used += -used % entry_size  # an entry may end in zeros of its own
    return data[:used], whole - used, odd_bytes


def transaction_index(data: bytes) -> list[AbortedTransaction]:
    odd_bytes = len(data) % ABORTED_ENTRY.size
    if odd_bytes:
        raise MalformedFile(f"{odd_bytes} bytes are too few for an entry", len(data) - odd_bytes)
    entries = [AbortedTransaction(*fields) for fields in ABORTED_ENTRY.iter_unpack(data)]
    for at, entry in enumerate(entries):
        if entry.version > ABORTED_VERSION or entry.version < 0:
            raise MalformedFile(f"an entry has version {entry.version}", at * ABORTED_ENTRY.size)
    return entries


def producer_snapshot(data: bytes) -> SnapshotFile:
    version = int.from_bytes(data[:2], "big", signed=True)
    if len(data) < SNAPSHOT_CRC_START or version != SNAPSHOT_VERSION:
        raise MalformedFile(f"{len(data)} bytes of version {version} are no producer snapshot", 0)
    try:
        snapshot = ProducerSnapshot.decode(data, SNAPSHOT_VERSION, 2)
    except errors.PeerProtocolError as error:
        raise MalformedFile(str(error), 2) from None
    crc_ok = snapshot.crc == crc32c(memoryview(data)[SNAPSHOT_CRC_START:])
    return SnapshotFile(snapshot.crc, crc_ok, snapshot.producer_entries)


def leader_epochs(data: bytes) -> list[tuple[int, int]]:
    """(epoch, start offset) in the order of the file."""
    return [(numbers[0], numbers[1]) for _, _, numbers in _checkpoint(data, 0)]


def offset_checkpoint(data: bytes) -> dict[TopicPartition, int]:
    """Offsets by topic and partition."""
    found: dict[TopicPartition, int] = {}
    for line, (topic,), (partition, offset) in _checkpoint(data, 1):
        if (topic, partition) in found:
            raise MalformedFile(f"{topic}-{partition} is listed twice", line)
        found[TopicPartition(topic, partition)] = offset
    return found


def _checkpoint(data: bytes, names: int) -> list[Entry]:
    """Its entries, each of so many names and two numbers. A broker that stops before it wrote one leaves it empty."""
    lines = _text(data).splitlines()
    if not lines:
        return []
    version = _whole(lines[0], 1)
    if version != CHECKPOINT_VERSION:
        raise MalformedFile(f"the file has version {version}, expected {CHECKPOINT_VERSION}", 1)
    count = _whole(lines[1] if len(lines) > 1 else "", 2)
    if count != len(lines) - 2:
        raise MalformedFile(f"the file says it has {count} entries and has {len(lines) - 2}", 2)
    return [_entry(line, names, number) for number, line in enumerate(lines[2:], 3)]


def _entry(line: str, names: int, number: int) -> Entry:
    parts = line.split()
    if len(parts) != names + 2:
        raise MalformedFile(f"{line!r} is no entry of {names + 2} fields", number)
    return number, parts[:names], [_whole(part, number) for part in parts[names:]]


def _whole(text: str, line: int) -> int:
    digits = text[1:] if text.startswith("-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise MalformedFile(f"{text!r} is no whole number", line)
    return int(text)


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedFile("the file is not text", data[: error.start].count(b"\n") + 1) from None


def checkpoint_file(entries: Iterable[str]) -> bytes:
    """A checkpoint with these lines, for what repair has to write anew."""
    lines = list(entries)
    return "".join(f"{line}\n" for line in (str(CHECKPOINT_VERSION), str(len(lines)), *lines)).encode()


def topic_id(data: bytes) -> bytes:
    """The id in a `partition.metadata`."""
    lines = _text(data).splitlines()
    if len(lines) != 2 or lines[0] != "version: 0" or not lines[1].startswith("topic_id: "):
        raise MalformedFile("expected the lines `version: 0` and `topic_id: ID`", 1)
    try:
        return parse_uuid(lines[1].removeprefix("topic_id: "))
    except ValueError as error:
        raise MalformedFile(str(error), 2) from None


def json_object(data: bytes) -> JsonObject:
    """The quorum-state, and the clean-shutdown marker since 3.7."""
    try:
        form = json.loads(_text(data))
    except ValueError as error:
        raise MalformedFile(f"the file is not JSON: {error}", getattr(error, "lineno", 1)) from None
    if not isinstance(form, dict):
        raise MalformedFile("the file is JSON, but no object", 1)
    return form
