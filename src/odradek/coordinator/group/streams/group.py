"""A group of the streams protocol: everything here is what its records say.

Theory of operation. As in a consumer group (`consumer/group.py`) three epochs count upwards: the group's, when what
there is to assign changes; the target's, which follows it; a member's, which is the target's that it has reached. What
is assigned are tasks of a topology, which the first member brings and all others must share. A topology can run once
all its topics are there; `validated_topology_epoch` is the one that could when the group's epoch last grew. So it is

    Empty          without members
    NotReady       the topology cannot run: the target has nothing for anybody
    Assigning      group epoch > target epoch: the next heartbeat that may, makes the target anew
    Reconciling    some member has not reached the target
    Stable         all members are at the target's epoch, and nothing waits to be given back or taken

    record                              what it writes
    StreamsGroupMetadata                the group's epoch, the hash of its topics, the validated topology's epoch,
                                        the configs that the last assignment was made with
    StreamsGroupTopology                the topology, once
    StreamsGroupMemberMetadata          a member: its process, endpoint, tags
    StreamsGroupTargetAssignment*       the target's epoch, when it was made; what each member shall have
    StreamsGroupCurrentMemberAssignment what a member has, its epoch and state

An event decides on a copy (`plan.py`), and every record makes what it needs, as for consumer groups.
"""

from collections.abc import Iterable, Mapping
from typing import Self

from odradek.broken_rule import BrokenRuleError
from odradek.coordinator.group.epochs.group import ASSIGNING, EMPTY, RECONCILING, STABLE_GROUP, EpochGroup
from odradek.coordinator.group.epochs.values import optional, required
from odradek.coordinator.group.plan import Plan
from odradek.coordinator.group.streams.member import STABLE, Endpoint, StreamsMember
from odradek.coordinator.group.streams.tasks import NOTHING_ASSIGNED, AssignedTasks, TaskId, TaskSet, each
from odradek.coordinator.group.streams.topology import Topology, subtopology_ids_by_topic
from odradek.protocol.declare import Message
from odradek.protocol.messages import streams_groups as records

NO_EPOCH = -1  # of a topology

NOT_READY = "NotReady"

_NOBODY: frozenset[str] = frozenset()


