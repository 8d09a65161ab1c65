"""Whose commits count in a streams group, and until when its offsets are kept.

As in a consumer group (`consumer/commits.py`) a member's epoch stands for its generation, and one that is behind its
current epoch may still commit for what it has had since then: the partitions of the topics that its active tasks read.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.coordinator.group.offsets import NO_EXPIRY
from odradek.coordinator.group.plan import appended
from odradek.coordinator.group.records import offset_tombstone
from odradek.coordinator.group.streams import records
from odradek.coordinator.group.streams.group import StreamsGroup
from odradek.coordinator.group.streams.leaving import known_member
from odradek.coordinator.group.streams.member import StreamsMember
from odradek.coordinator.group.streams.topology import subtopology_ids_by_topic
from odradek.protocol import errors

if TYPE_CHECKING:
    from odradek.coordinator.group.commits import Commit, CommitFrom
    from odradek.coordinator.group.core import GroupCore
    from odradek.replicated.log_record import Versioned

_SPEAKS_MEMBER_EPOCHS = 9  # the first version of OffsetCommit that does


def commit_codes(
    group: StreamsGroup, sender: "CommitFrom", commits: "Sequence[Commit]", *, is_transactional: bool
) -> list[int]:
    """The error code of each; those without one may be written."""
    try:
        member = _committer(group, sender, is_transactional)
    except errors.KafkaError as error:
        return [error.code] * len(commits)
    if member is None or sender.generation == member.epoch:
        return [errors.NONE] * len(commits)
    if sender.generation > member.epoch or group.topology is None:
        return [errors.StaleMemberEpoch.code] * len(commits)
    read_by = subtopology_ids_by_topic(group.topology)
    return [
        errors.NONE
        if _had(member, read_by.get(commit.topic), commit.partition, sender.generation)
        else errors.StaleMemberEpoch.code
        for commit in commits
    ]


def _committer(group: StreamsGroup, sender: "CommitFrom", is_transactional: bool) -> StreamsMember | None:
    """The member; None for somebody who may without being one."""
    if sender.generation < 0 and (not group.members or (is_transactional and not sender.is_member)):
        return None
    member = known_member(group, sender.member_id)
    if not is_transactional and sender.version < _SPEAKS_MEMBER_EPOCHS:
        raise errors.UnsupportedVersion("Members of the streams protocol commit with version 9 or later.")
    return member


def _had(member: StreamsMember, subtopology_id: str | None, partition: int, epoch: int) -> bool:
    since = None if subtopology_id is None else member.assignment_epoch(subtopology_id, partition)
    return since is not None and epoch >= since


def check_fetch(group: StreamsGroup, member_id: str | None, member_epoch: int) -> None:
    """Who names a member has to be it; without one anybody may look."""
    if member_id is None and member_epoch < 0:
        return
    if member_epoch != known_member(group, member_id or "").epoch:
        raise errors.StaleMemberEpoch()


# How long offsets stay


def expired(core: "GroupCore", group: StreamsGroup, now_ms: int) -> "list[Versioned]":
    """Offsets of topics that the group does not read any more, and the group itself once nothing is left of it."""
    offsets, group_id = core.offsets, group.group_id
    subscribed = group.subscribed_topics()
    gone = []
    kept = 0
    for topic, partition, committed in offsets.places(group_id):
        if committed.expire_timestamp != NO_EXPIRY:
            is_over = now_ms >= committed.expire_timestamp
        else:
            is_over = now_ms - committed.commit_timestamp >= core.config.retention_ms
        if is_over and topic not in subscribed and not offsets.is_unstable(group_id, topic, partition):
            gone.append(offset_tombstone(group_id, topic, partition))
        else:
            kept += 1
    core.counts.offset_expirations += len(gone)
    if not group.members and not kept and not offsets.pending_places(group_id):
        gone += appended(records.no_group(group))
    return gone
