"""Which topics there are and what partitions they have, as a program asks once."""

from odradek.channel.cluster import PartitionInfo
from odradek.channel.core import ANY_BROKER
from odradek.client.admin.asking import Asker
from odradek.protocol import errors
from odradek.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

PASSING = (errors.LeaderNotAvailable, errors.UnknownTopicOrPartition)


async def topics(
    asker: Asker, names: list[str] | None, timeout_ms: int, *, allows_creation: bool
) -> dict[str, list[PartitionInfo]]:
    """Of these topics, or of all. UnknownTopicOrPartition for one that there is not."""

    async def attempt(left_ms: int) -> dict[str, list[PartitionInfo]]:
        wanted = None if names is None else [MetadataRequestTopic(name=name) for name in names]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=allows_creation and names is not None)
        answer = await asker.send(ANY_BROKER, request, MetadataResponse, left_ms)
        if names is not None:
            for topic in answer.topics:
                errors.raise_for(topic.error_code, f"Topic {topic.name}: {errors.by_code(topic.error_code).message}")
        return {topic.name or "": _partitions(topic) for topic in answer.topics if not topic.error_code}

    return await asker.one(attempt, timeout=timeout_ms / 1000, passing=PASSING)


async def topic_id(asker: Asker, name: str, timeout_ms: int) -> bytes:
    """UnknownTopicOrPartition for one that there is not."""

    async def attempt(left_ms: int) -> bytes:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        answer = await asker.send(ANY_BROKER, request, MetadataResponse, left_ms)
        for topic in answer.topics:
            errors.raise_for(topic.error_code, f"Topic {name}: {errors.by_code(topic.error_code).message}")
        return bytes(answer.topics[0].topic_id)

    return await asker.one(attempt, timeout=timeout_ms / 1000, passing=PASSING)


def _partitions(topic: MetadataResponseTopic) -> list[PartitionInfo]:
    found = [
        PartitionInfo(
            topic.name or "",
            each.partition_index,
            each.leader_id,
            each.leader_epoch,
            tuple(each.replica_nodes),
            tuple(each.isr_nodes),
            tuple(each.offline_replicas),
        )
        for each in topic.partitions
    ]
    return sorted(found, key=lambda info: info.partition)
