"""A member of a streams group, as a value: an event works out the next one, a record makes it so."""

from typing import NamedTuple

from odradek.coordinator.group.epochs.group import JOINING
from odradek.coordinator.group.streams.tasks import NOTHING_ASSIGNED, AssignedTasks, TaskId, each

STABLE, UNREVOKED_TASKS, UNRELEASED_TASKS = 1, 2, 3  # as in the record of a current assignment


class Endpoint(NamedTuple):
    """Where the application answers queries of its state."""

    host: str
    port: int


class StreamsMember(NamedTuple):
    """A thread of an application; the threads of one process share its disk, and so the state of its tasks.

    `assigned` is what it may have; `pending_revocation` what it had and has not given back yet.
    """

    member_id: str
    epoch: int = JOINING
    previous_epoch: int = JOINING
    state: int = STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: tuple[tuple[str, str], ...] = ()  # sorted
    assigned: AssignedTasks = NOTHING_ASSIGNED
    pending_revocation: AssignedTasks = NOTHING_ASSIGNED

    def is_reconciled_to(self, target_epoch: int) -> bool:
        return self.state == STABLE and self.epoch == target_epoch

    def metadata(self) -> "StreamsMember":
        """Returns the member without its assignment: what the record of a member holds."""
        return self._replace(
            epoch=JOINING,
            previous_epoch=JOINING,
            state=STABLE,
            assigned=NOTHING_ASSIGNED,
            pending_revocation=NOTHING_ASSIGNED,
        )

    def active_held(self) -> list[TaskId]:
        """Which nobody else may run: assigned and not given back."""
        return [*each(self.assigned.active), *each(self.pending_revocation.active)]

    def copies_held(self) -> list[TaskId]:
        """Whose state its process keeps without running them."""
        return [
            task
            for tasks in (self.assigned, self.pending_revocation)
            for copies in (tasks.standby, tasks.warmup)
            for task in each(copies)
        ]

    def assignment_epoch(self, subtopology: str, partition: int) -> int | None:
        """Since when it runs the task."""
        for tasks in (self.assigned, self.pending_revocation):
            epoch = tasks.active.get(subtopology, {}).get(partition)
            if epoch is not None:
                return epoch
        return None
