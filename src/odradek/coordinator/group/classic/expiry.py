"""What happens to a classic group because nothing did: sessions, phases of a rebalance and offsets run out."""

from typing import TYPE_CHECKING

from odradek.coordinator.core import Decided
from odradek.coordinator.group.classic import rebalancing
from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.classic.groups import ClassicGroups
from odradek.coordinator.group.classic.records import group_tombstone
from odradek.coordinator.group.classic.states import CONSUMER, EMPTY, PREPARING_REBALANCE, STABLE
from odradek.coordinator.group.classic.subscriptions import subscribed_topics
from odradek.coordinator.group.deadlines import JOIN, PENDING_MEMBER, SESSION, What
from odradek.coordinator.group.offsets import NO_EXPIRY, Committed
from odradek.coordinator.group.records import offset_tombstone
from odradek.coordinator.now import Now

if TYPE_CHECKING:
    from odradek.replicated.log_record import Versioned


def expire(groups: ClassicGroups, what: What, now: Now) -> Decided[None]:
    """One deadline is over; the group may be gone, or further on than the deadline knew."""
    kind, group_id, member_id = what
    group = groups.groups.get(group_id)
    if group is None:
        return Decided()
    if kind == SESSION:
        return _session_is_over(groups, group, member_id, now)
    if kind == PENDING_MEMBER:
        group.pending_members.discard(member_id)
        groups.may_complete(group)
        return Decided()
    if kind == JOIN:
        return rebalancing.join_time_is_over(groups, group, now)
    return _sync_time_is_over(groups, group, now)


def _session_is_over(groups: ClassicGroups, group: ClassicGroup, member_id: str, now: Now) -> Decided[None]:
    member = group.members.get(member_id)
    if member is None:
        return Decided()
    if member.is_awaiting and not member.is_new:
        return Decided()  # it waits for us: its session begins again with the answer
    return Decided(effects=rebalancing.remove_member(groups, group, member, now))


def _sync_time_is_over(groups: ClassicGroups, group: ClassicGroup, now: Now) -> Decided[None]:
    """Members that took the news of a generation and never asked for their assignment are out."""
    if group.state in (EMPTY, PREPARING_REBALANCE) or not group.pending_sync:
        return Decided()
    for member_id in sorted(group.pending_sync):
        if member_id in group.members:
            group.remove(member_id)
    group.pending_sync.clear()
    return Decided(effects=rebalancing.prepare(groups, group, now))


# Offsets


def expired(groups: ClassicGroups, group: ClassicGroup, now_ms: int) -> "list[Versioned]":
    """Tombstones of the offsets that are no longer kept, and of the group once nothing is left of it."""
    offsets, group_id = groups.shard.offsets, group.group_id
    places = [
        (topic, partition)
        for topic, partition, committed in offsets.places(group_id)
        if _is_expired(groups, group, topic, committed, now_ms) and not offsets.is_unstable(group_id, topic, partition)
    ]
    records = [offset_tombstone(group_id, *place) for place in places]
    groups.shard.counts.offset_expirations += len(records)
    kept = sum(len(partitions) for partitions in offsets.of_group(group_id).values()) - len(places)
    has_pending = bool(offsets.pending_places(group_id))
    if group.state == EMPTY and not kept and not has_pending and not group.pending_members:
        records.append(group_tombstone(group_id))
    return records


def _is_expired(groups: ClassicGroups, group: ClassicGroup, topic: str, committed: Committed, now_ms: int) -> bool:
    since_ms = committed.commit_timestamp
    if group.protocol_type is not None:
        if group.state == EMPTY:
            since_ms = since_ms if group.state_since_ms < 0 else group.state_since_ms
        elif group.state != STABLE or group.protocol_type != CONSUMER:
            return False
        else:
            topics = subscribed_topics(group)
            if topics is None or topic in topics:
                return False
    if committed.expire_timestamp != NO_EXPIRY:
        return now_ms >= committed.expire_timestamp
    return now_ms - since_ms >= groups.shard.config.retention_ms
