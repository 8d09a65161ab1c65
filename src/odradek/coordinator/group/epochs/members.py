"""Who sends a heartbeat: whether the member is there, is the one that it says, and still has room."""

from collections.abc import Mapping

from odradek.coordinator.group.epochs.group import EpochGroup, EpochMember, M, T
from odradek.protocol import errors


def check_size(members: Mapping[str, object], limit: int, protocol: str) -> None:
    """Before one more member joins."""
    if len(members) >= limit:
        raise errors.GroupMaxSizeReached(f"The {protocol} group has reached its maximum capacity of {limit} members.")


def unknown_member(member_id: str | None, group_id: str) -> errors.UnknownMemberId:
    return errors.UnknownMemberId(f"Member {member_id} is not a member of group {group_id}.")


def known_member(group: EpochGroup[M, T], member_id: str) -> M:
    """UnknownMemberId if there is none of this id."""
    member = group.members.get(member_id)
    if member is None:
        raise unknown_member(member_id, group.group_id)
    return member


def is_previous_epoch(member: EpochMember, epoch: int) -> bool:
    """Whether the member tells the epoch before its current one: the answer with that may have been lost."""
    return epoch == member.previous_epoch and epoch < member.epoch


def fenced(member: EpochMember, epoch: int, protocol: str) -> errors.FencedMemberEpoch:
    """The member tells an epoch that it cannot have by now."""
    word = "greater" if epoch > member.epoch else "smaller"
    return errors.FencedMemberEpoch(
        f"The {protocol} group member has a {word} member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.epoch}). The member must abandon all its partitions and rejoin."
    )


def check_fetch(group: EpochGroup[M, T], member_id: str | None, member_epoch: int) -> None:
    """OffsetFetch: who names a member has to be it; without one anybody may look."""
    if member_id is None and member_epoch < 0:
        return
    if member_epoch != known_member(group, member_id or "").epoch:
        raise errors.StaleMemberEpoch()
