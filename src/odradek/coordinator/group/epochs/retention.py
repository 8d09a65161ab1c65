"""How long the offsets of a group with epochs are kept, and the group itself."""

from typing import TYPE_CHECKING

from odradek.coordinator.group.epochs.group import EpochGroup, M, T
from odradek.coordinator.group.offsets import NO_EXPIRY, Committed
from odradek.coordinator.group.records import offset_tombstone
from odradek.coordinator.group.shard_state import ShardState

if TYPE_CHECKING:
    from odradek.replicated.log_record import Versioned


def expired_offsets(shard: ShardState, group: EpochGroup[M, T], now_ms: int) -> "tuple[list[Versioned], bool]":
    """Tombstones of offsets of topics that nobody in the group reads any more; and whether nothing is left of it."""
    offsets, group_id = shard.offsets, group.group_id
    subscribed = group.subscribed_topics()
    gone = []
    kept = 0
    for topic, partition, committed in offsets.places(group_id):
        is_free = topic not in subscribed and not offsets.is_unstable(group_id, topic, partition)
        if is_free and _is_over(committed, shard.config.retention_ms, now_ms):
            gone.append(offset_tombstone(group_id, topic, partition))
        else:
            kept += 1
    shard.counts.offset_expirations += len(gone)
    return gone, not group.members and not kept and not offsets.pending_places(group_id)


def _is_over(committed: Committed, retention_ms: int, now_ms: int) -> bool:
    if committed.expire_timestamp != NO_EXPIRY:
        return now_ms >= committed.expire_timestamp
    return now_ms - committed.commit_timestamp >= retention_ms
