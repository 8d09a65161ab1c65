"""StreamsGroupHeartbeat: a member joins, stays, takes and gives back tasks, and leaves.

What happens, in this order, each step on what the ones before have decided: the member is found and fenced if it is
not the one it says; what is new about it is written, and the topology if it is the first; the topology is held against
the topics of the cluster; the group's epoch grows if any of that, or a config, changes what there is to assign; the
target is made if it is behind; the member takes its next step towards it. What keeps a group from running is told to
its members as a status, not as an error: it goes away with the next heartbeat once the cause does.
"""

from odradek.broken_rule import present
from odradek.coordinator.core import Decided
from odradek.coordinator.group.classic.records import group_tombstone
from odradek.coordinator.group.classic.states import EMPTY
from odradek.coordinator.group.epochs.group import JOINING
from odradek.coordinator.group.epochs.members import check_size, fenced, is_previous_epoch, known_member
from odradek.coordinator.group.streams import leaving, records, requests, target
from odradek.coordinator.group.streams.configured import (
    SHUTDOWN_APPLICATION,
    STALE_TOPOLOGY,
    ConfiguredTopology,
    Status,
    configure,
)
from odradek.coordinator.group.streams.endpoints import endpoints
from odradek.coordinator.group.streams.group import NO_EPOCH, StreamsGroup, StreamsPlan
from odradek.coordinator.group.streams.groups import StreamsGroups
from odradek.coordinator.group.streams.member import Endpoint, StreamsMember
from odradek.coordinator.group.streams.reconciliation import reconcile
from odradek.coordinator.group.streams.requests import Caller
from odradek.coordinator.group.streams.response import HeartbeatResult
from odradek.coordinator.group.streams.tasks import NO_TASK_SET, Tasks, TaskSet, each, is_within
from odradek.coordinator.group.streams.topology import Topology, from_request, required_topics
from odradek.coordinator.group.streams.volatile import Volatile
from odradek.coordinator.now import Now
from odradek.protocol import errors
from odradek.protocol.messages import k88_streams_group_heartbeat as k88
from odradek.protocol.messages.k88_streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)


def heartbeat(
    groups: StreamsGroups, now: Now, request: StreamsGroupHeartbeatRequest, caller: Caller
) -> Decided[HeartbeatResult]:
    try:
        requests.check(request)
        if request.member_epoch < JOINING:
            return leaving.leave(groups, request)
        return _stay(groups, now, request, caller)
    except errors.KafkaError as error:
        return Decided(response=HeartbeatResult(refused(error), []))


def refused(error: errors.KafkaError) -> StreamsGroupHeartbeatResponse:
    has_words = not isinstance(error, errors.UnknownServerError)
    return StreamsGroupHeartbeatResponse(error_code=error.code, error_message=error.message if has_words else None)


def _stay(
    groups: StreamsGroups, now: Now, request: StreamsGroupHeartbeatRequest, caller: Caller
) -> Decided[HeartbeatResult]:
    plan = _group_of(groups, request)
    owned = requests.owned(request)
    before = _member_of(plan.group, request, owned)
    was_empty = not plan.group.members
    statuses, topology, volatile = _update(groups, plan, request, before, caller, owned)
    if was_empty:
        groups.delay(plan.group.group_id, now)
    delayed = target.make_target(groups, plan, topology, now)
    if delayed is not None:
        statuses.append(delayed)
    member = _step(groups, plan, plan.group.members[request.member_id], owned, now)
    groups.begin_session(plan.group.group_id, member.member_id, now)
    if request.shutdown_application:
        volatile.shutdown_requested_by = member.member_id
    statuses += _troubles(topology, volatile)
    response = _answer(groups, plan, request, before, member, topology, volatile)
    response.status = [k88.Status(status_code=code, status_detail=detail) for code, detail in statuses]
    return Decided(plan.records, HeartbeatResult(response, topology.missing))


