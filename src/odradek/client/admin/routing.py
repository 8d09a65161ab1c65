"""Who has to be asked: the leader of a partition, the coordinator of a group or of a transactional id."""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TypeVar

from odradek.channel.core import ANY_BROKER, ByVersion, Destination, broker
from odradek.client.admin.asking import Asker, Passing
from odradek.client.admin.results import Results
from odradek.protocol import errors
from odradek.protocol.errors import KafkaError, LeaderNotAvailable, UnknownTopicOrPartition, UnsupportedVersion
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.protocol.topic_partition import TopicPartition

V = TypeVar("V")

CONTROLLER_PASSING: Passing = (errors.NotController, errors.ThrottlingQuotaExceeded)
COORDINATOR_PASSING: Passing = (
    errors.CoordinatorLoadInProgress,
    errors.CoordinatorNotAvailable,
    errors.NotCoordinator,
)
LEADER_PASSING: Passing = (errors.InvalidMetadataError,)

_SEVERAL_KEYS = 4  # the version from which on one request asks for several coordinators


async def at_leaders(
    asker: Asker,
    partitions: Iterable[TopicPartition],
    ask: Callable[
        [Destination, list[TopicPartition], int], Coroutine[object, None, Mapping[TopicPartition, V | KafkaError]]
    ],
    timeout: float | None,
) -> Results[TopicPartition, V]:
    """`ask(leader, partitions, timeout_ms)` gives the outcomes of those that it leads."""

    async def attempt(some: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, V | KafkaError]:
        places = await leaders(asker, some, timeout_ms)
        return await asker.spread(places, lambda where, few: ask(where, few, timeout_ms))

    return await asker.each(partitions, attempt, timeout=timeout, passing=LEADER_PASSING)


async def at_coordinators(
    asker: Asker,
    key_type: int,
    keys: Iterable[str],
    ask: Callable[[Destination, list[str], int], Coroutine[object, None, Mapping[str, V | KafkaError]]],
    timeout: float | None,
    passing: Passing = COORDINATOR_PASSING,
) -> Results[str, V]:
    """`ask(coordinator, keys, timeout_ms)` gives the outcomes of those that it coordinates."""

    async def attempt(some: list[str], timeout_ms: int) -> dict[str, V | KafkaError]:
        places = await coordinators(asker, key_type, some, timeout_ms)
        return await asker.spread(places, lambda where, few: ask(where, few, timeout_ms))

    return await asker.each(keys, attempt, timeout=timeout, passing=passing)


async def coordinator_of(asker: Asker, key_type: int, key: str, timeout_ms: int) -> Destination:
    found = (await coordinators(asker, key_type, [key], timeout_ms))[key]
    if isinstance(found, KafkaError):
        raise found
    return found


async def leaders(
    asker: Asker, partitions: Iterable[TopicPartition], timeout_ms: int
) -> dict[TopicPartition, Destination | KafkaError]:
    partitions = list(partitions)
    topics = [MetadataRequestTopic(name=topic) for topic in dict.fromkeys(each.topic for each in partitions)]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    response = await asker.send(ANY_BROKER, request, MetadataResponse, timeout_ms)
    failed = {topic.name: errors.by_code(topic.error_code)() for topic in response.topics if topic.error_code}
    found = {
        TopicPartition(str(topic.name), partition.partition_index): partition.leader_id
        for topic in response.topics
        for partition in topic.partitions
    }
    return {each: _leader(each, found, failed) for each in partitions}


def _leader(
    partition: TopicPartition, found: dict[TopicPartition, int], failed: dict[str | None, KafkaError]
) -> Destination | KafkaError:
    if partition.topic in failed:
        return failed[partition.topic]
    if partition not in found:
        return UnknownTopicOrPartition(f"{partition.topic} has no partition {partition.partition}.")
    node_id = found[partition]
    return LeaderNotAvailable(f"{partition} has no leader right now.") if node_id < 0 else broker(node_id)


async def coordinators(
    asker: Asker, key_type: int, keys: list[str], timeout_ms: int
) -> dict[str, Destination | KafkaError]:
    try:
        return await _coordinators(asker, key_type, keys, timeout_ms)
    except UnsupportedVersion:
        if len(keys) == 1:
            raise
    found = {}
    for key in keys:  # an old broker: one at a time
        found.update(await _coordinators(asker, key_type, [key], timeout_ms))
    return found


async def _coordinators(
    asker: Asker, key_type: int, keys: list[str], timeout_ms: int
) -> dict[str, Destination | KafkaError]:
    def request(version: int) -> FindCoordinatorRequest:
        if version >= _SEVERAL_KEYS:
            return FindCoordinatorRequest(key_type=key_type, coordinator_keys=keys)
        if len(keys) > 1:
            raise UnsupportedVersion
        return FindCoordinatorRequest(key=keys[0], key_type=key_type)

    asked = ByVersion(FindCoordinatorRequest.api_key, request)
    response = await asker.send(ANY_BROKER, asked, FindCoordinatorResponse, timeout_ms)
    if not response.coordinators:
        return {keys[0]: _coordinator(response.error_code, response.error_message, response.node_id)}
    return {
        found.key: _coordinator(found.error_code, found.error_message, found.node_id) for found in response.coordinators
    }


def _coordinator(code: int, message: str | None, node_id: int) -> Destination | KafkaError:
    return errors.by_code(code)(message or None) if code else broker(node_id)
