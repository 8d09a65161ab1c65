"""The core of the share coordinator: all share-partitions of one partition of __share_group_state.

Theory of operation. The leader of a partition holds what is in flight in memory and writes every change here before it
answers; whoever leads next reads it back. A snapshot has the whole state, an update what has changed since; after
`share.coordinator.snapshot.update.records.per.snapshot` updates the next write is a snapshot, with the next snapshot
epoch. Two epochs fence writers:

    leader epoch   of the partition's leader. A read with a later one is written down, so that an older leader's
                   writes are refused from then on: FENCED_LEADER_EPOCH
    state epoch    of the group when the state was set up. Who holds a state that was set up anew since is refused:
                   FENCED_STATE_EPOCH

The group coordinator sets state up and deletes it; nobody writes or reads what was not set up.

Nothing in the log before the oldest snapshot that still counts is needed. A prune deletes that; share-partitions that
nobody writes to any more get a fresh snapshot now and then, so that they do not hold the others back.
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from odradek.broken_rule import BrokenRuleError, instance
from odradek.coordinator.core import Decided, ShardCore
from odradek.coordinator.now import Now
from odradek.coordinator.share import records
from odradek.coordinator.share.state import UNCHANGED, ShareState, batches_of, combined
from odradek.protocol import errors
from odradek.protocol.messages.share_state import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
)
from odradek.replica.share.persisted import UNINITIALIZED_OFFSET, UNKNOWN_COUNT, SharePartitionKey, StateBatch
from odradek.replicated.log_record import EndMarker, LogRecord, Versioned

SNAPSHOTS_PER_STEP = 200  # of cold share-partitions, between which others get their turn

_NOT_SET_UP = "operation on uninitialized share partition not allowed."


class ShareCoreConfig(NamedTuple):
    updates_per_snapshot: int = 500
    cold_snapshot_interval_ms: int = 300_000
    prune_interval_ms: int = 300_000


class Prune(NamedTuple):
    """An effect: what is before this offset of the log is not needed any more."""

    offset: int


class Write(NamedTuple):
    """What a leader wants to be written; -1 leaves what is there."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]


Exists = Callable[[bytes, int], bool]  # whether there is such a partition of such a topic