def _group_of(groups: StreamsGroups, request: StreamsGroupHeartbeatRequest) -> StreamsPlan:
    """Who joins makes the group, also in place of a classic one that only keeps offsets."""
    group_id = request.group_id
    group = groups.groups.get(group_id)
    if group is not None:
        if request.member_epoch == JOINING:
            check_size(group.members, groups.config.members_max, groups.protocol)
        return StreamsPlan(group)
    classic = groups.classic.groups.get(group_id)
    is_other = groups.shard.has_group(group_id) if classic is None else classic.state != EMPTY
    if request.member_epoch != JOINING or is_other:
        raise groups.not_found(group_id)
    plan = StreamsPlan(StreamsGroup(group_id), is_new=True)
    if classic is not None and classic.is_written:
        plan.records.append(group_tombstone(group_id))
    return plan


# Which member it is


def _member_of(group: StreamsGroup, request: StreamsGroupHeartbeatRequest, owned: TaskSet | None) -> StreamsMember:
    if request.member_epoch == JOINING:
        return group.members.get(request.member_id) or StreamsMember(request.member_id)
    member = known_member(group, request.member_id)
    _check_epoch(member, request.member_epoch, owned)
    return member


def _check_epoch(member: StreamsMember, epoch: int, owned: TaskSet | None) -> None:
    """The epoch before the current one is let pass if the answer with the current one may have been lost."""
    if epoch == member.epoch:
        return
    if is_previous_epoch(member, epoch) and owned is not None and is_within(owned, member.assigned):
        return
    raise fenced(member, epoch, "streams")


def _updated(before: StreamsMember, request: StreamsGroupHeartbeatRequest, caller: Caller) -> StreamsMember:
    """Null fields have not changed since the last heartbeat."""
    timeout_ms, endpoint, tags = request.rebalance_timeout_ms, request.user_endpoint, request.client_tags
    return before._replace(
        rack_id=before.rack_id if request.rack_id is None else request.rack_id,
        client_id=caller.client_id,
        client_host=caller.client_host,
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        topology_epoch=before.topology_epoch if request.topology is None else request.topology.epoch,
        process_id=before.process_id if request.process_id is None else request.process_id,
        user_endpoint=before.user_endpoint if endpoint is None else Endpoint(endpoint.host, endpoint.port),
        client_tags=before.client_tags if tags is None else tuple(sorted((tag.key, tag.value) for tag in tags)),
    )


# What there is to assign


def _update(
    groups: StreamsGroups,
    plan: StreamsPlan,
    request: StreamsGroupHeartbeatRequest,
    before: StreamsMember,
    caller: Caller,
    owned: TaskSet | None,
) -> tuple[list[Status], ConfiguredTopology, Volatile]:
    """The member, the topology, its topics, the configs: the group's epoch grows if one of them is another."""
    group_id = plan.group.group_id
    member = _updated(before, request, caller)
    has_changed = member.member_id not in plan.group.members or member != before
    if has_changed:
        plan.write(records.member(group_id, member))
    topology = _topology_of(plan, request)
    statuses = _stale(topology, member)
    volatile = Volatile() if plan.is_new else groups.volatile(group_id)
    metadata_hash = _look_at_topics(groups, plan.group, topology, volatile)
    configured = present(volatile.configured, "who looks at its topics configures the topology")
    if configured.is_ready and owned is not None:
        for tasks in owned:
            _check_tasks(configured, tasks)
    validated_epoch = topology.epoch if configured.is_ready else NO_EPOCH
    configs = groups.config.assignment_configs(groups.topics.configs_of(group_id))
    found = (metadata_hash, validated_epoch, configs)
    known = (plan.group.metadata_hash, plan.group.validated_topology_epoch, plan.group.assignment_configs)
    if has_changed or found != known:
        target.bump_epoch(groups, plan, *found)
    return statuses, configured, volatile


def _topology_of(plan: StreamsPlan, request: StreamsGroupHeartbeatRequest) -> Topology:
    """The group's: the first member brings it, and every other must bring the same or an older one."""
    current = plan.group.topology
    if request.topology is None:
        if current is None:
            raise errors.UnknownServerError()  # compacted away: nothing of the group makes sense without
        return current
    told = from_request(request.topology)
    if current is None:
        plan.write(records.topology(plan.group.group_id, told))
        return told
    if told.epoch >= current.epoch and told != current:
        raise errors.InvalidRequest("Topology updates are not supported yet.")
    return current


