"""The records that a poll returns.

`ConsumerRecord` and the step that hands records out are compiled where the extension is there (`_records.pyx`), else
the twin serves (`pure_records.py`); type checkers see the twin.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, overload

from odradek import native
from odradek.client.consumer.pure_records import FIELDS, ConsumerRecord, build, deliver, hand_out, walk
from odradek.client.offsets import OffsetAndMetadata
from odradek.protocol.topic_partition import TopicPartition

__all__ = [
    "ConsumerRecord",
    "ConsumerRecords",
    "Record",
    "Records",
    "Stretch",
    "build",
    "deliver",
    "hand_out",
    "restored",
    "walk",
]

_COMPILED = ("ConsumerRecord", "build", "deliver", "hand_out", "walk")

_extension = native.load("odradek.client.consumer._records")
if _extension is not None:
    globals().update({name: getattr(_extension, name) for name in _COMPILED})

K = TypeVar("K")
V = TypeVar("V")


class Stretch(NamedTuple):
    """Records that lie side by side and are of one partition, and where that partition goes on."""

    place: TopicPartition
    generation: int
    first: int
    stop: int
    next_offset: int
    leader_epoch: int


class ConsumerRecords(Sequence[ConsumerRecord[K, V]], Generic[K, V]):
    """What one poll returned, in the order in which it was handed out. Slices are lists."""

    __slots__ = ("_records", "_stretches")

    def __init__(
        self, records: "Iterable[ConsumerRecord[K, V]]" = (), stretches: "Iterable[Stretch] | None" = None
    ) -> None:
        self._records = records if type(records) is list else list(records)
        self._stretches = _stretches_in(self._records) if stretches is None else list(stretches)

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> "Iterator[ConsumerRecord[K, V]]":
        return iter(self._records)

    @overload
    def __getitem__(self, index: int) -> ConsumerRecord[K, V]: ...

    @overload
    def __getitem__(self, index: slice) -> "list[ConsumerRecord[K, V]]": ...

    def __getitem__(self, index: int | slice) -> "ConsumerRecord[K, V] | list[ConsumerRecord[K, V]]":
        return self._records[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConsumerRecords):
            return NotImplemented
        return self._records == other._records and self.next_offsets() == other.next_offsets()

    __hash__ = None  # type: ignore[assignment]  # as a list has none

    def __repr__(self) -> str:
        places = ", ".join(map(str, self.partitions()))
        return f"ConsumerRecords({len(self)} records of {places or 'no partition'})"

    def partitions(self) -> list[TopicPartition]:
        """Those that have a record in here."""
        return list(dict.fromkeys(each.place for each in self._stretches if each.stop > each.first))

    def records(self, where: TopicPartition | str) -> "list[ConsumerRecord[K, V]]":
        """Those of one partition, or of all partitions of a topic."""
        found: list[ConsumerRecord[K, V]] = []
        for each in self._stretches:
            if where == (each.place.topic if isinstance(where, str) else each.place):
                found += self._records[each.first : each.stop]
        return found

    def next_offsets(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Where each partition goes on after these records: what to commit once they are processed.

        A partition may be in it without a record: its position has passed over transaction markers or records of a
        transaction that was aborted.
        """
        return {each.place: OffsetAndMetadata(each.next_offset, "", each.leader_epoch) for each in self._stretches}


# Inside of a consumer. Any: of what types keys and values are, only its deserializers tell.
Record = ConsumerRecord[Any, Any]
Records = ConsumerRecords[Any, Any]


def restored(*fields: Any) -> Record:
    """Out of a pickle, whichever executor has put it there. Any: in the order of FIELDS, each of its own type."""
    return ConsumerRecord(*fields[:3], **dict(zip(FIELDS[3:], fields[3:], strict=True)))


def _stretches_in(records: "list[ConsumerRecord[K, V]]") -> list[Stretch]:
    """Of records that somebody has put together: an interceptor, a test."""
    found: list[Stretch] = []
    for row, record in enumerate(records):
        place = TopicPartition(record.topic, record.partition)
        first = row
        if found and found[-1].place == place:
            first = found.pop().first
        found.append(Stretch(place, -1, first, row + 1, record.offset + 1, record.leader_epoch))
    return found