class StreamsGroup(EpochGroup[StreamsMember, TaskSet]):
    __slots__ = ("active_on", "assignment_configs", "copies_on", "topology", "validated_topology_epoch")

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.validated_topology_epoch = NO_EPOCH
        self.assignment_configs: Mapping[str, str] = {}
        self.topology: Topology | None = None
        self.active_on: dict[TaskId, str] = {}  # the process that runs a task
        self.copies_on: dict[TaskId, frozenset[str]] = {}  # the processes that stand by or warm up for it

    def copy(self) -> Self:
        made = super().copy()
        made.validated_topology_epoch, made.assignment_configs = self.validated_topology_epoch, self.assignment_configs
        made.topology = self.topology
        made.active_on = dict(self.active_on)
        made.copies_on = dict(self.copies_on)
        return made

    # What it is

    @property
    def state(self) -> str:
        if not self.members:
            return EMPTY
        if self.topology is None or self.validated_topology_epoch != self.topology.epoch:
            return NOT_READY
        if self.is_target_behind:
            return ASSIGNING
        if all(member.is_reconciled_to(self.target_epoch) for member in self.members.values()):
            return STABLE_GROUP
        return RECONCILING

    def subscribed_topics(self) -> set[str]:
        """What it reads, as long as somebody is there to."""
        return set() if not self.members or self.topology is None else set(subtopology_ids_by_topic(self.topology))

    # The log

    def replay(self, key: Message, value: Message | None) -> None:
        if isinstance(key, records.StreamsGroupMetadataKey):
            metadata = required(value, records.StreamsGroupMetadataValue)
            self.epoch, self.metadata_hash = metadata.epoch, metadata.metadata_hash
            self.validated_topology_epoch = metadata.validated_topology_epoch
            self.assignment_configs = {config.key: config.value for config in metadata.last_assignment_configs or ()}
        elif isinstance(key, records.StreamsGroupTopologyKey):
            self.topology = optional(value, records.StreamsGroupTopologyValue)
        elif isinstance(key, records.StreamsGroupMemberMetadataKey):
            self._replay_member(key.member_id, optional(value, records.StreamsGroupMemberMetadataValue))
        elif isinstance(key, records.StreamsGroupTargetAssignmentMetadataKey):
            self.replay_target_epoch(optional(value, records.StreamsGroupTargetAssignmentMetadataValue))
        elif isinstance(key, records.StreamsGroupTargetAssignmentMemberKey):
            self._replay_target(key.member_id, optional(value, records.StreamsGroupTargetAssignmentMemberValue))
        elif isinstance(key, records.StreamsGroupCurrentMemberAssignmentKey):
            self._replay_assignment(key.member_id, optional(value, records.StreamsGroupCurrentMemberAssignmentValue))

    def _replay_member(self, member_id: str, value: records.StreamsGroupMemberMetadataValue | None) -> None:
        old = self.members.get(member_id)
        if old is not None:
            self._release(old)
        if value is None:
            self.members.pop(member_id, None)
            return
        endpoint = value.user_endpoint
        member = (old or StreamsMember(member_id))._replace(
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            topology_epoch=value.topology_epoch,
            process_id=value.process_id,
            user_endpoint=None if endpoint is None else Endpoint(endpoint.host, endpoint.port),
            client_tags=tuple(sorted((tag.key, tag.value) for tag in value.client_tags)),
        )
        self._hold(member)

    def _replay_target(self, member_id: str, value: records.StreamsGroupTargetAssignmentMemberValue | None) -> None:
        if value is None:
            self.target.pop(member_id, None)
            return
        self.target[member_id] = TaskSet(
            _tasks(value.active_tasks), _tasks(value.standby_tasks), _tasks(value.warmup_tasks)
        )

    def _replay_assignment(
        self, member_id: str, value: records.StreamsGroupCurrentMemberAssignmentValue | None
    ) -> None:
        old = self.members.get(member_id)
        if old is None:
            if value is None:
                return
            old = StreamsMember(member_id)
        self._release(old)
        self._hold(old.metadata() if value is None else _assigned(old, value))

    def _hold(self, member: StreamsMember) -> None:
        self.members[member.member_id] = member
        for task in member.active_held():
            self.active_on[task] = member.process_id
        for task in member.copies_held():
            self.copies_on[task] = self.copies_on.get(task, _NOBODY) | {member.process_id}

    def _release(self, member: StreamsMember) -> None:
        for task in member.active_held():
            self.active_on.pop(task, None)
        for task in member.copies_held():
            left = self.copies_on.get(task, _NOBODY) - {member.process_id}
            if left:
                self.copies_on[task] = left
            else:
                self.copies_on.pop(task, None)

    # What must hold

    def validate(self) -> None:
        """Re-derives what is kept twice, and checks G1 to G3 as the coordinator sees them, for tasks."""
        fresh = StreamsGroup(self.group_id)
        for member in self.members.values():
            fresh._hold(member)
        self._one_each((each.member_id, each.active_held()) for each in self.members.values())  # G1
        if fresh.active_on != self.active_on:
            raise BrokenRuleError(f"{self}: who runs what is wrong")
        if fresh.copies_on != self.copies_on:
            raise BrokenRuleError(f"{self}: who stands by for what is wrong")
        self.validate_epochs()
        wanted = self._one_each((member_id, each(target.active)) for member_id, target in self.target.items())  # G2
        for member in self.members.values():
            self._validate_member(member, wanted)

    def _one_each(self, parts: Iterable[tuple[str, Iterable[TaskId]]]) -> dict[TaskId, str]:
        """Who runs each task; it is run by one member only."""
        owners: dict[TaskId, str] = {}
        for member_id, tasks in parts:
            for task in tasks:
                if task in owners:
                    raise BrokenRuleError(f"{self}: {task} is for {owners[task]} and {member_id}")
                owners[task] = member_id
        return owners

    def _validate_member(self, member: StreamsMember, wanted: dict[TaskId, str]) -> None:
        has_pending = not member.pending_revocation.is_empty
        if member.state == STABLE and has_pending:
            raise BrokenRuleError(f"{self}: {member} is stable and has to give back")
        if member.epoch == self.target_epoch and not has_pending:
            for task in each(member.assigned.active):  # G3
                if wanted.get(task) != member.member_id:
                    raise BrokenRuleError(f"{self}: {member} has {task} of {wanted.get(task)}")


def _tasks(told: list[records.TaskIds]) -> dict[str, frozenset[int]]:
    return {ids.subtopology_id: frozenset(ids.partitions) for ids in told if ids.partitions}


_CurrentTaskIds = records.StreamsGroupCurrentMemberAssignmentValueTaskIds


def _assigned(old: StreamsMember, value: records.StreamsGroupCurrentMemberAssignmentValue) -> StreamsMember:
    epoch = value.member_epoch
    has = AssignedTasks(_active(value.active_tasks, epoch), _copies(value.standby_tasks), _copies(value.warmup_tasks))
    pending = AssignedTasks(
        _active(value.active_tasks_pending_revocation, epoch),
        _copies(value.standby_tasks_pending_revocation),
        _copies(value.warmup_tasks_pending_revocation),
    )
    return old._replace(
        epoch=epoch,
        previous_epoch=value.previous_member_epoch,
        state=value.state,
        assigned=NOTHING_ASSIGNED if has.is_empty else has,
        pending_revocation=NOTHING_ASSIGNED if pending.is_empty else pending,
    )


def _active(told: list[_CurrentTaskIds], member_epoch: int) -> dict[str, dict[int, int]]:
    """Releases before 4.3 wrote no epochs of tasks: then it is the member's."""
    return {
        ids.subtopology_id: dict(
            zip(ids.partitions, ids.assignment_epochs or [member_epoch] * len(ids.partitions), strict=False)
        )
        for ids in told
        if ids.partitions
    }


def _copies(told: list[_CurrentTaskIds]) -> dict[str, frozenset[int]]:
    return {ids.subtopology_id: frozenset(ids.partitions) for ids in told if ids.partitions}


class StreamsPlan(Plan[StreamsGroup]):
    __slots__ = ()
