"""The records of committed offsets."""

from odradek.protocol.declare import Uuid
from odradek.protocol.messages.consumer_offsets import OffsetCommitKey, OffsetCommitValue
from odradek.protocol.releases import Release
from odradek.replicated.log_record import LogRecord, Versioned

_WITH_EXPIRE_TIMESTAMP = 1  # the one version of OffsetCommitValue that has it
_NO_TIMESTAMP = -1

_blank = object.__new__  # a struct without values, as its constructor would make it in twice the time


class OffsetRecords:
    """Commits, in the version of the release profile."""

    __slots__ = ("_version",)

    def __init__(self, release: Release) -> None:
        self._version = release.record_versions["OffsetCommitValue"]

    def record(
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
        version = _WITH_EXPIRE_TIMESTAMP if has_expiry else self._version
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


def offset_tombstone(group_id: str, topic: str, partition: int) -> Versioned:
    return LogRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition), None), 0
