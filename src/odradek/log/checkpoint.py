"""The small text files of a log dir: offsets by partition, epochs by start offset, the topic's id.

A checkpoint is a line with the version, one with the number of entries, and a line per entry. A reader that finds
anything else refuses the file: an offset misread as a smaller one would let recovery truncate what was acknowledged.
An empty file counts as no entries, as it is what a broker leaves that was stopped before it wrote the first one.
"""

from collections.abc import Iterable, Iterator, Mapping

from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.ports import Disk

VERSION = 0


class CorruptCheckpoint(Exception):  # noqa: N818 - what is found, not what went wrong here
    def __init__(self, reason: str, line: int) -> None:
        super().__init__(f"line {line}: {reason}")
        self.reason = reason
        self.line = line


def format_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    return _format(f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items())


def parse_offsets(data: bytes) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    for line, (topic, partition, offset) in _entries(data, 3):
        found[TopicPartition(topic, _whole(partition, line))] = _whole(offset, line)
    return found


def read_offsets(disk: Disk, path: str) -> dict[TopicPartition, int]:
    """Blocks. A file that is not there has no entries."""
    return parse_offsets(disk.read(path)) if disk.exists(path) else {}


def write_offsets(disk: Disk, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Blocks until the file is durable."""
    disk.write_atomically(path, format_offsets(offsets))


def format_epochs(entries: Iterable[tuple[int, int]]) -> bytes:
    """`entries` are (epoch, start offset)."""
    return _format(f"{epoch} {start_offset}" for epoch, start_offset in entries)


def parse_epochs(data: bytes) -> list[tuple[int, int]]:
    return [(_whole(epoch, line), _whole(start, line)) for line, (epoch, start) in _entries(data, 2)]


def format_partition_metadata(topic_id: str) -> bytes:
    """`topic_id` in Kafka's 22 characters."""
    return f"version: {VERSION}\ntopic_id: {topic_id}".encode()


def parse_partition_metadata(data: bytes) -> str:
    lines = _lines(data)
    if len(lines) != 2 or lines[0] != f"version: {VERSION}" or not lines[1].startswith("topic_id: "):
        raise CorruptCheckpoint("expected the lines `version: 0` and `topic_id: ID`", 1)
    return lines[1].removeprefix("topic_id: ")


def _format(lines: Iterable[str]) -> bytes:
    entries = list(lines)
    return "".join(f"{line}\n" for line in (str(VERSION), str(len(entries)), *entries)).encode()


def _entries(data: bytes, width: int) -> Iterator[tuple[int, list[str]]]:
    lines = _lines(data)
    if not lines:
        return
    if _whole(lines[0], 1) != VERSION:
        raise CorruptCheckpoint(f"version {lines[0]} is not known, expected {VERSION}", 1)
    count = _whole(lines[1] if len(lines) > 1 else "", 2)
    if count != len(lines) - 2:
        raise CorruptCheckpoint(f"{count} entries are announced, {len(lines) - 2} are there", 2)
    for number, line in enumerate(lines[2:], 3):
        fields = line.split()
        if len(fields) != width:
            raise CorruptCheckpoint(f"{line!r} is no entry of {width} fields", number)
        yield number, fields


def _lines(data: bytes) -> list[str]:
    try:
        return data.decode().splitlines()
    except UnicodeDecodeError:
        raise CorruptCheckpoint("the file is not text", 1) from None


def _whole(text: str, line: int) -> int:
    if not text.removeprefix("-").isdecimal() or not text.isascii():
        raise CorruptCheckpoint(f"{text!r} is no whole number", line)
    return int(text)
