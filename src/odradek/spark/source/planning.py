"""How offsets become tasks and how much a micro-batch takes: by offsets and options alone, so that a batch that is run
again is cut exactly as before.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil, floor

from odradek.protocol.topic_partition import TopicPartition
from odradek.spark.source.offsets import Offsets


@dataclass(frozen=True)
class OffsetRange:
    """The offsets from `start` up to, and without, `stop`."""

    place: TopicPartition
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start


def ranges_between(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> list[OffsetRange]:
    """What lies between two offsets of a stream. A partition that is new at the end is read from its first offset.

    An end before its start is that of a topic that was deleted and made again, and nothing else: it is read from its
    first offset, too.
    """
    found = []
    for place in sorted(end):
        first = start.get(place, 0)
        found.append(OffsetRange(place, first if first <= end[place] else 0, end[place]))
    return [each for each in found if each.size > 0]


def cut(ranges: Iterable[OffsetRange], min_tasks: int | None, max_records: int | None) -> list[OffsetRange]:
    """As the options minPartitions and maxRecordsPerPartition ask for."""
    pieces = [each for each in ranges if each.size > 0]
    if max_records is not None:
        pieces = [piece for each in pieces for piece in _divided(each, -(-each.size // max_records))]
    if min_tasks is not None and min_tasks > len(pieces):
        pieces = _spread(pieces, min_tasks)
    return pieces


def _spread(ranges: list[OffsetRange], min_tasks: int) -> list[OffsetRange]:
    """Those that are small stay whole; the others share the tasks that are left, by their size."""
    total = sum(each.size for each in ranges)
    small = [each for each in ranges if _parts(each.size, total, min_tasks) <= 1]
    large_total = total - sum(each.size for each in small)
    left = max(min_tasks - len(small), 1)
    return [
        piece
        for each in ranges
        for piece in ([each] if each in small else _divided(each, max(_parts(each.size, large_total, left), 1)))
    ]


def _parts(size: int, total: int, tasks: int) -> int:
    return floor(size / total * tasks + 0.5)


def _divided(whole: OffsetRange, parts: int) -> Iterator[OffsetRange]:
    """Equal parts, the last ones larger by one where it does not come out even."""
    start = whole.start
    for left in range(min(parts, whole.size), 0, -1):
        stop = start + (whole.stop - start) // left
        yield OffsetRange(whole.place, start, stop)
        start = stop


def limited(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int], offsets_max: int) -> Offsets:
    """The end of a micro-batch of about so many offsets: each partition has its part by what it has waiting, and every
    one moves.
    """
    sizes = {each.place: each for each in ranges_between(start, end)}
    total = sum(each.size for each in sizes.values())
    if total <= offsets_max:
        return dict(end)
    found = dict(end)
    for place, waiting in sizes.items():
        share = offsets_max * (waiting.size / total)
        taken = ceil(share) if share < 1 else floor(share)
        found[place] = min(waiting.stop, waiting.start + taken)
    return found


def waiting_count(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> int:
    return sum(each.size for each in ranges_between(start, end))
