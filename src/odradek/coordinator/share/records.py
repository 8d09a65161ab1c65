"""The records of __share_group_state, in the one version that there is."""

from typing import TypeVar

from odradek.coordinator.share.state import ShareState
from odradek.protocol.declare import Uuid
from odradek.protocol.messages import share_state as records
from odradek.replica.share.persisted import SharePartitionKey, StateBatch
from odradek.replicated.log_record import LogRecord, Versioned

_VERSION = 0

B = TypeVar("B", records.StateBatch, records.ShareUpdateValueStateBatch)


def snapshot(key: SharePartitionKey, state: ShareState) -> Versioned:
    value = records.ShareSnapshotValue(
        snapshot_epoch=state.snapshot_epoch,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        create_timestamp=state.created_ms,
        write_timestamp=state.written_ms,
        state_batches=[_batch(records.StateBatch, each) for each in state.batches],
        delivery_complete_count=state.delivery_complete_count,
    )
    return LogRecord(_snapshot_key(key), value), _VERSION


def update(
    key: SharePartitionKey,
    snapshot_epoch: int,
    leader_epoch: int,
    start_offset: int,
    delivery_complete_count: int,
    batches: tuple[StateBatch, ...],
) -> Versioned:
    value = records.ShareUpdateValue(
        snapshot_epoch=snapshot_epoch,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
        state_batches=[_batch(records.ShareUpdateValueStateBatch, each) for each in batches],
        delivery_complete_count=delivery_complete_count,
    )
    named = records.ShareUpdateKey(group_id=key.group_id, topic_id=Uuid(key.topic_id), partition=key.partition)
    return LogRecord(named, value), _VERSION


def tombstone(key: SharePartitionKey) -> Versioned:
    return LogRecord(_snapshot_key(key), None), _VERSION


def _snapshot_key(key: SharePartitionKey) -> records.ShareSnapshotKey:
    return records.ShareSnapshotKey(group_id=key.group_id, topic_id=Uuid(key.topic_id), partition=key.partition)


def _batch(kind: type[B], batch: StateBatch) -> B:
    return kind(
        first_offset=batch.first_offset,
        last_offset=batch.last_offset,
        delivery_state=batch.delivery_state,
        delivery_count=batch.delivery_count,
    )
