"""The records that a group coordinator writes, in the versions of the release profile."""

from collections.abc import Mapping

from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.protocol.declare import Message, Uuid
from odradek.protocol.messages.consumer_offsets import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from odradek.protocol.releases import Release
from odradek.replicated.log_record import LogRecord, Versioned

_WITH_EXPIRE_TIMESTAMP = 1  # the one version of OffsetCommitValue that has it
_NO_TIMESTAMP = -1

_blank = object.__new__  # a struct without values, as its constructor would make it in twice the time


class GroupRecords:
    __slots__ = ("_group_version", "_offset_version")

    def __init__(self, release: Release) -> None:
        self._group_version = release.record_versions["GroupMetadataValue"]
        self._offset_version = release.record_versions["OffsetCommitValue"]

    def stable(self, group: ClassicGroup, assignments: Mapping[str, bytes]) -> Versioned:
        """The group with its members, each with its assignment."""
        members = [
            member.record(group.protocol, assignments.get(member.member_id, b"")) for member in group.members.values()
        ]
        return self._group(group, group.generation, group.protocol, group.leader, group.state_since_ms, members)

    def empty(self, group: ClassicGroup, generation: int, now_ms: int) -> Versioned:
        return self._group(group, generation, None, None, now_ms, [])

    def _group(
        self,
        group: ClassicGroup,
        generation: int,
        protocol: str | None,
        leader: str | None,
        since_ms: int,
        members: list[MemberMetadata],
    ) -> Versioned:
        value = GroupMetadataValue(
            protocol_type=group.protocol_type or "",
            generation=generation,
            protocol=protocol,
            leader=leader,
            current_state_timestamp=since_ms,
            members=members,
        )
        return LogRecord(GroupMetadataKey(group=group.group_id), value), self._group_version

    def offset(
        self,
        group_id: str,
        topic: str,
        partition: int,
        value: OffsetCommitValue,
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> Versioned:
        key = _blank(OffsetCommitKey)
        key.group, key.topic, key.partition = group_id, topic, partition
        has_expiry = value.expire_timestamp != _NO_TIMESTAMP
        version = _WITH_EXPIRE_TIMESTAMP if has_expiry else self._offset_version
        return LogRecord(key, value, producer_id, producer_epoch), version


def offset_value(
    offset: int, leader_epoch: int, metadata: str, commit_ms: int, expire_ms: int, topic_id: bytes
) -> OffsetCommitValue:
    value = _blank(OffsetCommitValue)
    value.offset = offset
    value.leader_epoch = leader_epoch
    value.metadata = metadata
    value.commit_timestamp = commit_ms
    value.expire_timestamp = expire_ms
    value.topic_id = Uuid(topic_id)
    return value


def group_tombstone(group_id: str) -> Versioned:
    return _tombstone(GroupMetadataKey(group=group_id))


def offset_tombstone(group_id: str, topic: str, partition: int) -> Versioned:
    return _tombstone(OffsetCommitKey(group=group_id, topic=topic, partition=partition))


def _tombstone(key: Message) -> Versioned:
    return LogRecord(key, None), 0
