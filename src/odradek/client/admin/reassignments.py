"""Replicas of partitions moved to other brokers, and the moves that are under way."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from odradek.channel.core import THE_CONTROLLER
from odradek.client.admin.asking import Asker, outcome
from odradek.client.admin.by_version import from_version
from odradek.client.admin.results import Results
from odradek.client.admin.routing import CONTROLLER_PASSING
from odradek.client.consumer.subscription import by_topic
from odradek.protocol.errors import KafkaError, raise_for
from odradek.protocol.messages.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.protocol.messages.k46_list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)
from odradek.protocol.topic_partition import TopicPartition

_KEEPS_COUNT_FROM = 1  # the version that may forbid another number of replicas


class PartitionReassignment(NamedTuple):
    """A move that is under way: `replicas` are all that the partition has, with those that come and those that go."""

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


async def alter_partition_reassignments(
    asker: Asker,
    reassignments: Mapping[TopicPartition, Sequence[int] | None],
    *,
    allow_replication_factor_change: bool = True,
    timeout: float | None = None,
) -> Results[TopicPartition, None]:
    """Begins to move partitions to these brokers; None cancels a move. `list_partition_reassignments` tells the end."""

    async def attempt(some: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, KafkaError | None]:
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=timeout_ms,
            allow_replication_factor_change=allow_replication_factor_change,
            topics=_topics({each: reassignments[each] for each in some}),
        )
        asked = from_version(
            0 if allow_replication_factor_change else _KEEPS_COUNT_FROM, request, "refusing another number of replicas"
        )
        response = await asker.send(THE_CONTROLLER, asked, AlterPartitionReassignmentsResponse, timeout_ms)
        raise_for(response.error_code, response.error_message or None)
        return {
            TopicPartition(topic.name, each.partition_index): outcome(each.error_code, each.error_message, None)
            for topic in response.responses
            for each in topic.partitions
        }

    return await asker.each(reassignments, attempt, timeout=timeout, passing=CONTROLLER_PASSING)


async def list_partition_reassignments(
    asker: Asker, partitions: Iterable[TopicPartition] | None = None, *, timeout: float | None = None
) -> dict[TopicPartition, PartitionReassignment]:
    """Of these partitions or of all. One that does not move is left out."""
    wanted = None
    if partitions is not None:
        wanted = [
            ListPartitionReassignmentsTopics(name=name, partition_indexes=numbers)
            for name, numbers in by_topic(partitions).items()
        ]

    async def attempt(timeout_ms: int) -> dict[TopicPartition, PartitionReassignment]:
        request = ListPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=wanted)
        response = await asker.send(THE_CONTROLLER, request, ListPartitionReassignmentsResponse, timeout_ms)
        raise_for(response.error_code, response.error_message or None)
        return {
            TopicPartition(topic.name, each.partition_index): PartitionReassignment(
                tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
            )
            for topic in response.topics
            for each in topic.partitions
        }

    return await asker.one(attempt, timeout=timeout, passing=CONTROLLER_PASSING)


def _topics(reassignments: Mapping[TopicPartition, Sequence[int] | None]) -> list[ReassignableTopic]:
    topics: dict[str, list[ReassignablePartition]] = {}
    for place, brokers in reassignments.items():
        replicas = None if brokers is None else list(brokers)
        partition = ReassignablePartition(partition_index=place.partition, replicas=replicas)
        topics.setdefault(place.topic, []).append(partition)
    return [ReassignableTopic(name=name, partitions=partitions) for name, partitions in topics.items()]
