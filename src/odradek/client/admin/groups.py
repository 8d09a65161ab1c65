"""Groups of consumers: listed, described, their members removed, and the groups themselves deleted.

A group is of the classic protocol or of the newer one (KIP-848). Who describes it need not know which: the newer
request is asked first, and what it does not know is asked with the older one.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from odradek.channel.core import Destination, broker
from odradek.client.admin.asking import Asker, outcome
from odradek.client.admin.cluster import describe_cluster, operations
from odradek.client.admin.results import Results
from odradek.client.admin.routing import COORDINATOR_PASSING, at_coordinators, coordinator_of
from odradek.client.consumer.subscription import decode_assignment
from odradek.client.core import GROUP
from odradek.protocol.errors import (
    GroupIdNotFound,
    KafkaError,
    PeerProtocolError,
    UnknownMemberId,
    UnsupportedVersion,
    by_code,
    raise_for,
)
from odradek.protocol.messages.k13_leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from odradek.protocol.messages.k15_describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from odradek.protocol.messages.k16_list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from odradek.protocol.messages.k42_delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from odradek.protocol.messages.k69_consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    Member,
)
from odradek.protocol.messages.k69_consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from odradek.protocol.topic_partition import TopicPartition

CLASSIC, CONSUMER = "classic", "consumer"

_CONSUMER_PROTOCOL = "consumer"  # the protocol type of classic groups that consumers form
_DEAD = "Dead"


class GroupListing(NamedTuple):
    """`kind` is Kafka's word for the type of the group, `classic` or `consumer` among others; both it and the state are
    empty where a broker is too old to tell.
    """

    group_id: str
    protocol_type: str
    state: str
    kind: str


class MemberDescription(NamedTuple):
    """`target` is what the member is to have, where the group's protocol tells; `epoch` is -1 where it has none."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: frozenset[TopicPartition]
    target: frozenset[TopicPartition] | None = None
    epoch: int = -1


class GroupDescription(NamedTuple):
    """The epochs are those of groups of the newer protocol; classic groups have none."""

    group_id: str
    kind: str
    state: str
    protocol_type: str
    assignor: str
    coordinator: int
    members: tuple[MemberDescription, ...]
    authorized_operations: frozenset[int] | None = None
    group_epoch: int | None = None
    assignment_epoch: int | None = None


class MemberToRemove(NamedTuple):
    """A static member by its `group.instance.id`, or any by its member id."""

    instance_id: str | None = None
    member_id: str = ""


async def list_groups(
    asker: Asker,
    *,
    states: Sequence[str] = (),
    kinds: Sequence[str] = (),
    timeout: float | None = None,
) -> dict[str, GroupListing]:
    """The groups of all brokers. Raises if one of them cannot be asked: a list with a hole looks like one without."""
    cluster = await describe_cluster(asker, timeout=timeout)
    request = ListGroupsRequest(states_filter=list(states), types_filter=list(kinds))

    async def attempt(nodes: list[int], timeout_ms: int) -> dict[int, list[ListedGroup] | KafkaError]:
        async def ask(where: Destination, some: list[int]) -> dict[int, list[ListedGroup] | KafkaError]:
            response = await asker.send(where, request, ListGroupsResponse, timeout_ms)
            return dict.fromkeys(some, outcome(response.error_code, None, response.groups))

        return await asker.spread({node: broker(node) for node in nodes}, ask)

    found = await asker.each([node.id for node in cluster.nodes], attempt, timeout=timeout, passing=COORDINATOR_PASSING)
    listed = [_listing(group) for node in found for group in found[node]]
    return {group.group_id: group for group in sorted(listed)}


async def describe_groups(
    asker: Asker,
    groups: Iterable[str],
    *,
    include_authorized_operations: bool = False,
    timeout: float | None = None,
) -> Results[str, GroupDescription]:
    """Groups that consumers form, of either protocol. GroupIdNotFound for one that does not exist."""

    async def newer(where: Destination, some: list[str], timeout_ms: int) -> dict[str, GroupDescription | KafkaError]:
        request = ConsumerGroupDescribeRequest(
            group_ids=some, include_authorized_operations=include_authorized_operations
        )
        response = await asker.send(where, request, ConsumerGroupDescribeResponse, timeout_ms)
        return {
            each.group_id: outcome(each.error_code, each.error_message, _consumer_group(each, where.number))
            for each in response.groups
        }

    async def older(where: Destination, some: list[str], timeout_ms: int) -> dict[str, GroupDescription | KafkaError]:
        request = DescribeGroupsRequest(groups=some, include_authorized_operations=include_authorized_operations)
        response = await asker.send(where, request, DescribeGroupsResponse, timeout_ms)
        return {each.group_id: _classic_outcome(each, where.number) for each in response.groups}

    async def ask(where: Destination, some: list[str], timeout_ms: int) -> dict[str, GroupDescription | KafkaError]:
        found: dict[str, GroupDescription | KafkaError] = {}
        with suppress(UnsupportedVersion):  # the broker has classic groups alone
            found = await newer(where, some, timeout_ms)
        missing = (GroupIdNotFound, UnsupportedVersion)
        others = [group for group in some if group not in found or isinstance(found[group], missing)]
        if others:
            older_ones = await older(where, others, timeout_ms)
            found = older_ones | {name: each for name, each in found.items() if _says_more(each, older_ones.get(name))}
        return found

    return await at_coordinators(asker, GROUP, groups, ask, timeout)


