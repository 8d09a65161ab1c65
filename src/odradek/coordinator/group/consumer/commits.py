"""Whose commits count in a consumer group, and until when its offsets are kept.

A member's epoch stands for its generation. One that is behind its current epoch may still commit for the partitions
that it has had since then: its answer may be on the way (KIP-1251). A later epoch than its own is always stale.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.coordinator.group.consumer import records
from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.consumer.member import ConsumerMember
from odradek.coordinator.group.offsets import NO_EXPIRY
from odradek.coordinator.group.plan import appended
from odradek.coordinator.group.records import offset_tombstone
from odradek.protocol import errors

if TYPE_CHECKING:
    from odradek.coordinator.group.commits import Commit, CommitFrom
    from odradek.coordinator.group.consumer.groups import ConsumerGroups
    from odradek.replicated.log_record import Versioned

_SPEAKS_MEMBER_EPOCHS = 9  # the first version of OffsetCommit that does


def commit_codes(
    groups: "ConsumerGroups",
    group: ConsumerGroup,
    sender: "CommitFrom",
    commits: "Sequence[Commit]",
    *,
    is_transactional: bool,
) -> list[int]:
    """The error code of each; those without one may be written."""
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


def _committer(group: ConsumerGroup, sender: "CommitFrom", is_transactional: bool) -> ConsumerMember | None:
    """The member; None for somebody who may without being one."""
    if sender.generation < 0 and (not group.members or (is_transactional and not sender.is_member)):
        return None
    from odradek.coordinator.group.consumer.heartbeat import known_member

    member = known_member(group, sender.member_id, sender.instance_id)
    if not member.is_classic and not is_transactional and sender.version < _SPEAKS_MEMBER_EPOCHS:
        raise errors.UnsupportedVersion("Members of the consumer protocol commit with version 9 or later.")
    return member


def _had(groups: "ConsumerGroups", member: ConsumerMember, commit: "Commit", epoch: int) -> bool:
    topic = groups.topics.by_name(commit.topic)
    since = None if topic is None else member.assignment_epoch(topic.id, commit.partition)
    return since is not None and epoch >= since


def check_fetch(group: ConsumerGroup, member_id: str | None, member_epoch: int) -> None:
    """Who names a member has to be it; without one anybody may look."""
    if member_id is None and member_epoch < 0:
        return
    member = group.members.get(member_id or "")
    if member is None:
        raise errors.UnknownMemberId(f"Member {member_id} is not a member of group {group.group_id}.")
    if member_epoch != member.epoch:
        raise errors.StaleMemberEpoch()


# How long offsets stay


def expired(groups: "ConsumerGroups", group: ConsumerGroup, now_ms: int) -> "list[Versioned]":
    """Offsets of topics that nobody in the group reads any more, and the group itself once nothing is left of it."""
    offsets, group_id = groups.core.offsets, group.group_id
    subscribed = group.subscribed_topics()
    gone = []
    kept = 0
    for topic, partition, committed in offsets.places(group_id):
        if committed.expire_timestamp != NO_EXPIRY:
            is_over = now_ms >= committed.expire_timestamp
        else:
            is_over = now_ms - committed.commit_timestamp >= groups.core.config.retention_ms
        if is_over and topic not in subscribed and not offsets.is_unstable(group_id, topic, partition):
            gone.append(offset_tombstone(group_id, topic, partition))
        else:
            kept += 1
    groups.core.counts.offset_expirations += len(gone)
    if not group.members and not kept and not offsets.pending_places(group_id):
        gone += appended(records.no_group(group))
    return gone
