"""Whose commits count in a streams group.

As in a consumer group (`consumer/commits.py`) a member's epoch stands for its generation, and one that is behind its
current epoch may still commit for what it has had since then: the partitions of the topics that its active tasks read.
"""

from collections.abc import Sequence

from odradek.coordinator.group.commit_request import SPEAKS_MEMBER_EPOCHS, Commit, CommitFrom
from odradek.coordinator.group.epochs.members import known_member
from odradek.coordinator.group.streams.group import StreamsGroup
from odradek.coordinator.group.streams.member import StreamsMember
from odradek.coordinator.group.streams.topology import subtopology_ids_by_topic
from odradek.protocol import errors


def commit_codes(
    group: StreamsGroup, sender: CommitFrom, commits: Sequence[Commit], *, is_transactional: bool
) -> list[int]:
    """The error code of each commit; those without one may be written."""
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


def _committer(group: StreamsGroup, sender: CommitFrom, is_transactional: bool) -> StreamsMember | None:
    """The member; None for somebody who may without being one."""
    if sender.generation < 0 and (not group.members or (is_transactional and not sender.is_member)):
        return None
    member = known_member(group, sender.member_id)
    if not is_transactional and sender.version < SPEAKS_MEMBER_EPOCHS:
        raise errors.UnsupportedVersion("Members of the streams protocol commit with version 9 or later.")
    return member


def _had(member: StreamsMember, subtopology_id: str | None, partition: int, epoch: int) -> bool:
    since = None if subtopology_id is None else member.assignment_epoch(subtopology_id, partition)
    return since is not None and epoch >= since
