"""Share groups: described, and where they begin in each partition. They are deleted as all groups are."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.channel.core import Destination
from odradek.client.admin.asking import Asker, outcome
from odradek.client.admin.cluster import operations
from odradek.client.admin.results import Results
from odradek.client.admin.routing import COORDINATOR_PASSING, at_coordinators, coordinator_of
from odradek.client.consumer.subscription import by_topic
from odradek.client.core import GROUP
from odradek.protocol.errors import KafkaError, raise_for
from odradek.protocol.messages.k77_share_group_describe import (
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from odradek.protocol.messages.k90_describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
)
from odradek.protocol.messages.k91_alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from odradek.protocol.messages.k92_delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from odradek.protocol.topic_partition import TopicPartition


class ShareMemberDescription(NamedTuple):
    member_id: str
    client_id: str
    host: str
    epoch: int
    subscription: tuple[str, ...]
    assignment: frozenset[TopicPartition]


class ShareGroupDescription(NamedTuple):
    """`coordinator` is a broker's id."""

    group_id: str
    state: str
    coordinator: int
    group_epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[ShareMemberDescription, ...]
    authorized_operations: frozenset[int] | None = None


class SharePartitionOffset(NamedTuple):
    """Where a share group begins in a partition. `lag` is None if the broker does not tell."""

    start_offset: int
    leader_epoch: int
    lag: int | None


ShareOffsets = Results[TopicPartition, SharePartitionOffset | None]


async def describe_share_groups(
    asker: Asker,
    groups: Iterable[str],
    *,
    include_authorized_operations: bool = False,
    timeout: float | None = None,
) -> Results[str, ShareGroupDescription]:
    """GroupIdNotFound for one that does not exist."""

    async def ask(
        where: Destination, some: list[str], timeout_ms: int
    ) -> dict[str, ShareGroupDescription | KafkaError]:
        request = ShareGroupDescribeRequest(group_ids=some, include_authorized_operations=include_authorized_operations)
        response = await asker.send(where, request, ShareGroupDescribeResponse, timeout_ms)
        return {
            each.group_id: outcome(each.error_code, each.error_message, _description(each, where.number))
            for each in response.groups
        }

    return await at_coordinators(asker, GROUP, groups, ask, timeout)


async def list_share_group_offsets(
    asker: Asker,
    groups: Mapping[str, Iterable[TopicPartition] | None],
    *,
    timeout: float | None = None,
) -> Results[str, ShareOffsets]:
    """By group: where it begins in these partitions, None where it does not yet; None asks for all that it has."""
    wanted = {group: None if places is None else list(places) for group, places in groups.items()}

    async def ask(where: Destination, some: list[str], timeout_ms: int) -> dict[str, ShareOffsets | KafkaError]:
        request = DescribeShareGroupOffsetsRequest(groups=[_asked(group, wanted[group]) for group in some])
        response = await asker.send(where, request, DescribeShareGroupOffsetsResponse, timeout_ms)
        return {each.group_id: outcome(each.error_code, each.error_message, _offsets(each)) for each in response.groups}

    return await at_coordinators(asker, GROUP, wanted, ask, timeout)


async def alter_share_group_offsets(
    asker: Asker, group: str, offsets: Mapping[TopicPartition, int], *, timeout: float | None = None
) -> Results[TopicPartition, None]:
    """Sets where a group begins. NonEmptyGroup if it has members; one that does not exist is made."""

    async def attempt(some: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, KafkaError | None]:
        topics = [
            AlterShareGroupOffsetsRequestTopic(
                topic_name=name,
                partitions=[
                    AlterShareGroupOffsetsRequestPartition(
                        partition_index=number, start_offset=offsets[TopicPartition(name, number)]
                    )
                    for number in numbers
                ],
            )
            for name, numbers in by_topic(some).items()
        ]
        where = await coordinator_of(asker, GROUP, group, timeout_ms)
        request = AlterShareGroupOffsetsRequest(group_id=group, topics=topics)
        response = await asker.send(where, request, AlterShareGroupOffsetsResponse, timeout_ms)
        raise_for(response.error_code, response.error_message or None)
        return {
            TopicPartition(topic.topic_name, each.partition_index): outcome(each.error_code, each.error_message, None)
            for topic in response.responses
            for each in topic.partitions
        }

    return await asker.each(offsets, attempt, timeout=timeout, passing=COORDINATOR_PASSING)


async def delete_share_group_offsets(
    asker: Asker, group: str, topics: Iterable[str], *, timeout: float | None = None
) -> Results[str, None]:
    """Has a group forget whole topics. NonEmptyGroup if it has members."""

    async def attempt(some: list[str], timeout_ms: int) -> dict[str, KafkaError | None]:
        named = [DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in some]
        where = await coordinator_of(asker, GROUP, group, timeout_ms)
        request = DeleteShareGroupOffsetsRequest(group_id=group, topics=named)
        response = await asker.send(where, request, DeleteShareGroupOffsetsResponse, timeout_ms)
        raise_for(response.error_code, response.error_message or None)
        return {each.topic_name: outcome(each.error_code, each.error_message, None) for each in response.responses}

    return await asker.each(topics, attempt, timeout=timeout, passing=COORDINATOR_PASSING)


def _description(group: DescribedGroup, coordinator: int) -> ShareGroupDescription:
    return ShareGroupDescription(
        group.group_id,
        group.group_state,
        coordinator,
        group.group_epoch,
        group.assignment_epoch,
        group.assignor_name,
        tuple(map(_member, group.members)),
        operations(group.authorized_operations),
    )


def _member(member: Member) -> ShareMemberDescription:
    assigned = member.assignment.topic_partitions
    return ShareMemberDescription(
        member.member_id,
        member.client_id,
        member.client_host,
        member.member_epoch,
        tuple(member.subscribed_topic_names),
        frozenset(TopicPartition(topic.topic_name, number) for topic in assigned for number in topic.partitions),
    )


def _asked(group: str, places: list[TopicPartition] | None) -> DescribeShareGroupOffsetsRequestGroup:
    topics = None
    if places is not None:
        topics = [
            DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=numbers)
            for name, numbers in by_topic(places).items()
        ]
    return DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=topics)


def _offsets(group: DescribeShareGroupOffsetsResponseGroup) -> ShareOffsets:
    return Results(
        {
            TopicPartition(topic.topic_name, each.partition_index): outcome(
                each.error_code, each.error_message, _offset(each)
            )
            for topic in group.topics
            for each in topic.partitions
        }
    )


def _offset(found: DescribeShareGroupOffsetsResponsePartition) -> SharePartitionOffset | None:
    if found.start_offset < 0:
        return None
    return SharePartitionOffset(found.start_offset, found.leader_epoch, None if found.lag < 0 else found.lag)
