"""Whose commits count in a consumer group.

A member's epoch stands for its generation. One that is behind its current epoch may still commit for the partitions
that it has had since then: its answer may be on the way (KIP-1251). A later epoch than its own is always stale.
"""

from collections.abc import Sequence

from odradek.coordinator.group.commit_request import SPEAKS_MEMBER_EPOCHS, Commit, CommitFrom
from odradek.coordinator.group.consumer.fencing import known_member
from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.consumer.groups import ConsumerGroups
from odradek.coordinator.group.consumer.member import ConsumerMember
from odradek.protocol import errors


def commit_codes(
    groups: ConsumerGroups,
    group: ConsumerGroup,
    sender: CommitFrom,
    commits: Sequence[Commit],
    *,
    is_transactional: bool,
) -> list[int]:
    """The error code of each commit; those without one may be written."""
    try:
        member = _committer(group, sender, is_transactional)
    except errors.KafkaError as error:
        return [error.code] * len(commits)
    if member is None or sender.generation == member.epoch:
        return [errors.NONE] * len(commits)
    stale = errors.IllegalGeneration.code if member.is_classic else errors.StaleMemberEpoch.code
    if sender.generation > member.epoch:
        return [stale] * len(commits)
    return [errors.NONE if _had(groups, member, commit, sender.generation) else stale for commit in commits]


def _committer(group: ConsumerGroup, sender: CommitFrom, is_transactional: bool) -> ConsumerMember | None:
    """The member; None for somebody who may without being one."""
    if sender.generation < 0 and (not group.members or (is_transactional and not sender.is_member)):
        return None
    member = known_member(group, sender.member_id, sender.instance_id)
    if not member.is_classic and not is_transactional and sender.version < SPEAKS_MEMBER_EPOCHS:
        raise errors.UnsupportedVersion("Members of the consumer protocol commit with version 9 or later.")
    return member


def _had(groups: ConsumerGroups, member: ConsumerMember, commit: Commit, epoch: int) -> bool:
    topic = groups.topics.by_name(commit.topic)
    since = None if topic is None else member.assignment_epoch(topic.id, commit.partition)
    return since is not None and epoch >= since