class ShareCore(ShardCore):
    __slots__ = ("_cold_ms", "_config", "_end_offset", "_exists", "_prune_ms", "_pruned", "_to_snapshot", "states")

    def __init__(self, config: ShareCoreConfig, exists: Exists) -> None:
        self._config = config
        self._exists = exists
        self.states: dict[SharePartitionKey, ShareState] = {}
        self._end_offset = 0  # of what was replayed
        self._pruned = 0
        self._cold_ms: int | None = None
        self._prune_ms: int | None = None
        self._to_snapshot: list[SharePartitionKey] = []

    def __repr__(self) -> str:
        return f"ShareCore({len(self.states)} share-partitions)"

    # The log

    def replay(self, record: LogRecord | EndMarker, offset: int) -> None:
        self._end_offset = offset + 1
        key, value, _, _ = instance(record, LogRecord, "no transaction ends in the topic of share states")
        if isinstance(key, ShareSnapshotKey):
            snapshot = None if value is None else instance(value, ShareSnapshotValue, "a snapshot's key has a snapshot")
            self._replay_snapshot(_named(key), snapshot, offset)
        elif isinstance(key, ShareUpdateKey) and isinstance(value, ShareUpdateValue):
            self._replay_update(_named(key), value)

    def _replay_snapshot(self, key: SharePartitionKey, value: ShareSnapshotValue | None, offset: int) -> None:
        if value is None:
            self.states.pop(key, None)
            return
        self.states[key] = ShareState(
            value.snapshot_epoch,
            value.state_epoch,
            value.leader_epoch,
            value.start_offset,
            value.delivery_complete_count,
            value.create_timestamp,
            value.write_timestamp,
            batches_of(value.state_batches),
            snapshot_offset=offset,
        )

    def _replay_update(self, key: SharePartitionKey, value: ShareUpdateValue) -> None:
        """One whose snapshot is gone belongs to a state that was deleted."""
        old = self.states.get(key)
        if old is None:
            return
        start_offset = old.start_offset if value.start_offset == UNCHANGED else value.start_offset
        self.states[key] = old._replace(
            leader_epoch=max(old.leader_epoch, value.leader_epoch),
            start_offset=start_offset,
            delivery_complete_count=value.delivery_complete_count,
            batches=combined(old.batches, batches_of(value.state_batches), start_offset),
            updates=old.updates + 1,
        )

    def loaded(self, now: Now) -> None:
        self._cold_ms = now.mono_ms + self._config.cold_snapshot_interval_ms
        self._prune_ms = now.mono_ms + self._config.prune_interval_ms

    # Events; each is about one share-partition. What is wrong is raised, and nothing has changed then.

    def initialize(self, now: Now, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Decided[None]:
        self._check(key)
        old = self.states.get(key)
        if old is not None and old.state_epoch > state_epoch:
            raise errors.FencedStateEpoch()
        count = UNKNOWN_COUNT if start_offset == UNINITIALIZED_OFFSET else 0
        created_ms = now.wall_ms
        epoch = 0 if old is None else old.snapshot_epoch + 1
        made = ShareState(epoch, state_epoch, 0, start_offset, count, created_ms, created_ms, ())
        return Decided([records.snapshot(key, made)])

    def read(self, now: Now, key: SharePartitionKey, leader_epoch: int) -> Decided[ShareState]:
        """A later leader is written down before it is told anything."""
        state = self._known(key, "Read")
        if state.leader_epoch > leader_epoch:
            raise errors.FencedLeaderEpoch()
        if state.leader_epoch == leader_epoch:
            return Decided(response=state)
        led = Write(state.state_epoch, leader_epoch, state.start_offset, state.delivery_complete_count, ())
        return Decided([self._written(now, key, state, led)], state)

    def write(self, now: Now, key: SharePartitionKey, write: Write) -> Decided[None]:
        state = self._known(key, "Write")
        if state.leader_epoch > write.leader_epoch:
            raise errors.FencedLeaderEpoch()
        if write.state_epoch != UNCHANGED and state.state_epoch > write.state_epoch:
            raise errors.FencedStateEpoch()
        return Decided([self._written(now, key, state, write)])

    def delete(self, key: SharePartitionKey) -> Decided[None]:
        self._check(key)
        return Decided([records.tombstone(key)] if key in self.states else [])

    def summary(self, key: SharePartitionKey) -> Decided[ShareState | None]:
        """None if nothing was set up. Who only looks is not fenced."""
        self._check(key)
        return Decided(response=self.states.get(key))

    def topics_deleted(self, topic_ids: Collection[bytes]) -> Decided[None]:
        gone = [records.tombstone(key) for key in self.states if key.topic_id in topic_ids]
        return Decided(gone, is_atomic=False)

    # What is wrong, and what is written

    def _check(self, key: SharePartitionKey) -> None:
        _check_form(key)
        if not self._exists(key.topic_id, key.partition):
            raise errors.UnknownTopicOrPartition()

    def _known(self, key: SharePartitionKey, operation: str) -> ShareState:
        _check_form(key)
        state = self.states.get(key)
        if state is None:
            raise errors.InvalidRequest(f"{operation} {_NOT_SET_UP}")
        return state

    def _written(self, now: Now, key: SharePartitionKey, old: ShareState, write: Write) -> Versioned:
        if old.updates < self._config.updates_per_snapshot:
            return records.update(
                key,
                old.snapshot_epoch,
                write.leader_epoch,
                write.start_offset,
                write.delivery_complete_count,
                write.batches,
            )
        start_offset = old.start_offset if write.start_offset == UNCHANGED else write.start_offset
        whole = old._replace(
            leader_epoch=max(old.leader_epoch, write.leader_epoch),
            start_offset=start_offset,
            delivery_complete_count=write.delivery_complete_count,
            batches=combined(old.batches, write.batches, start_offset),
        )
        return _next_snapshot(key, whole, now)

    # Time

    def next_deadline_ms(self) -> int | None:
        return min((at_ms for at_ms in (self._cold_ms, self._prune_ms) if at_ms is not None), default=None)

    def expire(self, now: Now) -> Decided[None] | None:
        if self._cold_ms is not None and self._cold_ms <= now.mono_ms:
            return self._snapshot_cold(now)
        if self._prune_ms is not None and self._prune_ms <= now.mono_ms:
            self._prune_ms = now.mono_ms + self._config.prune_interval_ms
            return self._prune()
        return None

    def _snapshot_cold(self, now: Now) -> Decided[None]:
        interval_ms = self._config.cold_snapshot_interval_ms
        if not self._to_snapshot:
            self._to_snapshot = [
                key
                for key, state in self.states.items()
                if state.updates and now.wall_ms - state.written_ms >= interval_ms
            ]
        step, self._to_snapshot = self._to_snapshot[:SNAPSHOTS_PER_STEP], self._to_snapshot[SNAPSHOTS_PER_STEP:]
        self._cold_ms = now.mono_ms + (1 if self._to_snapshot else interval_ms)
        cold = [_next_snapshot(key, self.states[key], now) for key in step if key in self.states]
        return Decided(cold, is_atomic=False)

    def _prune(self) -> Decided[None]:
        offset = self.redundant_before()
        if offset <= self._pruned:
            return Decided()
        self._pruned = offset
        return Decided(effects=[Prune(offset)])

    def redundant_before(self) -> int:
        return min((state.snapshot_offset for state in self.states.values()), default=self._end_offset)

    def validate(self) -> None:
        for key, state in self.states.items():
            _validate(key, state.batches, state.start_offset)
            if not 0 <= state.snapshot_offset < self._end_offset:
                raise BrokenRuleError(f"{key}: its snapshot is nowhere")


def _check_form(key: SharePartitionKey) -> None:
    if not key.group_id or key.partition < 0:
        raise errors.InvalidRequest("A share-partition has a group and a partition that is not negative.")


def _validate(key: SharePartitionKey, batches: Sequence[StateBatch], start_offset: int) -> None:
    at = start_offset
    for batch in batches:
        if not at <= batch.first_offset <= batch.last_offset:
            raise BrokenRuleError(f"{key}: {batches} from {start_offset} on")
        at = batch.last_offset + 1


def _next_snapshot(key: SharePartitionKey, state: ShareState, now: Now) -> Versioned:
    return records.snapshot(key, state._replace(snapshot_epoch=state.snapshot_epoch + 1, written_ms=now.wall_ms))


def _named(key: ShareSnapshotKey | ShareUpdateKey) -> SharePartitionKey:
    return SharePartitionKey(key.group_id, bytes(key.topic_id), key.partition)
