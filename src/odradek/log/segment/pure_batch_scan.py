"""The walk over the plain batches of a segment that is read as a whole: the specification of `_batch_scan`.

Plain is a batch of magic 2 that is whole and sound, follows the one before, has the leader epoch that was asked for,
and is no marker of a producer. Of such batches the reader of a segment needs little, and gets it for many at once: the
entries of the indexes, and the batches that say something of their producers which no later one says again. These are
the last five of each producer, and the first that may have opened a transaction.
"""

from typing import NamedTuple

from odradek.log.producers.producer_entry import BATCHES_KEPT
from odradek.reactor.ports import Buffer
from odradek.records import layout
from odradek.records.crc import crc32c

ANY_EPOCH = -(1 << 40)  # no int32
PRODUCERS_MAX = 512  # that one walk remembers: the first batch of one more is not plain
_LENGTH_MIN = layout.LENGTH_MIN[2]


class Rules(NamedTuple):
    leader_epoch: int  # that a plain batch has, or ANY_EPOCH
    gapless_from: int  # from this offset on no offset is left out
    offset_end: int  # a plain batch ends before it
    interval_bytes: int  # between two entries of the indexes
    has_producers: bool  # whether batches of producers are to be told


class Place(NamedTuple):
    """How far a segment has been read, and what is known by then."""

    position: int
    next_offset: int
    indexed_position: int
    max_timestamp: int
    offset_of_max_timestamp: int


Entry = tuple[int, int, int, int]  # last offset, position; the largest timestamp so far, and its offset
Scanned = tuple[int, Place, list[Entry], list[int]]


def scan_plain(piece: Buffer, at: int, place: Place, rules: Rules) -> Scanned:
    """From `at` on, which is `place` in the segment, to the first batch that is not plain.

    Returns where in the piece that is, the place there, the index entries, and where the batches begin that producers
    are to be told of, in order.
    """
    position, next_offset, indexed, max_timestamp, offset_of_max = place
    epoch, gapless_from, offset_end, interval_bytes, has_producers = rules
    entries: list[Entry] = []
    producers: dict[int, list[int]] = {}
    opening: dict[int, int] = {}
    view, unpack, end = memoryview(piece), layout.HEADER.unpack_from, len(piece)
    while at + layout.HEADER_SIZE <= end:
        base, length, batch_epoch, magic, crc, attributes, delta, _, timestamp, producer_id, _, _, _ = unpack(view, at)
        size = length + layout.LOG_OVERHEAD
        if magic != layout.MAGIC_MAX or length < _LENGTH_MIN or at + size > end:
            break
        if batch_epoch != epoch != ANY_EPOCH or base < next_offset or not 0 <= delta < offset_end - base:
            break
        if base > next_offset >= gapless_from or (producer_id >= 0 and attributes & layout.CONTROL_MASK):
            break
        if crc32c(view[at + layout.ATTRIBUTES_OFFSET : at + size]) != crc:
            break
        if producer_id >= 0 and has_producers:
            if len(producers) == PRODUCERS_MAX and producer_id not in producers:
                break
            producers.setdefault(producer_id, []).append(at)
            if attributes & layout.TRANSACTIONAL_MASK:
                opening.setdefault(producer_id, at)
        next_offset = base + delta + 1
        if timestamp > max_timestamp:
            max_timestamp, offset_of_max = timestamp, next_offset - 1
        if position - indexed > interval_bytes:
            entries.append((next_offset - 1, position, max_timestamp, offset_of_max))
            indexed = position
        at += size
        position += size
    telling = {begin for begins in producers.values() for begin in begins[-BATCHES_KEPT:]} | set(opening.values())
    after = Place(position, next_offset, indexed, max_timestamp, offset_of_max)
    return at, after, entries, sorted(telling)
