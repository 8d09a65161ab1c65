"""Topics: created, deleted, listed, described, given more partitions; and what lies in their partitions."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from odradek.channel.core import ANY_BROKER, THE_CONTROLLER, ByVersion, Destination
from odradek.channel.node import Node
from odradek.client.admin.asking import Asker, outcome
from odradek.client.admin.by_version import from_version
from odradek.client.admin.cluster import describe_cluster
from odradek.client.admin.results import Results
from odradek.client.admin.routing import CONTROLLER_PASSING, at_leaders
from odradek.protocol.errors import KafkaError, UnsupportedVersion, raise_for
from odradek.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.protocol.messages.k19_create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.protocol.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from odradek.protocol.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from odradek.protocol.messages.k37_create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from odradek.protocol.messages.k75_describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import format_uuid

EARLIEST, LATEST, MAX_TIMESTAMP = -2, -1, -3  # in the place of a time, for `list_offsets`

_TOPICS_AS_STATES = 6  # the version of DeleteTopics from which on topics may be named by id
_CLIENT = -1  # in the place of a replica's number
# The versions of ListOffsets that know the newest record and the ends of what is in a remote storage or is not.
_SINCE = {MAX_TIMESTAMP: 7, -4: 8, -5: 9, -6: 11}


class NewTopic(NamedTuple):
    """-1 asks for the cluster's default. `assignments`: the brokers of each partition by its number, then the two
    numbers are left out.
    """

    name: str
    partitions: int = -1
    replication: int = -1
    configs: Mapping[str, object] = {}
    assignments: Mapping[int, Sequence[int]] = {}


class TopicInfo(NamedTuple):
    """A topic that was created. `configs` is None if the caller may not describe them."""

    name: str
    topic_id: str
    partitions: int
    replication: int
    configs: Mapping[str, str | None] | None


class TopicListing(NamedTuple):
    name: str
    topic_id: str
    is_internal: bool


class PartitionDescription(NamedTuple):
    """The last two are replicas that may lead although they are not in sync; None if the broker does not tell."""

    partition: int
    leader: Node | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...]
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None


class TopicDescription(NamedTuple):
    name: str
    topic_id: str
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]


class OffsetInfo(NamedTuple):
    """-1 of each if no record has such a time."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


async def create_topics(
    asker: Asker, topics: Iterable[NewTopic | str], *, timeout: float | None = None, validate_only: bool = False
) -> Results[str, TopicInfo]:
    wanted = {topic.name: topic for topic in map(_new_topic, topics)}

    async def attempt(names: list[str], timeout_ms: int) -> dict[str, TopicInfo | KafkaError]:
        request = CreateTopicsRequest(
            topics=[_creatable(wanted[name]) for name in names], timeout_ms=timeout_ms, validate_only=validate_only
        )
        response = await asker.send(THE_CONTROLLER, request, CreateTopicsResponse, timeout_ms)
        return {made.name: outcome(made.error_code, made.error_message, _made(made)) for made in response.topics}

    return await asker.each(wanted, attempt, timeout=timeout, passing=CONTROLLER_PASSING)


async def create_topic(
    asker: Asker,
    /,
    name: str,
    partitions: int = -1,
    replication: int = -1,
    *,
    timeout: float | None = None,
    **configs: object,
) -> TopicInfo:
    """One topic; raises if it could not be created. Configs are keywords: `cleanup_policy="compact"`."""
    named = {config.replace("_", "."): value for config, value in configs.items()}
    return (await create_topics(asker, [NewTopic(name, partitions, replication, named)], timeout=timeout))[name]


async def delete_topics(asker: Asker, topics: Iterable[str], *, timeout: float | None = None) -> Results[str, None]:
    async def attempt(names: list[str], timeout_ms: int) -> dict[str, KafkaError | None]:
        def request(version: int) -> DeleteTopicsRequest:
            if version >= _TOPICS_AS_STATES:
                states = [DeleteTopicState(name=name) for name in names]
                return DeleteTopicsRequest(topics=states, timeout_ms=timeout_ms)
            return DeleteTopicsRequest(topic_names=names, timeout_ms=timeout_ms)

        asked = ByVersion(DeleteTopicsRequest.api_key, request)
        response = await asker.send(THE_CONTROLLER, asked, DeleteTopicsResponse, timeout_ms)
        return {str(gone.name): outcome(gone.error_code, gone.error_message, None) for gone in response.responses}

    return await asker.each(topics, attempt, timeout=timeout, passing=CONTROLLER_PASSING)


