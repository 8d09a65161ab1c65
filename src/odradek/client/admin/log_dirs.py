"""Log dirs of brokers: what lies in them, and replicas moved from one to another."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.channel.core import Destination, broker
from odradek.client.admin.asking import Asker, outcome
from odradek.client.admin.results import Results
from odradek.client.consumer.subscription import by_topic
from odradek.protocol.errors import ClusterAuthorizationFailed, KafkaError, by_code, raise_for
from odradek.protocol.messages.k34_alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from odradek.protocol.messages.k35_describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from odradek.protocol.topic_partition import TopicPartition


class TopicPartitionReplica(NamedTuple):
    topic: str
    partition: int
    broker_id: int


class ReplicaInfo(NamedTuple):
    """`offset_lag` is how far the log is behind: a replica behind the high watermark, a future one behind the replica
    whose place it will take.
    """

    size_bytes: int
    offset_lag: int
    is_future: bool


class LogDirDescription(NamedTuple):
    """`error` is why a dir cannot be used. The bytes are those of its volume; None if the broker does not tell."""

    error: KafkaError | None
    replicas: Mapping[TopicPartition, ReplicaInfo]
    total_bytes: int | None
    usable_bytes: int | None
    is_cordoned: bool


class ReplicaLogDirInfo(NamedTuple):
    """Where a replica lies, and where it is being moved to. None and -1 if it does not, or is not."""

    current_log_dir: str | None = None
    current_offset_lag: int = -1
    future_log_dir: str | None = None
    future_offset_lag: int = -1


async def describe_log_dirs(
    asker: Asker, brokers: Iterable[int], *, timeout: float | None = None
) -> Results[int, dict[str, LogDirDescription]]:
    """By broker, then by path."""

    async def attempt(some: list[int], timeout_ms: int) -> Mapping[int, dict[str, LogDirDescription] | KafkaError]:
        async def ask(where: Destination, asked: list[int]) -> dict[int, dict[str, LogDirDescription] | KafkaError]:
            found = await _described(asker, where, DescribeLogDirsRequest(topics=None), timeout_ms)
            return {number: {each.log_dir: _description(each) for each in found} for number in asked}

        return await asker.spread({number: broker(number) for number in some}, ask)

    return await asker.each(brokers, attempt, timeout=timeout)


async def describe_replica_log_dirs(
    asker: Asker, replicas: Iterable[TopicPartitionReplica], *, timeout: float | None = None
) -> Results[TopicPartitionReplica, ReplicaLogDirInfo]:
    """A replica that its broker does not have is in no dir."""

    async def attempt(
        some: list[TopicPartitionReplica], timeout_ms: int
    ) -> Mapping[TopicPartitionReplica, ReplicaLogDirInfo | KafkaError]:
        async def ask(
            where: Destination, few: list[TopicPartitionReplica]
        ) -> dict[TopicPartitionReplica, ReplicaLogDirInfo | KafkaError]:
            topics = [
                DescribableLogDirTopic(topic=name, partitions=numbers) for name, numbers in _by_topic(few).items()
            ]
            found = await _described(asker, where, DescribeLogDirsRequest(topics=topics), timeout_ms)
            return {each: _place(each, found) for each in few}

        return await asker.spread({each: broker(each.broker_id) for each in some}, ask)

    return await asker.each(replicas, attempt, timeout=timeout)


async def alter_replica_log_dirs(
    asker: Asker, assignments: Mapping[TopicPartitionReplica, str], *, timeout: float | None = None
) -> Results[TopicPartitionReplica, None]:
    """Begins to move replicas to other dirs of their brokers; `describe_replica_log_dirs` tells how far that is."""

    async def attempt(
        some: list[TopicPartitionReplica], timeout_ms: int
    ) -> Mapping[TopicPartitionReplica, KafkaError | None]:
        async def ask(
            where: Destination, few: list[TopicPartitionReplica]
        ) -> dict[TopicPartitionReplica, KafkaError | None]:
            request = AlterReplicaLogDirsRequest(dirs=_dirs({each: assignments[each] for each in few}))
            response = await asker.send(where, request, AlterReplicaLogDirsResponse, timeout_ms)
            return {
                TopicPartitionReplica(topic.topic_name, done.partition_index, where.number): outcome(
                    done.error_code, None, None
                )
                for topic in response.results
                for done in topic.partitions
            }

        return await asker.spread({each: broker(each.broker_id) for each in some}, ask)

    return await asker.each(assignments, attempt, timeout=timeout)


async def _described(
    asker: Asker, where: Destination, request: DescribeLogDirsRequest, timeout_ms: int
) -> list[DescribeLogDirsResult]:
    response = await asker.send(where, request, DescribeLogDirsResponse, timeout_ms)
    raise_for(response.error_code)
    if not response.results:  # what an old broker says to who may not ask: it has no place for an error
        raise ClusterAuthorizationFailed
    return list(response.results)


def _description(found: DescribeLogDirsResult) -> LogDirDescription:
    replicas = {
        TopicPartition(topic.name, each.partition_index): ReplicaInfo(
            each.partition_size, each.offset_lag, each.is_future_key
        )
        for topic in found.topics
        for each in topic.partitions
    }
    error = by_code(found.error_code)() if found.error_code else None
    return LogDirDescription(
        error, replicas, _if_told(found.total_bytes), _if_told(found.usable_bytes), found.is_cordoned
    )


def _if_told(size_bytes: int) -> int | None:
    return None if size_bytes < 0 else size_bytes


def _place(replica: TopicPartitionReplica, dirs: list[DescribeLogDirsResult]) -> ReplicaLogDirInfo:
    place = ReplicaLogDirInfo()
    for path, described in ((each.log_dir, _description(each)) for each in dirs):
        info = described.replicas.get(TopicPartition(replica.topic, replica.partition))
        if info is None:
            continue
        if info.is_future:
            place = place._replace(future_log_dir=path, future_offset_lag=info.offset_lag)
        else:
            place = place._replace(current_log_dir=path, current_offset_lag=info.offset_lag)
    return place


def _dirs(paths: Mapping[TopicPartitionReplica, str]) -> list[AlterReplicaLogDir]:
    by_path: dict[str, list[TopicPartitionReplica]] = {}
    for replica, path in paths.items():
        by_path.setdefault(path, []).append(replica)
    return [
        AlterReplicaLogDir(
            path=path,
            topics=[AlterReplicaLogDirTopic(name=name, partitions=each) for name, each in _by_topic(replicas).items()],
        )
        for path, replicas in by_path.items()
    ]


def _by_topic(replicas: Iterable[TopicPartitionReplica]) -> dict[str, list[int]]:
    return by_topic(TopicPartition(each.topic, each.partition) for each in replicas)