def _stale(topology: Topology, member: StreamsMember) -> list[Status]:
    if member.topology_epoch >= topology.epoch:
        return []
    behind = f"The member's topology epoch {member.topology_epoch} is behind the group's topology epoch"
    return [(STALE_TOPOLOGY, f"{behind} {topology.epoch}.")]


def _look_at_topics(groups: StreamsGroups, group: StreamsGroup, topology: Topology, volatile: Volatile) -> int:
    """The hash of the group's topics; if it is another the topology is configured anew."""
    if volatile.configured is not None and volatile.seen_version == groups.topics.version:
        return group.metadata_hash
    metadata_hash = groups.topics.hash_of(required_topics(topology))
    if volatile.configured is None or metadata_hash != group.metadata_hash:
        volatile.configured = configure(topology, groups.topics)
    else:
        volatile.seen_version = groups.topics.version  # only once the record with this hash is replayed
    return metadata_hash


def _check_tasks(topology: ConfiguredTopology, owned: Tasks) -> None:
    for subtopology_id, partition in each(owned):
        configured = topology.subtopologies.get(subtopology_id)
        if configured is None:
            raise errors.InvalidRequest(f"Subtopology {subtopology_id} does not exist in the topology.")
        if not 0 <= partition < configured.task_count:
            raise errors.InvalidRequest(
                f"Task {partition} for subtopology {subtopology_id} is invalid. "
                f"Number of tasks for this subtopology: {configured.task_count}"
            )


def _step(
    groups: StreamsGroups, plan: StreamsPlan, member: StreamsMember, owned: TaskSet | None, now: Now
) -> StreamsMember:
    """Towards the target; the member after it. Before a first target there is nothing to take."""
    group = plan.group
    is_delayed = groups.is_delayed(group.group_id)
    wanted = NO_TASK_SET if is_delayed else group.target.get(member.member_id, NO_TASK_SET)
    after = reconcile(group, member, group.target_epoch, wanted, owned)
    if after is not member:
        plan.write(records.assignment(group.group_id, after))
        groups.time_revocation(group.group_id, after, now)
    return after


# The answer


def _troubles(topology: ConfiguredTopology, volatile: Volatile) -> list[Status]:
    told = [] if topology.problem is None else [topology.problem]
    who = volatile.shutdown_requested_by
    if who is not None:
        told.append(
            (
                SHUTDOWN_APPLICATION,
                f"Streams group member {who} encountered a fatal error and requested a shutdown for the entire "
                "application.",
            )
        )
    return told


def _answer(
    groups: StreamsGroups,
    plan: StreamsPlan,
    request: StreamsGroupHeartbeatRequest,
    before: StreamsMember,
    member: StreamsMember,
    topology: ConfiguredTopology,
    volatile: Volatile,
) -> StreamsGroupHeartbeatResponse:
    response = StreamsGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=groups.config.heartbeat_interval_ms(groups.topics.configs_of(request.group_id)),
    )
    has = member.assigned.ids()
    if request.member_epoch == JOINING or has != before.assigned.ids():
        response.active_tasks, response.standby_tasks, response.warmup_tasks = (_told(tasks) for tasks in has)
        if member.user_endpoint is not None:
            volatile.endpoint_epoch += 1
    if volatile.endpoint_epoch != request.endpoint_information_epoch:
        response.partitions_by_user_endpoint = endpoints(plan.group, member, topology, groups.topics)
    response.endpoint_information_epoch = 0 if plan.is_new else volatile.endpoint_epoch
    return response


def _told(tasks: Tasks) -> list[k88.StreamsGroupHeartbeatResponseTaskIds]:
    return [
        k88.StreamsGroupHeartbeatResponseTaskIds(subtopology_id=name, partitions=sorted(tasks[name]))
        for name in sorted(tasks)
    ]