async def create_partitions(
    asker: Asker,
    counts: Mapping[str, int],
    *,
    assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
    timeout: float | None = None,
    validate_only: bool = False,
) -> Results[str, None]:
    """`counts` is how many partitions each topic shall have then; `assignments` are the brokers of the new ones."""
    placed = assignments or {}

    async def attempt(names: list[str], timeout_ms: int) -> dict[str, KafkaError | None]:
        wanted = [_grown(name, counts[name], placed.get(name)) for name in names]
        request = CreatePartitionsRequest(topics=wanted, timeout_ms=timeout_ms, validate_only=validate_only)
        response = await asker.send(THE_CONTROLLER, request, CreatePartitionsResponse, timeout_ms)
        return {grown.name: outcome(grown.error_code, grown.error_message, None) for grown in response.results}

    return await asker.each(counts, attempt, timeout=timeout, passing=CONTROLLER_PASSING)


async def list_topics(asker: Asker, *, internal: bool = False, timeout: float | None = None) -> dict[str, TopicListing]:
    """With `internal` those of the cluster itself, too."""
    response = await _metadata(asker, None, timeout)
    listed = [TopicListing(str(each.name), format_uuid(each.topic_id), each.is_internal) for each in response.topics]
    return {topic.name: topic for topic in listed if internal or not topic.is_internal}


async def describe_topics(
    asker: Asker, topics: Iterable[str], *, timeout: float | None = None
) -> Results[str, TopicDescription]:
    async def attempt(names: list[str], timeout_ms: int) -> dict[str, TopicDescription | KafkaError]:
        with suppress(UnsupportedVersion):  # an older broker: its metadata tell all that it knows
            return await _described(asker, names, timeout_ms)
        response = await _asked_metadata(asker, names, timeout_ms)
        nodes = {each.node_id: Node(each.node_id, each.host, each.port, each.rack) for each in response.brokers}
        return {
            str(topic.name): outcome(topic.error_code, None, _description(topic, nodes)) for topic in response.topics
        }

    return await asker.each(topics, attempt, timeout=timeout)


async def _described(asker: Asker, names: list[str], timeout_ms: int) -> dict[str, TopicDescription | KafkaError]:
    """A page at a time: a topic of many partitions goes on in the next one."""
    nodes = {node.id: node for node in (await describe_cluster(asker)).nodes}
    found: dict[str, TopicDescription | KafkaError] = {}
    cursor: Cursor | None = None
    while True:
        asked = [TopicRequest(name=name) for name in names if cursor is None or name >= cursor.topic_name]
        request = DescribeTopicPartitionsRequest(topics=asked, cursor=cursor)
        response = await asker.send(ANY_BROKER, request, DescribeTopicPartitionsResponse, timeout_ms)
        for topic in response.topics:
            _add_page(found, str(topic.name), outcome(topic.error_code, None, _description(topic, nodes)))
        if response.next_cursor is None:
            return found
        there = response.next_cursor
        cursor = Cursor(topic_name=there.topic_name, partition_index=there.partition_index)


def _add_page(found: dict[str, TopicDescription | KafkaError], name: str, page: TopicDescription | KafkaError) -> None:
    before = found.get(name)
    if isinstance(before, TopicDescription) and isinstance(page, TopicDescription):
        page = page._replace(partitions=before.partitions + page.partitions)
    found[name] = page


async def list_offsets(
    asker: Asker,
    times: Mapping[TopicPartition, int],
    *,
    committed_only: bool = False,
    timeout: float | None = None,
) -> Results[TopicPartition, OffsetInfo]:
    """The first offset at or after a time in milliseconds, or `EARLIEST`, `LATEST`, `MAX_TIMESTAMP`.

    With `committed_only` the latest is that of a reader of committed transactions.
    """

    async def ask(
        where: Destination, partitions: list[TopicPartition], timeout_ms: int
    ) -> dict[TopicPartition, OffsetInfo | KafkaError]:
        wanted: dict[str, list[ListOffsetsPartition]] = {}
        for each in partitions:
            partition = ListOffsetsPartition(partition_index=each.partition, timestamp=times[each])
            wanted.setdefault(each.topic, []).append(partition)
        request = ListOffsetsRequest(
            replica_id=_CLIENT,
            isolation_level=int(committed_only),
            topics=[ListOffsetsTopic(name=name, partitions=listed) for name, listed in wanted.items()],
            timeout_ms=timeout_ms,
        )
        since = max(_SINCE.get(times[each], 0) for each in partitions)
        asked = from_version(since, request, "listing such offsets")
        response = await asker.send(where, asked, ListOffsetsResponse, timeout_ms)
        return {
            TopicPartition(topic.name, found.partition_index): outcome(
                found.error_code, None, OffsetInfo(found.offset, found.timestamp, found.leader_epoch)
            )
            for topic in response.topics
            for found in topic.partitions
        }

    return await at_leaders(asker, times, ask, timeout)


