"""How a member comes from what it has to what it shall have, without anybody else having the same meanwhile.

The group has a target: for each member the partitions it shall have, at the target's epoch. A member goes there by its
own heartbeats. First it gives back what it shall no longer have; only then does it reach the target's epoch and take
what it shall have and nobody else has; what is still with others it takes later, as they give it back.

    state                    heartbeat finds                                       next state             epoch
    STABLE                   the target has not changed                            STABLE                 same
    any                      something to give back, and the member has it still   UNREVOKED_PARTITIONS   same
    any                      nothing to give back, all of the rest is free         STABLE                 the target's
    any                      nothing to give back, some of the rest is not free    UNRELEASED_PARTITIONS  the target's
    UNREVOKED_PARTITIONS     the member has not told that it gave all back         UNREVOKED_PARTITIONS   same
    UNRELEASED_PARTITIONS    nothing became free                                   UNRELEASED_PARTITIONS  same

"The member has it still" is what it says itself with its owned partitions; if it says nothing, it has. A partition is
with a member as long as it is assigned to it or waits to be given back (`ConsumerMember.held`): so no partition is ever
with two members (G1), and a member at the target's epoch has nothing that is meant for another (G3).

A member that has changed its subscription gives back at once what it does not read any more, though the target may
be made anew only later: the target counts as far as the member subscribes to it.
"""

from collections.abc import Callable

from odradek.coordinator.group.consumer.member import (
    STABLE,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
    Assigned,
    ConsumerMember,
    Target,
    places,
    union,
)

IsFree = Callable[[bytes, int], bool]  # nobody else has the partition


def reconcile(
    member: ConsumerMember, target_epoch: int, target: Target, owned: Target | None, is_free: IsFree
) -> ConsumerMember:
    """The member after a heartbeat. `owned` is None if it did not say."""
    kept, revoked = _split(member.assigned, target)
    if member.state == UNREVOKED_PARTITIONS and _has(owned, member.pending_revocation):
        return _with(member, member.epoch, UNREVOKED_PARTITIONS, kept, union(member.pending_revocation, revoked))
    if revoked and _has(owned, revoked):
        return _with(member, member.epoch, UNREVOKED_PARTITIONS, kept, revoked)
    is_waiting = False
    for topic_id, partition in places(target):
        if partition in kept.get(topic_id, ()):
            continue
        if is_free(topic_id, partition):
            kept.setdefault(topic_id, {})[partition] = target_epoch
        else:
            is_waiting = True
    return _with(member, target_epoch, UNRELEASED_PARTITIONS if is_waiting else STABLE, kept, {})


def _with(member: ConsumerMember, epoch: int, state: int, assigned: Assigned, pending: Assigned) -> ConsumerMember:
    if (epoch, state, assigned, pending) == (member.epoch, member.state, member.assigned, member.pending_revocation):
        return member
    return member._replace(
        epoch=epoch, previous_epoch=member.epoch, state=state, assigned=assigned, pending_revocation=pending
    )


def _split(assigned: Assigned, target: Target) -> tuple[dict[bytes, dict[int, int]], dict[bytes, dict[int, int]]]:
    """What it keeps, and what it has to give back."""
    kept: dict[bytes, dict[int, int]] = {}
    revoked: dict[bytes, dict[int, int]] = {}
    for topic_id, partitions in assigned.items():
        wanted = target.get(topic_id, ())
        for partition, epoch in partitions.items():
            (kept if partition in wanted else revoked).setdefault(topic_id, {})[partition] = epoch
    return kept, revoked


def _has(owned: Target | None, partitions: Assigned) -> bool:
    if owned is None:
        return True
    return any(partition in owned.get(topic_id, ()) for topic_id, partition in places(partitions))
