"""DeleteGroups, OffsetDelete, and what the deletion of a topic leaves behind."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from odradek.coordinator.core import Decided
from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.classic.records import group_tombstone
from odradek.coordinator.group.classic.states import CONSUMER, EMPTY
from odradek.coordinator.group.classic.subscriptions import subscribed_topics
from odradek.coordinator.group.records import offset_tombstone
from odradek.coordinator.group.rooms import GroupRooms
from odradek.protocol import errors

if TYPE_CHECKING:
    from odradek.coordinator.group.consumer.group import ConsumerGroup
    from odradek.coordinator.group.streams.group import StreamsGroup
    from odradek.replicated.log_record import Versioned

    _Group = ClassicGroup | ConsumerGroup | StreamsGroup


def delete(rooms: GroupRooms, group_id: str) -> Decided[int]:
    """Deletes a group with all its offsets, those of open transactions too. The answer is an error code."""
    group = _group(rooms, group_id)
    if group is None:
        return Decided(response=errors.GroupIdNotFound.code)
    if group.state != EMPTY:
        return Decided(response=errors.NonEmptyGroup.code)
    places = dict.fromkeys((topic, partition) for topic, partition, _ in rooms.offsets.places(group_id))
    places.update(dict.fromkeys(rooms.offsets.pending_places(group_id)))
    records = [offset_tombstone(group_id, *place) for place in places]
    rooms.counts.offset_deletions += len(records)
    others = rooms.consumers.tombstones(group_id) + rooms.streams.tombstones(group_id)
    records += others or [group_tombstone(group_id)]
    return Decided(records, errors.NONE, is_atomic=False)


def _group(rooms: GroupRooms, group_id: str) -> "_Group | None":
    return (
        rooms.classic.groups.get(group_id) or rooms.consumers.groups.get(group_id) or rooms.streams.groups.get(group_id)
    )


def delete_offsets(rooms: GroupRooms, group_id: str, places: Sequence[tuple[str, int]]) -> Decided[list[int] | int]:
    group = _group(rooms, group_id)
    if group is None:
        return Decided(response=errors.GroupIdNotFound.code)
    if isinstance(group, ClassicGroup) and group.state != EMPTY and group.protocol_type != CONSUMER:
        return Decided(response=errors.NonEmptyGroup.code)
    codes: list[int] = []
    records: list[Versioned] = []
    for topic, partition in places:
        if _is_read(group, topic):
            codes.append(errors.GroupSubscribedToTopic.code)
            continue
        codes.append(errors.NONE)
        if _has_offset(rooms, group_id, topic, partition):
            records.append(offset_tombstone(group_id, topic, partition))
    rooms.counts.offset_deletions += len(records)
    return Decided(records, codes, is_atomic=False)


def _has_offset(rooms: GroupRooms, group_id: str, topic: str, partition: int) -> bool:
    offsets = rooms.offsets
    return offsets.get(group_id, topic, partition) is not None or offsets.is_unstable(group_id, topic, partition)


def _is_read(group: "_Group", topic: str) -> bool:
    if not isinstance(group, ClassicGroup):
        return topic in group.subscribed_topics()
    if group.state == EMPTY:
        return False
    topics = subscribed_topics(group)
    return topics is None or topic in topics


def topics_deleted(rooms: GroupRooms, topics: Iterable[str]) -> Decided[None]:
    """The offsets in a topic that is no more say nothing about one that is made under its name later."""
    records = [
        offset_tombstone(group_id, topic, partition)
        for topic in topics
        for group_id in rooms.offsets.groups_of_topic(topic)
        for partition in rooms.offsets.of_group(group_id)[topic]
    ]
    rooms.counts.offset_deletions += len(records)
    return Decided(records, is_atomic=False)
