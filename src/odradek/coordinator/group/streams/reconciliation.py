"""How a member comes from the tasks it has to those it shall have, without two members running the same meanwhile.

The way is that of consumer groups (`consumer/reconciliation.py`): first a member gives back what it shall no longer
have; only then does it reach the target's epoch and take what is free. What is free is another question here. A task
that somebody runs is not; and the processes matter: the copies of a task's state lie in a directory that the threads
of a process share, so a process must have let go of a task in one role before it takes it in another.

    state              heartbeat finds                                       next state         epoch
    STABLE             the target has not changed                            STABLE             same
    STABLE, UNRELEASED something to give back, and the member has it still   UNREVOKED_TASKS    same
    any                nothing to give back, all of the rest is free         STABLE             the target's
    any                nothing to give back, some of the rest is not free    UNRELEASED_TASKS   the target's
    UNREVOKED_TASKS    the member has not told that it gave all back         UNREVOKED_TASKS    same

A member that has given everything back and must give back more before the target is reached goes up by one epoch: so
that its commits for what it gave back before are told from those that follow.
"""

from collections.abc import Callable

from odradek.coordinator.group.streams.group import StreamsGroup
from odradek.coordinator.group.streams.member import STABLE, UNRELEASED_TASKS, UNREVOKED_TASKS, StreamsMember
from odradek.coordinator.group.streams.tasks import (
    NOTHING_ASSIGNED,
    ActiveTasks,
    AssignedTasks,
    TaskId,
    Tasks,
    TaskSet,
    each,
    grouped,
    overlaps,
)

_NOBODY: frozenset[str] = frozenset()

IsFree = Callable[[TaskId], bool]


def reconcile(
    group: StreamsGroup, member: StreamsMember, target_epoch: int, target: TaskSet, owned: TaskSet | None
) -> StreamsMember:
    """The member after a heartbeat. `owned` is None if it did not say."""
    if member.is_reconciled_to(target_epoch):
        return member
    epoch = member.epoch
    if member.state == UNREVOKED_TASKS:
        if owned is None or overlaps(owned, member.pending_revocation):
            return member
        epoch += 1
    return _next(group, member, epoch, target_epoch, target, owned)


def _next(
    group: StreamsGroup,
    member: StreamsMember,
    epoch: int,
    target_epoch: int,
    target: TaskSet,
    owned: TaskSet | None,
) -> StreamsMember:
    kept, revoked = _split(member.assigned, target)
    if not revoked.is_empty and (owned is None or overlaps(owned, revoked)):
        return _with(member, epoch, UNREVOKED_TASKS, kept, revoked)
    taken, is_waiting = _taken(group, member.process_id, kept, target, target_epoch)
    return _with(member, target_epoch, UNRELEASED_TASKS if is_waiting else STABLE, taken, NOTHING_ASSIGNED)


def _with(
    member: StreamsMember, epoch: int, state: int, assigned: AssignedTasks, pending: AssignedTasks
) -> StreamsMember:
    """The member itself if nothing about it is another.

    An epoch that stays has been told twice: it is the previous one too.
    """
    after = member._replace(
        epoch=epoch, previous_epoch=member.epoch, state=state, assigned=assigned, pending_revocation=pending
    )
    return member if after == member else after


def _split(has: AssignedTasks, target: TaskSet) -> tuple[AssignedTasks, AssignedTasks]:
    """What it keeps, and what it has to give back."""
    kept_active, revoked_active = _split_active(has.active, target.active)
    kept_standby, revoked_standby = _split_copies(has.standby, target.standby)
    kept_warmup, revoked_warmup = _split_copies(has.warmup, target.warmup)
    kept = AssignedTasks(kept_active, kept_standby, kept_warmup)
    return kept, AssignedTasks(revoked_active, revoked_standby, revoked_warmup)


def _split_active(has: ActiveTasks, wanted: Tasks) -> tuple[dict[str, dict[int, int]], dict[str, dict[int, int]]]:
    kept: dict[str, dict[int, int]] = {}
    revoked: dict[str, dict[int, int]] = {}
    for subtopology, partition in each(has):
        part = kept if partition in wanted.get(subtopology, ()) else revoked
        part.setdefault(subtopology, {})[partition] = has[subtopology][partition]
    return kept, revoked


def _split_copies(has: Tasks, wanted: Tasks) -> tuple[Tasks, Tasks]:
    kept = [task for task in each(has) if task[1] in wanted.get(task[0], ())]
    revoked = [task for task in each(has) if task[1] not in wanted.get(task[0], ())]
    return grouped(kept), grouped(revoked)


def _taken(
    group: StreamsGroup, process_id: str, kept: AssignedTasks, target: TaskSet, target_epoch: int
) -> tuple[AssignedTasks, bool]:
    """Returns what the member keeps plus what is free of its target, and whether some of that is not free yet."""

    def has_copy(task: TaskId) -> bool:
        return process_id in group.copies_on.get(task, _NOBODY)

    def may_run(task: TaskId) -> bool:
        return task not in group.active_on and not has_copy(task)

    def may_copy(task: TaskId) -> bool:
        return group.active_on.get(task) != process_id and not has_copy(task)

    active = {subtopology: dict(partitions) for subtopology, partitions in kept.active.items()}
    new = _new(kept.active, target.active)
    free = [task for task in new if may_run(task)]
    for subtopology, partition in free:
        active.setdefault(subtopology, {})[partition] = target_epoch
    standby, standby_waits = _copies_taken(kept.standby, target.standby, may_copy)
    warmup, warmup_waits = _copies_taken(kept.warmup, target.warmup, may_copy)
    is_waiting = len(free) < len(new) or standby_waits or warmup_waits
    return AssignedTasks(active, standby, warmup), is_waiting


def _copies_taken(kept: Tasks, target: Tasks, is_free: IsFree) -> tuple[Tasks, bool]:
    new = _new(kept, target)
    free = [task for task in new if is_free(task)]
    return grouped([*each(kept), *free]), len(free) < len(new)


def _new(kept: Tasks | ActiveTasks, target: Tasks) -> list[TaskId]:
    return [task for task in each(target) if task[1] not in kept.get(task[0], ())]
