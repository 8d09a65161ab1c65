"""The records of classic groups: one GroupMetadata record holds a whole group."""

from odradek.coordinator.group.classic.written_group import WrittenGroup
from odradek.protocol.messages.consumer_offsets import GroupMetadataKey
from odradek.replicated.log_record import LogRecord, Versioned


def group_record(group_id: str, written: WrittenGroup, version: int) -> Versioned:
    """The group as it will be once this is replayed, in the version of the release profile."""
    return LogRecord(GroupMetadataKey(group=group_id), written.value()), version


def group_tombstone(group_id: str) -> Versioned:
    return LogRecord(GroupMetadataKey(group=group_id), None), 0
