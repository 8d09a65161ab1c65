"""The state of one share-partition as its records say it, as a value."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from odradek.replica.share.persisted import StateBatch

UNCHANGED = -1  # of an epoch or an offset in a write


class ShareState(NamedTuple):
    """`snapshot_offset` is where its last snapshot stands in the log, `updates` how many records follow that."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    created_ms: int
    written_ms: int
    batches: tuple[StateBatch, ...]
    updates: int = 0
    snapshot_offset: int = -1


class ToldBatch(Protocol):
    """A batch as messages and records tell it: their structs have the same fields."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


def batches_of(told: Iterable[ToldBatch]) -> tuple[StateBatch, ...]:
    """The batches of a message or a record."""
    return tuple(
        StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count) for each in told
    )


def combined(old: Sequence[StateBatch], new: Sequence[StateBatch], start_offset: int) -> tuple[StateBatch, ...]:
    """The old ones, with the new ones over them; nothing before the start offset; neighbours that are alike joined.

    Writers are fenced and their writes come in order, so that of two that say something about an offset the later
    is right. It takes one pass over both: there may be thousands.
    """
    over = sorted(new)
    if any(after.first_offset <= before.last_offset for before, after in pairwise(over)):
        for batch in new:  # no leader writes that: one after the other, as they stand there
            old = list(_laid_over(old, [batch]))
        over = []
    return tuple(_joined(_from(_laid_over(old, over), start_offset)))


def _laid_over(old: Sequence[StateBatch], over: Sequence[StateBatch]) -> Iterator[StateBatch]:
    """In order; what `over` says counts. Each of the two is in order and has no overlaps."""
    under = iter(old)
    batch = next(under, None)
    for each in over:
        while batch is not None and batch.first_offset < each.first_offset:
            if batch.last_offset < each.first_offset:
                yield batch
                batch = next(under, None)
                continue
            yield batch._replace(last_offset=each.first_offset - 1)
            batch = batch._replace(first_offset=each.first_offset)
        yield each
        while batch is not None and batch.last_offset <= each.last_offset:
            batch = next(under, None)
        if batch is not None and batch.first_offset <= each.last_offset:
            batch = batch._replace(first_offset=each.last_offset + 1)
    while batch is not None:
        yield batch
        batch = next(under, None)


def _from(batches: Iterable[StateBatch], start_offset: int) -> Iterable[StateBatch]:
    for batch in batches:
        if batch.last_offset >= start_offset:
            yield batch._replace(first_offset=max(batch.first_offset, start_offset))


def _joined(batches: Iterable[StateBatch]) -> Iterable[StateBatch]:
    last: StateBatch | None = None
    for batch in batches:
        if last is not None and last.last_offset + 1 == batch.first_offset and last[2:] == batch[2:]:
            last = last._replace(last_offset=batch.last_offset)
            continue
        if last is not None:
            yield last
        last = batch
    if last is not None:
        yield last