async def delete_records(
    asker: Asker, before: Mapping[TopicPartition, int], *, timeout: float | None = None
) -> Results[TopicPartition, int]:
    """Deletes what lies before an offset, -1 for all; the offset at which each partition begins then."""

    async def ask(
        where: Destination, partitions: list[TopicPartition], timeout_ms: int
    ) -> dict[TopicPartition, int | KafkaError]:
        wanted: dict[str, list[DeleteRecordsPartition]] = {}
        for each in partitions:
            partition = DeleteRecordsPartition(partition_index=each.partition, offset=before[each])
            wanted.setdefault(each.topic, []).append(partition)
        topics = [DeleteRecordsTopic(name=name, partitions=listed) for name, listed in wanted.items()]
        request = DeleteRecordsRequest(topics=topics, timeout_ms=timeout_ms)
        response = await asker.send(where, request, DeleteRecordsResponse, timeout_ms)
        return {
            TopicPartition(topic.name, gone.partition_index): outcome(gone.error_code, None, gone.low_watermark)
            for topic in response.topics
            for gone in topic.partitions
        }

    return await at_leaders(asker, before, ask, timeout)


def _new_topic(topic: NewTopic | str) -> NewTopic:
    return NewTopic(topic) if isinstance(topic, str) else topic


def _creatable(topic: NewTopic) -> CreatableTopic:
    placed = [
        CreatableReplicaAssignment(partition_index=number, broker_ids=list(brokers))
        for number, brokers in topic.assignments.items()
    ]
    configs = [CreatableTopicConfig(name=name, value=config_text(value)) for name, value in topic.configs.items()]
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication,
        assignments=placed,
        configs=configs,
    )


def config_text(value: object) -> str | None:
    """A config's value as a broker reads it: `true`, `1000`, `a,b`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return None if value is None else str(value)


def _made(made: CreatableTopicResult) -> TopicInfo:
    configs = None if made.configs is None else {config.name: config.value for config in made.configs}
    return TopicInfo(made.name, format_uuid(made.topic_id), made.num_partitions, made.replication_factor, configs)


def _grown(name: str, count: int, placed: Sequence[Sequence[int]] | None) -> CreatePartitionsTopic:
    assignments = None if placed is None else [CreatePartitionsAssignment(broker_ids=list(each)) for each in placed]
    return CreatePartitionsTopic(name=name, count=count, assignments=assignments)


async def _metadata(asker: Asker, names: list[str] | None, timeout: float | None) -> MetadataResponse:
    return await asker.one(lambda timeout_ms: _asked_metadata(asker, names, timeout_ms), timeout=timeout)


async def _asked_metadata(asker: Asker, names: list[str] | None, timeout_ms: int) -> MetadataResponse:
    topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    response = await asker.send(ANY_BROKER, request, MetadataResponse, timeout_ms)
    raise_for(response.error_code)
    return response


def _description(
    topic: MetadataResponseTopic | DescribeTopicPartitionsResponseTopic, nodes: Mapping[int, Node]
) -> TopicDescription:
    partitions = sorted((_partition(each, nodes) for each in topic.partitions), key=lambda each: each.partition)
    return TopicDescription(str(topic.name), format_uuid(topic.topic_id), topic.is_internal, tuple(partitions))


def _partition(
    partition: MetadataResponsePartition | DescribeTopicPartitionsResponsePartition, nodes: Mapping[int, Node]
) -> PartitionDescription:
    found = PartitionDescription(
        partition.partition_index,
        nodes.get(partition.leader_id),
        partition.leader_epoch,
        tuple(partition.replica_nodes),
        tuple(partition.isr_nodes),
        tuple(partition.offline_replicas),
    )
    if isinstance(partition, MetadataResponsePartition):
        return found
    return found._replace(
        eligible_leader_replicas=tuple(partition.eligible_leader_replicas or ()),
        last_known_elr=tuple(partition.last_known_elr or ()),
    )
