"""What a program has been given and may not be done with: so that nothing is committed before it is.

    in_hand.given(records)       # a poll returns them: the program works on all of them
    in_hand.next()               # an iterator gives one at a time: it works on that one
    in_hand.finished()           # it has come back for more: it is done with what it was given

Positions stand behind everything that was taken out of the buffer. What is finished ends before the first record in
hand of each partition; what was consumed, which a program commits by its own word, ends before the first that an
iterator still keeps for it.
"""

from collections.abc import Iterable, Mapping

from odradek.client.consumer.records import Record
from odradek.client.offsets import OffsetAndMetadata
from odradek.protocol.topic_partition import TopicPartition

Positions = Mapping[TopicPartition, OffsetAndMetadata]


class InHand:
    __slots__ = ("first_offsets", "records", "unfinished", "upcoming")

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.unfinished = 0  # the first that the program may be at work on
        self.upcoming = 0  # the first that it has not seen yet
        self.first_offsets: dict[TopicPartition, int] = {}  # of what was given as a table

    @property
    def has_next(self) -> bool:
        return self.upcoming < len(self.records)

    @property
    def count(self) -> int:
        return len(self.records) - self.unfinished

    def given(self, records: list[Record]) -> None:
        self.records = records
        self.unfinished = 0
        self.upcoming = len(records)

    def keep(self, records: list[Record]) -> None:
        """For an iterator, which gives them out one by one."""
        self.records = records
        self.unfinished = self.upcoming = 0

    def give_again(self) -> None:
        """What was given has not arrived."""
        self.unfinished = self.upcoming = 0

    def next(self) -> Record:
        record = self.records[self.upcoming]
        self.unfinished = self.upcoming
        self.upcoming += 1
        return record

    def finished(self) -> None:
        """The program is done with what it was given, not with what is still kept for it."""
        self.unfinished = self.upcoming
        if self.first_offsets:
            self.first_offsets = {}

    def rest(self, count_max: int) -> list[Record]:
        """What an iterator has kept, for who polls now."""
        found = self.records[self.upcoming : self.upcoming + count_max]
        kept = self.records[self.upcoming + len(found) :]
        self.records = found + kept
        self.unfinished, self.upcoming = 0, len(found)
        return found

    def kept(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Where each partition goes on that an iterator has kept something of."""
        return _first(self.records[self.upcoming :])

    def drop(self, places: Iterable[TopicPartition]) -> None:
        """The program reads on elsewhere, or they are not its own any more."""
        gone = frozenset(places)
        before = [each for each in self.records[: self.upcoming] if _place(each) not in gone]
        unfinished = [each for each in self.records[self.unfinished : self.upcoming] if _place(each) not in gone]
        after = [each for each in self.records[self.upcoming :] if _place(each) not in gone]
        self.records = before + after
        self.upcoming = len(before)
        self.unfinished = self.upcoming - len(unfinished)
        self.first_offsets = {place: offset for place, offset in self.first_offsets.items() if place not in gone}

    def drop_kept(self, places: Iterable[TopicPartition]) -> None:
        """What was kept of them is not: it will be read again."""
        gone = frozenset(places)
        after = [each for each in self.records[self.upcoming :] if _place(each) not in gone]
        self.records = self.records[: self.upcoming] + after

    def consumed(self, positions: Positions) -> dict[TopicPartition, OffsetAndMetadata]:
        """Everything that the program has seen."""
        return _before(positions, self.kept())

    def finished_of(self, positions: Positions) -> dict[TopicPartition, OffsetAndMetadata]:
        """Everything that it has come back from."""
        tables = {place: OffsetAndMetadata(offset) for place, offset in self.first_offsets.items()}
        return _before(positions, {**_first(self.records[self.unfinished :]), **tables})


def _before(positions: Positions, first: Positions) -> dict[TopicPartition, OffsetAndMetadata]:
    """The positions, but not beyond the first record that does not count."""
    return {place: first.get(place, position) for place, position in positions.items()}


def _first(records: list[Record]) -> dict[TopicPartition, OffsetAndMetadata]:
    found: dict[TopicPartition, OffsetAndMetadata] = {}
    for record in records:
        place = _place(record)
        if place not in found:
            found[place] = OffsetAndMetadata(record.offset)
    return found


def _place(record: Record) -> TopicPartition:
    return TopicPartition(record.topic, record.partition)
