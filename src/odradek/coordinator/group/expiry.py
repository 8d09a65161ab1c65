"""What happens because nothing did: sessions, rebalances and offsets whose time is over.

Offsets expire after `offsets.retention.minutes`: in a group that has had members, counted from the moment that it
became empty; in one that never had any, from each commit; in a stable group of consumers from the last commit, for
topics that nobody there reads any more. An empty group without offsets goes with them.
"""

from typing import TYPE_CHECKING

from odradek.coordinator.core import Answer, Decided
from odradek.coordinator.group.classic import rebalancing
from odradek.coordinator.group.classic.classic_group import CONSUMER, EMPTY, PREPARING_REBALANCE, STABLE, ClassicGroup
from odradek.coordinator.group.classic.subscriptions import subscribed_topics
from odradek.coordinator.group.consumer.groups import KINDS as CONSUMER_KINDS
from odradek.coordinator.group.deadlines import JOIN, PENDING_MEMBER, RETENTION, RETENTION_CHECK, SESSION
from odradek.coordinator.group.offsets import NO_EXPIRY, Committed
from odradek.coordinator.group.records import group_tombstone, offset_tombstone
from odradek.coordinator.group.share.groups import SESSION as SHARE_SESSION
from odradek.coordinator.group.streams.groups import KINDS as STREAMS_KINDS
from odradek.coordinator.now import Now

if TYPE_CHECKING:
    from odradek.coordinator.group.core import GroupCore
    from odradek.replicated.log_record import Versioned

GROUPS_PER_STEP = 200  # of a check of the retention, between which others get their turn
TOMBSTONES_PER_STEP = 2000


def expire(core: "GroupCore", now: Now) -> Decided[None] | None:
    """The next thing that is due by now."""
    what = core.deadlines.pop_due(now.mono_ms)
    if what is None:
        return None
    kind, group_id, member_id = what
    if kind == RETENTION:
        return _check_retention(core, now)
    if kind in CONSUMER_KINDS:
        return core.consumers.expire(what, now)
    if kind == SHARE_SESSION:
        return core.shares.expire(what, now)
    if kind in STREAMS_KINDS:
        return core.streams.expire(what, now)
    group = core.groups.get(group_id)
    if group is None:
        return Decided()
    if kind == SESSION:
        return _session(core, group, member_id, now)
    if kind == PENDING_MEMBER:
        group.pending_members.discard(member_id)
        core.may_complete(group)
        return Decided()
    return rebalancing.join_time_is_over(core, group, now) if kind == JOIN else _sync_time_is_over(core, group, now)


def _session(core: "GroupCore", group: ClassicGroup, member_id: str, now: Now) -> Decided[None]:
    member = group.members.get(member_id)
    if member is None:
        return Decided()
    if member.is_awaiting and not member.is_new:
        return Decided()  # it waits for us: its session begins again with the answer
    return Decided(effects=rebalancing.remove_member(core, group, member, now))


def _sync_time_is_over(core: "GroupCore", group: ClassicGroup, now: Now) -> Decided[None]:
    """Members that took the news of a generation and never asked for their assignment are out."""
    if group.state in (EMPTY, PREPARING_REBALANCE) or not group.pending_sync:
        return Decided()
    for member_id in sorted(group.pending_sync):
        if member_id in group.members:
            group.remove(member_id)
    group.pending_sync.clear()
    answers: list[Answer] = rebalancing.prepare(core, group, now)
    return Decided(effects=answers)


# Retention.


def _check_retention(core: "GroupCore", now: Now) -> Decided[None]:
    """A part of the groups at a time; then again after the interval."""
    if not core.to_check:
        core.to_check = [*core.groups, *core.consumers.groups, *core.streams.groups]
    records: list[Versioned] = []
    for _ in range(GROUPS_PER_STEP):
        if not core.to_check or len(records) >= TOMBSTONES_PER_STEP:
            break
        group_id = core.to_check.pop()
        group = core.groups.get(group_id)
        if group is not None:
            records += _expired(core, group, now.wall_ms)
        else:
            records += core.consumers.expired(group_id, now.wall_ms)
            records += core.streams.expired(group_id, now.wall_ms)
    pause_ms = 1 if core.to_check else core.config.retention_check_interval_ms
    core.deadlines.set(RETENTION_CHECK, now.mono_ms + pause_ms)
    return Decided(records, is_atomic=False)


def _expired(core: "GroupCore", group: ClassicGroup, now_ms: int) -> "list[Versioned]":
    places = [
        (topic, partition)
        for topic, partition, committed in core.offsets.places(group.group_id)
        if _is_expired(core, group, topic, committed, now_ms)
        and not core.offsets.is_unstable(group.group_id, topic, partition)
    ]
    records = [offset_tombstone(group.group_id, *place) for place in places]
    core.counts.offset_expirations += len(records)
    kept = sum(len(partitions) for partitions in core.offsets.of_group(group.group_id).values()) - len(places)
    has_pending = bool(core.offsets.pending_places(group.group_id))
    if group.state == EMPTY and not kept and not has_pending and not group.pending_members:
        records.append(group_tombstone(group.group_id))
    return records


def _is_expired(core: "GroupCore", group: ClassicGroup, topic: str, committed: Committed, now_ms: int) -> bool:
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
    return now_ms - since_ms >= core.config.retention_ms
