"""What happens because nothing did: sessions, rebalances and offsets whose time is over.

Offsets expire after `offsets.retention.minutes`: in a group that has had members, counted from the moment that it
became empty; in one that never had any, from each commit; in a stable group of consumers from the last commit, for
topics that nobody there reads any more. An empty group without offsets goes with them.
"""

from typing import TYPE_CHECKING

from odradek.coordinator.core import Decided
from odradek.coordinator.group.classic.expiry import expired
from odradek.coordinator.group.consumer.groups import KINDS as CONSUMER_KINDS
from odradek.coordinator.group.deadlines import RETENTION, RETENTION_CHECK
from odradek.coordinator.group.rooms import GroupRooms
from odradek.coordinator.group.share.groups import SESSION as SHARE_SESSION
from odradek.coordinator.group.streams.groups import KINDS as STREAMS_KINDS
from odradek.coordinator.now import Now

if TYPE_CHECKING:
    from odradek.replicated.log_record import Versioned

GROUPS_PER_STEP = 200  # of a check of the retention, between which others get their turn
TOMBSTONES_PER_STEP = 2000


def expire(rooms: GroupRooms, now: Now) -> Decided[None] | None:
    """The next thing that is due by now."""
    what = rooms.deadlines.pop_due(now.mono_ms)
    if what is None:
        return None
    kind = what[0]
    if kind == RETENTION:
        return _check_retention(rooms, now)
    if kind in CONSUMER_KINDS:
        return rooms.consumers.expire(what, now)
    if kind == SHARE_SESSION:
        return rooms.shares.expire(what, now)
    if kind in STREAMS_KINDS:
        return rooms.streams.expire(what, now)
    return rooms.classic.expire(what, now)


# Retention.


def _check_retention(rooms: GroupRooms, now: Now) -> Decided[None]:
    """A part of the groups at a time; then again after the interval."""
    if not rooms.to_check:
        rooms.to_check = [*rooms.classic.groups, *rooms.consumers.groups, *rooms.streams.groups]
    records: list[Versioned] = []
    for _ in range(GROUPS_PER_STEP):
        if not rooms.to_check or len(records) >= TOMBSTONES_PER_STEP:
            break
        group_id = rooms.to_check.pop()
        group = rooms.classic.groups.get(group_id)
        if group is not None:
            records += expired(rooms.classic, group, now.wall_ms)
        else:
            records += rooms.consumers.expired(group_id, now.wall_ms)
            records += rooms.streams.expired(group_id, now.wall_ms)
    pause_ms = 1 if rooms.to_check else rooms.config.retention_check_interval_ms
    rooms.deadlines.set(RETENTION_CHECK, now.mono_ms + pause_ms)
    return Decided(records, is_atomic=False)
