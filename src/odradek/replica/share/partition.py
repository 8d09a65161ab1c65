"""A share-partition on its leader, without I/O: which records of it are with whom.

Theory of operation. The offsets from the start offset (SPSO) to the end offset (SPEO) are in flight, in runs of offsets
that are alike:

                 acquire                        accept
    AVAILABLE ------------> ACQUIRED --------------------------------> ACKNOWLEDGED
        ^                      |   reject, or released too often
        |   release, lock over |-------------------------------------> ARCHIVED
        +----------------------+

Before the start offset everything is done with, after the end offset nothing has been delivered yet. The start offset
follows when the oldest runs are ACKNOWLEDGED or ARCHIVED. Offsets without a record (compacted, control, aborted) are
archived as soon as a read has passed over them.

What leaves ACQUIRED is written down first: `acknowledge`, `release` and `expire` return a `Transition` and mark its
runs, which nobody else may touch then; `commit` or `rollback` follows the write. Acquiring is not written: who leads
next may deliver once more what was acquired and not acknowledged.

The window is bounded by `share.partition.max.record.locks`, up to one batch more; so is the memory.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from odradek.broken_rule import require
from odradek.protocol import errors
from odradek.replica.share.persisted import (
    ACKNOWLEDGED,
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    PersistedState,
    StateBatch,
)

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)  # acknowledge types
TYPES = range(5)

_TERMINAL = frozenset({ACKNOWLEDGED, ARCHIVED})
_AFTER = {GAP: ARCHIVED, ACCEPT: ACKNOWLEDGED, RELEASE: AVAILABLE, REJECT: ARCHIVED}


class Run:
    """Neighbouring offsets that are alike. `to` is the state they are about to get, once it is written."""

    __slots__ = ("count", "first", "last", "lock_ms", "member_id", "state", "to")

    def __init__(
        self, first: int, last: int, state: int, count: int, member_id: str | None = None, lock_ms: int = 0
    ) -> None:
        self.first = first
        self.last = last
        self.state = state
        self.count = count
        self.member_id = member_id
        self.lock_ms = lock_ms  # until when, if it is acquired
        self.to: int | None = None

    def __repr__(self) -> str:
        about = "" if self.to is None else f" -> {self.to}"
        return f"Run({self.first}-{self.last}, {self.state}{about}, {self.count}, {self.member_id})"

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    @property
    def is_free(self) -> bool:
        return self.state == AVAILABLE

    @property
    def is_done(self) -> bool:
        return self.state in _TERMINAL

    def cut(self, at: int) -> "Run":
        """The part from `at` on, which becomes a run of its own."""
        tail = Run(at, self.last, self.state, self.count, self.member_id, self.lock_ms)
        self.last = at - 1
        return tail


class Acquired(NamedTuple):
    first_offset: int
    last_offset: int
    delivery_count: int


class Acknowledgement(NamedTuple):
    """One type for all offsets, or one for each."""

    first_offset: int
    last_offset: int
    types: tuple[int, ...]

    def type_at(self, offset: int) -> int:
        return self.types[0] if len(self.types) == 1 else self.types[offset - self.first_offset]


class AcquireLimits(NamedTuple):
    records_max: int
    batch_size: int  # records of one piece that is told, give or take a batch
    locks_max: int
    is_exact: bool = False  # not even the rest of a batch more than `records_max`


class Transition:
    """Runs that leave ACQUIRED once that is written; `batches` is what to write."""

    __slots__ = ("batches", "runs")

    def __init__(self, runs: list[Run]) -> None:
        self.runs = runs
        self.batches = tuple(StateBatch(run.first, run.last, run.to, run.count) for run in runs if run.to is not None)


class SharePartition:
    __slots__ = ("_delivery_limit", "_runs", "end_offset", "start_offset", "state_epoch")

    def __init__(self, persisted: PersistedState, start_offset: int, delivery_limit: int) -> None:
        """`start_offset` is that of the state, or the one that was found if it had none."""
        self._delivery_limit = delivery_limit
        self.state_epoch = persisted.state_epoch
        self.start_offset = start_offset
        self.end_offset = start_offset - 1
        self._runs: list[Run] = []
        for first, last, state, count in persisted.batches:
            first = max(first, self.end_offset + 1)
            if last < first:
                continue
            if first > self.end_offset + 1:  # acquired by somebody who never said what became of it
                self._append(Run(self.end_offset + 1, first - 1, AVAILABLE, 0))
            self._append(Run(first, last, state, count))
        self._tidy()

    def __repr__(self) -> str:
        return f"SharePartition({self.start_offset} to {self.end_offset}, {self._runs})"

    def _append(self, run: Run) -> None:
        self._runs.append(run)
        self.end_offset = run.last

    # What there is to deliver

    @property
    def window(self) -> int:
        return self.end_offset - self.start_offset + 1

    def next_fetch_offset(self) -> int:
        """The first record that may be delivered: one that came back, or the next new one."""
        return next((run.first for run in self._runs if run.is_free), self.end_offset + 1)

    def can_acquire(self, locks_max: int) -> bool:
        return self.window < locks_max or any(run.is_free for run in self._runs)

    def acquire(
        self,
        member_id: str,
        batches: Sequence[tuple[int, int]],
        read_to: int,
        limits: AcquireLimits,
        lock_ms: int,
    ) -> list[Acquired]:
        """Acquires records from `next_fetch_offset` on for a member. `batches` are what was read there, as (first, last
        offset); offsets between them hold no record. `read_to` is the last offset that was read.
        """
        taken: list[Run] = []
        left, at = limits.records_max, self.next_fetch_offset()
        for base, last in batches:
            if last < at:
                continue
            if left <= 0 or (base > self.end_offset and self.window >= limits.locks_max):
                break
            self._archive(at, base - 1)
            first = max(base, at)
            until = self._until(first, last, left, limits)
            of_batch = self._take(first, until, member_id, lock_ms)
            left -= sum(run.size for run in of_batch)
            taken += of_batch
            if until < last:
                break
            at = last + 1
        else:
            self._archive(at, read_to)
        self._tidy()
        return _told(taken, limits.batch_size)

    def _until(self, first: int, last: int, left: int, limits: AcquireLimits) -> int:
        """Where to stop in a batch."""
        if not limits.is_exact:
            return last
        self._split(first)
        at = self._index(first)
        for run in self._runs[at:]:
            if run.first > last:
                break
            if run.is_free and run.to is None:
                if run.size >= left:
                    return min(last, run.first + left - 1)
                left -= run.size
        new_first = max(first, self.end_offset + 1)
        return min(last, new_first + left - 1) if new_first <= last else last

    def _take(self, first: int, last: int, member_id: str, lock_ms: int) -> list[Run]:
        taken = []
        for run in self._within(first, last):
            if run.is_free:
                run.state, run.member_id, run.lock_ms = ACQUIRED, member_id, lock_ms
                run.count += 1
                taken.append(run)
        if last > self.end_offset:
            new = Run(max(first, self.end_offset + 1), last, ACQUIRED, 1, member_id, lock_ms)
            self._append(new)
            taken.append(new)
        return taken

    def _archive(self, first: int, last: int) -> None:
        """Offsets that hold no record."""
        if last < first:
            return
        for run in self._within(first, last):
            if run.is_free:
                run.state = ARCHIVED
        if last > self.end_offset:
            self._append(Run(max(first, self.end_offset + 1), last, ARCHIVED, 0))

    # What became of it

    def acknowledge(
        self, member_id: str, acknowledgements: Iterable[Acknowledgement], now_ms: int, lock_duration_ms: int
    ) -> Transition:
        """Acknowledges all of them or none: nothing has changed if it raises. What is before the start offset is done
        with."""
        for each in acknowledgements:
            self._check(member_id, each)
        changed: list[Run] = []
        for each in acknowledgements:
            changed += self._acknowledged(each, now_ms + lock_duration_ms)
        return Transition(changed)

    def _check(self, member_id: str, acknowledged: Acknowledgement) -> None:
        first, last = max(acknowledged.first_offset, self.start_offset), acknowledged.last_offset
        if last < first:
            return
        if last > self.end_offset:
            if not self._runs:  # a leader before this one may have handed it out
                raise errors.InvalidRecordState("Batch record not found. Nothing is acquired.")
            raise errors.InvalidRequest("Batch record not found. The last offset in request is past acquired records.")
        for run in self._within(first, last):
            if run.state != ACQUIRED or run.to is not None:
                raise errors.InvalidRecordState(
                    f"The offsets {run.first} to {run.last} cannot be acknowledged: they are not in the acquired state."
                )
            if run.member_id != member_id:
                raise errors.InvalidRecordState("Member is not the owner of batch record")

    def _acknowledged(self, each: Acknowledgement, lock_ms: int) -> list[Run]:
        changed: list[Run] = []
        at = max(each.first_offset, self.start_offset)
        while at <= each.last_offset:
            kind, end = each.type_at(at), at
            if len(each.types) == 1:
                end = each.last_offset
            while end < each.last_offset and each.type_at(end + 1) == kind:
                end += 1
            changed += self._turn(at, end, kind, lock_ms)
            at = end + 1
        return changed

    def _turn(self, first: int, last: int, kind: int, lock_ms: int) -> list[Run]:
        turned = []
        for run in self._within(first, last):
            if run.state != ACQUIRED:
                continue
            if kind == RENEW:
                run.lock_ms = lock_ms
            else:
                run.to = self._given_back(run) if kind == RELEASE else _AFTER[kind]
                turned.append(run)
        return turned

    def _given_back(self, run: Run) -> int:
        return ARCHIVED if run.count >= self._delivery_limit else AVAILABLE

    def release(self, member_id: str) -> Transition:
        """The member is gone: what it had may be delivered to others."""
        return self._give_back(run for run in self._runs if run.member_id == member_id)

    def expire(self, now_ms: int) -> Transition:
        """What was acquired and not acknowledged in time may be delivered again."""
        return self._give_back(run for run in self._runs if run.lock_ms <= now_ms)

    def _give_back(self, runs: Iterable[Run]) -> Transition:
        given_back = [run for run in runs if run.state == ACQUIRED and run.to is None]
        for run in given_back:
            run.to = self._given_back(run)
        return Transition(given_back)

    def next_expiry_ms(self) -> int | None:
        locks = (run.lock_ms for run in self._runs if run.state == ACQUIRED and run.to is None)
        return min(locks, default=None)

    def commit(self, transition: Transition) -> None:
        """The transition is written: its runs have their new state from now on."""
        for run in transition.runs:
            if run.to is not None:
                run.state, run.to, run.member_id, run.lock_ms = run.to, None, None, 0
        self._tidy()

    def rollback(self, transition: Transition) -> None:
        for run in transition.runs:
            run.to = None

    @property
    def delivery_complete_count(self) -> int:
        """Records past the start offset that are done with, or are about to be."""
        return sum(run.size for run in self._runs if (run.state if run.to is None else run.to) in _TERMINAL)

    def log_start_moved(self, offset: int) -> None:
        """What retention has deleted cannot be delivered."""
        if offset <= self.start_offset:
            return
        self._runs = [run for run in self._runs if run.last >= offset]
        if self._runs:
            self._runs[0].first = max(self._runs[0].first, offset)
        self.start_offset = offset
        self.end_offset = max(self.end_offset, offset - 1)
        self._tidy()

    # Runs

    def _index(self, offset: int) -> int:
        """Where the run is that holds the offset, or the first one after it."""
        at = bisect_right(self._runs, offset, key=lambda run: run.first)
        return at - 1 if at and self._runs[at - 1].last >= offset else at

    def _split(self, offset: int) -> None:
        """Makes a run begin there, if one goes over it."""
        at = self._index(offset)
        if at < len(self._runs) and self._runs[at].first < offset:
            run = self._runs[at]
            if run.to is None:  # else somebody waits for it as it is, and nobody may touch it
                self._runs.insert(at + 1, run.cut(offset))

    def _within(self, first: int, last: int) -> list[Run]:
        """The runs of these offsets, cut so that they hold no others."""
        if not self._runs or last < first:
            return []
        self._split(first)
        self._split(last + 1)
        at = self._index(first)
        found = []
        while at < len(self._runs) and self._runs[at].first <= last:
            found.append(self._runs[at])
            at += 1
        return found

    def _tidy(self) -> None:
        """The start offset follows what is done with; neighbours that are alike become one."""
        done = 0
        while done < len(self._runs) and self._runs[done].is_done and self._runs[done].to is None:
            self.start_offset = self._runs[done].last + 1
            done += 1
        kept: list[Run] = []
        for run in self._runs[done:]:
            if kept and _are_alike(kept[-1], run):
                kept[-1].last = run.last
            else:
                kept.append(run)
        self._runs = kept

    def validate(self) -> None:
        at = self.start_offset
        for run in self._runs:
            require(run.first == at and run.last >= run.first, f"{self}: no run begins at {at}")
            is_with_somebody = run.member_id is not None
            require(is_with_somebody == (run.state == ACQUIRED), f"{self}: {run} is with the wrong one")
            at = run.last + 1
        require(at == self.end_offset + 1, f"{self}: the runs end at {at - 1}")
        require(not self._runs or not self._runs[0].is_done, f"{self}: the start offset is behind")


def _are_alike(one: Run, other: Run) -> bool:
    is_with_nobody = one.state != ACQUIRED and one.state == other.state
    return is_with_nobody and one.count == other.count and one.to is None and other.to is None


def _told(taken: Sequence[Run], batch_size: int) -> list[Acquired]:
    """Neighbours that are alike in one piece, as long as it is no larger than a consumer wants to hear of."""
    told: list[Acquired] = []
    for run in taken:
        last = told[-1] if told else None
        is_next = last is not None and last.last_offset + 1 == run.first and last.delivery_count == run.count
        if last is not None and is_next and last.last_offset - last.first_offset + 1 < batch_size:
            told[-1] = last._replace(last_offset=run.last)
        else:
            told.append(Acquired(run.first, run.last, run.count))
    return told
