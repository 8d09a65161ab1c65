"""Kafka 4.3's task assignor, `sticky`: tasks stay where they were, as far as everybody has about the same.

Quotas say what "the same" is: no member gets more active tasks than its share, rounded up; when a member has its share
the rest is shared anew among the others. A task goes to the first of these that its quota allows:

    active     the member that ran it before; a member that stood by for it; the least loaded process
    standby    the member that ran it before; a member that stood by for it; the least loaded process; each only if
               no other member of its process has the task, because one process dies as a whole

A process's load is its tasks per member. Where two are equally good, the first by id is taken: Kafka takes the one
that its hash map has first.
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import NamedTuple

from odradek.coordinator.group.streams.tasks import TaskId, TaskSet, each, grouped


class Assignee(NamedTuple):
    """A member, and what the last target had for it."""

    member_id: str
    process_id: str
    before: TaskSet


class TaskGroup(NamedTuple):
    """The tasks of one subtopology."""

    subtopology_id: str
    task_count: int
    is_stateful: bool


class _Quota:
    """The share of a member, while some already have theirs."""

    __slots__ = ("_members", "_tasks", "each")

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks, self._members = tasks, members
        self.each = _rounded_up(tasks, members)

    def now_has(self, count: int) -> None:
        if count == self.each:
            self._members -= 1
            self._tasks -= count
            self.each = _rounded_up(self._tasks, self._members)


def _rounded_up(tasks: int, members: int) -> int:
    return -(-tasks // members) if members > 0 else 0


class _Process:
    __slots__ = ("_by_count", "counts", "index", "task_count", "tasks")

    def __init__(self, index: int) -> None:
        self.index = index
        self.counts: dict[str, int] = {}  # tasks by member
        self.tasks: set[TaskId] = set()
        self.task_count = 0
        self._by_count: list[tuple[int, str]] = []  # a heap; an entry may be behind, and is put right when it comes up

    def add_member(self, member_id: str) -> None:
        self.counts[member_id] = 0
        heappush(self._by_count, (0, member_id))

    def add_task(self, member_id: str, task: TaskId) -> int:
        """How many the member has now."""
        self.tasks.add(task)
        self.task_count += 1
        self.counts[member_id] += 1
        return self.counts[member_id]

    @property
    def load(self) -> float:
        return self.task_count / len(self.counts)

    def least_loaded(self) -> str:
        while True:
            count, member_id = self._by_count[0]
            if count == self.counts[member_id]:
                return member_id
            heapreplace(self._by_count, (self.counts[member_id], member_id))


class _Assignment:
    __slots__ = ("active", "active_quota", "processes", "quota", "ran", "standby", "stood_by")

    def __init__(self, assignees: Sequence[Assignee], tasks: Sequence[TaskGroup], standby_replicas: int) -> None:
        active = sum(group.task_count for group in tasks)
        copies = sum(group.task_count for group in tasks if group.is_stateful) * standby_replicas
        self.active_quota = _Quota(active, len(assignees))
        self.quota = _Quota(active + copies, len(assignees))
        self.active: dict[str, list[TaskId]] = {assignee.member_id: [] for assignee in assignees}
        self.standby: dict[str, list[TaskId]] = {assignee.member_id: [] for assignee in assignees}
        self.processes: dict[str, _Process] = {}
        self.ran: dict[TaskId, Assignee] = {}
        self.stood_by: dict[TaskId, list[Assignee]] = {}
        for assignee in assignees:
            self._add(assignee)

    def _add(self, assignee: Assignee) -> None:
        process = self.processes.setdefault(assignee.process_id, _Process(len(self.processes)))
        process.add_member(assignee.member_id)
        for task in each(assignee.before.active):
            self.ran[task] = assignee
        for task in each(assignee.before.standby):
            self.stood_by.setdefault(task, []).append(assignee)

    # Active tasks

    def assign_active(self, tasks: Iterable[TaskId]) -> None:
        left = [task for task in tasks if not self._runs_again(task)]
        left = [task for task in left if not self._takes_over(task)]
        by_load = self._by_load()
        for task in left:
            process = heappop(by_load)[2]
            self._run(process, process.least_loaded(), task)
            heappush(by_load, (process.load, process.index, process))

    def _runs_again(self, task: TaskId) -> bool:
        before = self.ran.get(task)
        return before is not None and self._may_run(before, task)

    def _takes_over(self, task: TaskId) -> bool:
        before = self._least_loaded(self.stood_by.get(task, ()))
        return before is not None and self._may_run(before, task)

    def _may_run(self, assignee: Assignee, task: TaskId) -> bool:
        process = self.processes[assignee.process_id]
        if process.counts[assignee.member_id] >= self.active_quota.each:
            return False
        self._run(process, assignee.member_id, task)
        return True

    def _run(self, process: _Process, member_id: str, task: TaskId) -> None:
        self.active[member_id].append(task)
        self.active_quota.now_has(self._count(process, member_id, task))

    # Standby tasks

    def assign_standby(self, tasks: Iterable[TaskId], replicas: int) -> None:
        left: list[tuple[TaskId, int]] = []
        for task in tasks:
            sticky = 0
            while sticky < replicas and self._stands_by_again(task):
                sticky += 1
            if sticky < replicas:
                left.append((task, replicas - sticky))
        by_load = self._by_load()
        for task, missing in sorted(left, reverse=True):
            for _ in range(missing):
                self._stand_by_anywhere(by_load, task)

    def _stands_by_again(self, task: TaskId) -> bool:
        ran = self.ran.get(task)
        if ran is not None and self._may_stand_by(ran, task):
            return True
        others = [each for each in self.stood_by.get(task, ()) if task not in self.processes[each.process_id].tasks]
        before = self._least_loaded(others)
        return before is not None and self._may_stand_by(before, task)

    def _may_stand_by(self, assignee: Assignee, task: TaskId) -> bool:
        process = self.processes[assignee.process_id]
        if task in process.tasks or process.counts[assignee.member_id] >= self.quota.each:
            return False
        self._stand_by(process, assignee.member_id, task)
        return True

    def _stand_by_anywhere(self, by_load: list[tuple[float, int, _Process]], task: TaskId) -> None:
        """Puts a copy on the least loaded process without one; if each has one, the copy is left out."""
        passed = []
        while by_load:
            entry = heappop(by_load)
            process = entry[2]
            if task not in process.tasks:
                self._stand_by(process, process.least_loaded(), task)
                heappush(by_load, (process.load, process.index, process))
                break
            passed.append(entry)
        for entry in passed:
            heappush(by_load, entry)

    def _stand_by(self, process: _Process, member_id: str, task: TaskId) -> None:
        self.standby[member_id].append(task)
        self._count(process, member_id, task)

    # Both

    def _count(self, process: _Process, member_id: str, task: TaskId) -> int:
        count = process.add_task(member_id, task)
        self.quota.now_has(count)
        return count

    def _least_loaded(self, assignees: Iterable[Assignee]) -> Assignee | None:
        def load(assignee: Assignee) -> tuple[float, int]:
            process = self.processes[assignee.process_id]
            return process.load, process.counts[assignee.member_id]

        return min(assignees, key=load, default=None)

    def _by_load(self) -> list[tuple[float, int, _Process]]:
        heap = [(process.load, process.index, process) for process in self.processes.values()]
        heapify(heap)
        return heap


def assign(assignees: Iterable[Assignee], tasks: Sequence[TaskGroup], standby_replicas: int) -> Mapping[str, TaskSet]:
    """What each member shall have."""
    members = sorted(assignees)
    if not members:
        return {}
    made = _Assignment(members, tasks, standby_replicas)
    made.assign_active(_ids(tasks))
    if standby_replicas > 0:
        made.assign_standby(reversed(_ids(group for group in tasks if group.is_stateful)), standby_replicas)
    return {
        assignee.member_id: TaskSet(grouped(made.active[assignee.member_id]), grouped(made.standby[assignee.member_id]))
        for assignee in members
    }


def _ids(tasks: Iterable[TaskGroup]) -> list[TaskId]:
    """Tasks in the order of their partition numbers, whatever their subtopology: nobody gets all of one subtopology."""
    ids = ((group.subtopology_id, partition) for group in tasks for partition in range(group.task_count))
    return sorted(ids, key=lambda task: (task[1], task[0]))
