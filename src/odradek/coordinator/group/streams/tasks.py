"""Tasks: partition n of a subtopology is one task, and a member runs it, stands by for it, or warms up for it."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

TaskId = tuple[str, int]  # subtopology, partition
Tasks = Mapping[str, frozenset[int]]  # partitions by subtopology
ActiveTasks = Mapping[str, Mapping[int, int]]  # by subtopology, partitions with the epoch in which each was assigned

NO_TASKS: Tasks = {}
NO_ACTIVE_TASKS: ActiveTasks = {}


class TaskSet(NamedTuple):
    """What a member shall have, or says that it has."""

    active: Tasks = NO_TASKS
    standby: Tasks = NO_TASKS
    warmup: Tasks = NO_TASKS


class AssignedTasks(NamedTuple):
    """What a member has."""

    active: ActiveTasks = NO_ACTIVE_TASKS
    standby: Tasks = NO_TASKS
    warmup: Tasks = NO_TASKS

    @property
    def is_empty(self) -> bool:
        return not (self.active or self.standby or self.warmup)

    def ids(self) -> TaskSet:
        """Returns the tasks without the epochs since which they are assigned."""
        active = {subtopology: frozenset(partitions) for subtopology, partitions in self.active.items()}
        return TaskSet(active, self.standby, self.warmup)


NO_TASK_SET = TaskSet()
NOTHING_ASSIGNED = AssignedTasks()


def each(tasks: Mapping[str, Collection[int]]) -> Iterator[TaskId]:
    return ((subtopology, partition) for subtopology, partitions in tasks.items() for partition in partitions)


def grouped(ids: Iterable[TaskId]) -> dict[str, frozenset[int]]:
    """The way back; without empty subtopologies, in order."""
    partitions: dict[str, set[int]] = {}
    for subtopology, partition in ids:
        partitions.setdefault(subtopology, set()).add(partition)
    return {subtopology: frozenset(partitions[subtopology]) for subtopology in sorted(partitions)}


def overlaps(owned: TaskSet, assigned: AssignedTasks) -> bool:
    """Whether it has any of them still, in the same role."""
    return any(
        partition in mine.get(subtopology, ())
        for mine, theirs in zip(owned, assigned, strict=True)
        for subtopology, partition in each(theirs)
    )


def is_within(owned: TaskSet, assigned: AssignedTasks) -> bool:
    return all(
        partition in theirs.get(subtopology, ())
        for mine, theirs in zip(owned, assigned, strict=True)
        for subtopology, partition in each(mine)
    )