async def delete_groups(asker: Asker, groups: Iterable[str], *, timeout: float | None = None) -> Results[str, None]:
    """With their offsets; NonEmptyGroup for one that has members."""

    async def ask(where: Destination, some: list[str], timeout_ms: int) -> dict[str, KafkaError | None]:
        response = await asker.send(where, DeleteGroupsRequest(groups_names=some), DeleteGroupsResponse, timeout_ms)
        return {each.group_id: outcome(each.error_code, None, None) for each in response.results}

    return await at_coordinators(asker, GROUP, groups, ask, timeout)


async def remove_members_from_group(
    asker: Asker,
    group: str,
    members: Iterable[MemberToRemove] | None = None,
    *,
    reason: str | None = None,
    timeout: float | None = None,
) -> Results[MemberToRemove, None]:
    """Members of a classic group, all of them if none is named."""
    if members is None:
        described = (await describe_groups(asker, [group], timeout=timeout))[group]
        members = [_to_remove(member) for member in described.members]
    wanted = list(members)

    async def attempt(some: list[MemberToRemove], timeout_ms: int) -> dict[MemberToRemove, KafkaError | None]:
        where = await coordinator_of(asker, GROUP, group, timeout_ms)
        leaving = [
            MemberIdentity(member_id=each.member_id, group_instance_id=each.instance_id, reason=reason) for each in some
        ]
        request = LeaveGroupRequest(group_id=group, members=leaving)
        response = await asker.send(where, request, LeaveGroupResponse, timeout_ms)
        raise_for(response.error_code)
        left = {(each.group_instance_id, each.member_id): each.error_code for each in response.members}
        return {each: outcome(_code_of(each, left), None, None) for each in some}

    return await asker.each(wanted, attempt, timeout=timeout, passing=COORDINATOR_PASSING)


def _says_more(newer: object, older: object) -> bool:
    """Whether what the newer request was answered counts: unless the older one has found the group."""
    if isinstance(newer, UnsupportedVersion):
        return False
    return older is None or (isinstance(newer, GroupIdNotFound) and isinstance(older, GroupIdNotFound))


def _listing(group: ListedGroup) -> GroupListing:
    return GroupListing(group.group_id, group.protocol_type, group.group_state, group.group_type.lower())


def _classic_outcome(group: DescribedGroup, coordinator: int) -> GroupDescription | KafkaError:
    if group.error_code:
        return by_code(group.error_code)(group.error_message or None)
    if group.group_state == _DEAD:  # what brokers say of a group that they do not have, before they had an error for it
        return GroupIdNotFound(f"Group {group.group_id} not found.")
    is_consumers = group.protocol_type in (_CONSUMER_PROTOCOL, "")
    return GroupDescription(
        group.group_id,
        CLASSIC,
        group.group_state,
        group.protocol_type,
        group.protocol_data,
        coordinator,
        tuple(_classic_member(member, is_consumers) for member in group.members),
        operations(group.authorized_operations),
    )


def _classic_member(member: DescribedGroupMember, is_consumer: bool) -> MemberDescription:
    """What other programs than consumers have agreed on in a group nobody else can read."""
    assignment: frozenset[TopicPartition] = frozenset()
    if is_consumer:
        with suppress(PeerProtocolError):
            assignment = frozenset(decode_assignment(bytes(member.member_assignment)))
    return MemberDescription(
        member.member_id, member.group_instance_id, member.client_id, member.client_host, assignment
    )


def _consumer_group(group: DescribedConsumerGroup, coordinator: int) -> GroupDescription:
    return GroupDescription(
        group.group_id,
        CONSUMER,
        group.group_state,
        _CONSUMER_PROTOCOL,
        group.assignor_name,
        coordinator,
        tuple(_consumer_member(member) for member in group.members),
        operations(group.authorized_operations),
        group.group_epoch,
        group.assignment_epoch,
    )


def _consumer_member(member: Member) -> MemberDescription:
    return MemberDescription(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        _partitions(member.assignment),
        _partitions(member.target_assignment),
        member.member_epoch,
    )


def _partitions(assignment: Assignment) -> frozenset[TopicPartition]:
    return frozenset(
        TopicPartition(topic.topic_name, number) for topic in assignment.topic_partitions for number in topic.partitions
    )


def _to_remove(member: MemberDescription) -> MemberToRemove:
    if member.instance_id is not None:
        return MemberToRemove(instance_id=member.instance_id)
    return MemberToRemove(member_id=member.member_id)


def _code_of(member: MemberToRemove, left: dict[tuple[str | None, str], int]) -> int:
    """A static member is answered with its member id, which need not have been asked for."""
    exact = left.get((member.instance_id, member.member_id))
    if exact is not None:
        return exact
    return next(
        (code for (instance_id, _), code in left.items() if instance_id == member.instance_id), UnknownMemberId.code
    )
