"""Leaders of partitions, elected because an admin says so."""

from collections.abc import Iterable

from odradek.channel.core import THE_CONTROLLER
from odradek.client.admin.asking import Asker, outcome
from odradek.client.admin.results import Results
from odradek.client.admin.routing import CONTROLLER_PASSING
from odradek.client.consumer.subscription import by_topic
from odradek.protocol.errors import KafkaError, raise_for
from odradek.protocol.messages.k43_elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.vocabulary import ElectionType


async def elect_leaders(
    asker: Asker,
    election_type: ElectionType,
    partitions: Iterable[TopicPartition] | None = None,
    *,
    timeout: float | None = None,
) -> Results[TopicPartition, None]:
    """ElectionNotNeeded for one whose leader is right; without `partitions` all whose leader is not are elected."""

    async def attempt(some: list[TopicPartition] | None, timeout_ms: int) -> dict[TopicPartition, KafkaError | None]:
        request = ElectLeadersRequest(
            election_type=election_type, topic_partitions=_wanted(some), timeout_ms=timeout_ms
        )
        response = await asker.send(THE_CONTROLLER, request, ElectLeadersResponse, timeout_ms)
        raise_for(response.error_code)
        return {
            TopicPartition(topic.topic, each.partition_id): outcome(each.error_code, each.error_message, None)
            for topic in response.replica_election_results
            for each in topic.partition_result
        }

    if partitions is not None:
        return await asker.each(partitions, attempt, timeout=timeout, passing=CONTROLLER_PASSING)
    outcomes = await asker.one(lambda left_ms: attempt(None, left_ms), timeout=timeout, passing=CONTROLLER_PASSING)
    return Results(outcomes)


def _wanted(partitions: Iterable[TopicPartition] | None) -> list[TopicPartitions] | None:
    if partitions is None:
        return None
    return [TopicPartitions(topic=name, partitions=numbers) for name, numbers in by_topic(partitions).items()]
