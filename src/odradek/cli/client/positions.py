"""Places in a partition as people name them: `start`, `end`, `100`, `-10`, `+5`, `@-1h`, `group:billing`."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from odradek.cli.client.lookup import listed_groups
from odradek.cli.client.times import time_ms
from odradek.cli.failure import Failure
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient

START, END, OFFSET, BEFORE_END, AFTER_START, TIME, GROUP = (
    "start",
    "end",
    "offset",
    "before end",
    "after start",
    "time",
    "group",
)
FORMS = "start, end, an offset, -N (before the end), +N (after the start), @time, @-1h, or group:NAME"

PARTITION_MAX = 1_000_000  # no topic has so many, and a list of more would be long

_WORDS = {"start": START, "beginning": START, "earliest": START, "end": END, "latest": END}


class Position(NamedTuple):
    """`number` goes with OFFSET, BEFORE_END, AFTER_START and TIME, `group` with GROUP."""

    kind: str
    number: int = 0
    group: str = ""


class Bounds(NamedTuple):
    """Where a partition begins, and the offset that its next record gets."""

    start: int
    end: int

    def clamped(self, offset: int) -> int:
        return min(max(offset, self.start), self.end)


def parse(text: str, now_ms: int) -> Position:
    """Failure for what is no place."""
    if text in _WORDS:
        return Position(_WORDS[text])
    if text.startswith("@"):
        return Position(TIME, time_ms(text[1:], now_ms))
    if text.startswith("group:") and len(text) > len("group:"):
        return Position(GROUP, group=text.removeprefix("group:"))
    kind = {"-": BEFORE_END, "+": AFTER_START}.get(text[:1], OFFSET)
    digits = text[1:] if kind != OFFSET else text
    if not digits.isdecimal():
        raise Failure(f"{text!r} is no place in a partition: expected {FORMS}")
    return Position(kind, int(digits))


def bounds_of(
    admin: "AdminClient", partitions: Iterable[TopicPartition], *, committed_only: bool = False
) -> dict[TopicPartition, Bounds]:
    from odradek.client.admin.topics import EARLIEST, LATEST

    places = list(partitions)
    starts = admin.list_offsets(dict.fromkeys(places, EARLIEST))
    ends = admin.list_offsets(dict.fromkeys(places, LATEST), committed_only=committed_only)
    return {place: Bounds(starts[place].offset, ends[place].offset) for place in places}


def offsets_at(
    admin: "AdminClient", position: Position, bounds: Mapping[TopicPartition, Bounds]
) -> dict[TopicPartition, int]:
    """The offset of the place in each partition, within its bounds. A group that has committed none is at the start."""
    if position.kind == TIME:
        found = admin.list_offsets(dict.fromkeys(bounds, position.number))
        return {place: limits.end if (at := found[place].offset) < 0 else at for place, limits in bounds.items()}
    if position.kind == GROUP:
        listed_groups(admin, [position.group])
        committed = admin.list_group_offsets({position.group: list(bounds)})[position.group]
        return {
            place: limits.clamped(committed[place].offset) if place in committed else limits.start
            for place, limits in bounds.items()
        }
    return {place: limits.clamped(_counted(position, limits)) for place, limits in bounds.items()}


def _counted(position: Position, bounds: Bounds) -> int:
    if position.kind in (END, BEFORE_END):
        return bounds.end - position.number
    if position.kind in (START, AFTER_START):
        return bounds.start + position.number
    return position.number


def wanted_partitions(texts: Iterable[str], counts: Mapping[str, int]) -> list[TopicPartition]:
    """`orders`, `orders:0`, `orders:0,2-4`; `counts` tells how many each topic has. Failure for one too many."""
    found = []
    for text in texts:
        topic, colon, numbers = text.partition(":")
        there = range(counts[topic])
        chosen = partition_numbers(numbers, f"{text}") if colon else list(there)
        for number in chosen:
            if number not in there:
                raise Failure(f"topic {topic} has no partition {number}; it has {counts[topic]}, counted from 0")
            found.append(TopicPartition(topic, number))
    return list(dict.fromkeys(found))


def partition_numbers(text: str, whole: str) -> list[int]:
    """`0`, `0,2`, `1-3`."""
    found: list[int] = []
    for piece in text.split(","):
        first, dash, last = piece.partition("-")
        is_range = first.isdecimal() and (last.isdecimal() if dash else True)
        if not is_range or int(last or first) > PARTITION_MAX:
            raise Failure(f"{whole}: expected numbers of partitions, as in 0 or 0,2 or 1-3")
        found += range(int(first), int(last if dash else first) + 1)
    return found


def topic_of(text: str) -> str:
    return text.partition(":")[0]
