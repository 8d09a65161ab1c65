"""CreateTopics: each topic succeeds or fails by itself, and none is ever half there.

All records of a request are one batch. Limits come before any work that grows with a number in the request.
"""

from collections import Counter
from collections.abc import Sequence

from odradek.broken_rule import instance
from odradek.config.errors import ConfigError
from odradek.config.sources import check_topic_overrides
from odradek.config.vocabulary import TOPIC
from odradek.controller.assignment import check_replicas
from odradek.controller.config_changes import MIN_INSYNC_REPLICAS
from odradek.controller.partition_shapes import (
    PartitionShape,
    assigned_shape,
    check_count,
    partition_records,
    placed_shapes,
)
from odradek.controller.state import ControllerState
from odradek.controller.topic_names import check_collision, check_name
from odradek.metadata.configs import config_record
from odradek.protocol.declare import Message, Uuid
from odradek.protocol.errors import (
    NONE,
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    KafkaError,
    PolicyViolation,
    TopicAlreadyExists,
)
from odradek.protocol.internal_topics import CLUSTER_METADATA_TOPIC
from odradek.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.protocol.messages.metadata_topics import ClearElrRecord, PartitionRecord, TopicRecord
from odradek.replicated.decision import Decision
from odradek.replicated.runtime import RECORDS_PER_APPEND_MAX

DEFAULT = -1  # as number of partitions or replicas: what the broker's config says


def create_topics(state: ControllerState, request: CreateTopicsRequest) -> Decision[CreateTopicsResponse]:
    check_count(sum(topic.num_partitions for topic in request.topics if topic.num_partitions > 0))
    named = Counter(topic.name for topic in request.topics)
    records: list[Message] = []
    results: dict[str, CreatableTopicResult] = {}
    for topic in request.topics:
        if named[topic.name] > 1:
            results[topic.name] = refused_topic(topic.name, InvalidRequest("Duplicate topic name."))
            continue
        try:
            new = _new_topic(state, topic)
        except KafkaError as error:
            results[topic.name] = refused_topic(topic.name, error)
            continue
        records += new
        if len(records) > RECORDS_PER_APPEND_MAX:
            raise PolicyViolation("Unable to perform excessively large batch operation.")
        results[topic.name] = _created(state, topic, new)
    response = CreateTopicsResponse(topics=list(results.values()))
    return Decision(state.versioned(() if request.validate_only else records), response)


def refused_topic(name: str, error: KafkaError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error.code, error_message=error.message)


def _new_topic(state: ControllerState, topic: CreatableTopic) -> list[Message]:
    if topic.name == CLUSTER_METADATA_TOPIC:
        raise InvalidRequest(f"Creation of internal topic {CLUSTER_METADATA_TOPIC} is prohibited.")
    check_name(topic.name)
    if topic.name in state.topics.by_name:
        raise TopicAlreadyExists(f"Topic '{topic.name}' already exists.")
    check_collision(state.topics, topic.name)
    configs = _checked_configs(state, topic)
    topic_id = Uuid(state.new_topic_id())
    shapes = _partitions(state, topic)
    head: list[Message] = [TopicRecord(name=topic.name, topic_id=topic_id)]
    config_records = [config_record((TOPIC, topic.name), name, value) for name, value in configs.items()]
    is_topic_first = state.release.behaviour.writes_topics_before_configs
    head = [*head, *config_records] if is_topic_first else [*config_records, *head]
    if state.features.has_eligible_leader_replicas and MIN_INSYNC_REPLICAS in configs:
        head.append(ClearElrRecord(topic_name=topic.name))
    return head + partition_records(topic_id, shapes, first=0)


def _checked_configs(state: ControllerState, topic: CreatableTopic) -> dict[str, str]:
    configs: dict[str, str] = {}
    for config in topic.configs:
        if config.value is None:
            raise InvalidConfig(f"Null value not supported for topic configs: {config.name}")
        configs[config.name] = config.value
    if configs:
        try:
            check_topic_overrides(state.configs.layers, configs)
        except ConfigError as error:
            raise InvalidConfig(str(error)) from None
    return configs


def _partitions(state: ControllerState, topic: CreatableTopic) -> Sequence[PartitionShape]:
    if topic.assignments:
        return _by_hand(state, topic)
    if topic.num_partitions < DEFAULT or topic.num_partitions == 0:
        raise InvalidPartitions("Number of partitions was set to an invalid non-positive value.")
    if topic.replication_factor < DEFAULT or topic.replication_factor == 0:
        raise InvalidReplicationFactor("Replication factor must be larger than 0, or -1 to use the default value.")
    config = state.configs.layers.config
    count = config["num.partitions"] if topic.num_partitions == DEFAULT else topic.num_partitions
    factor = config["default.replication.factor"] if topic.replication_factor == DEFAULT else topic.replication_factor
    check_count(count)
    return placed_shapes(state, count, factor)


def _by_hand(state: ControllerState, topic: CreatableTopic) -> Sequence[PartitionShape]:
    if topic.replication_factor != DEFAULT:
        raise InvalidRequest("A manual partition assignment was specified, but replication factor was not set to -1.")
    if topic.num_partitions != DEFAULT:
        raise InvalidRequest("A manual partition assignment was specified, but numPartitions was not set to -1.")
    found: dict[int, list[int]] = {}
    for item in topic.assignments:
        if item.partition_index in found:
            raise InvalidReplicaAssignment(
                f"Found multiple manual partition assignments for partition {item.partition_index}"
            )
        factor = len(next(iter(found.values()))) if found else None
        check_replicas(state.cluster, item.broker_ids, factor)
        found[item.partition_index] = item.broker_ids
    if set(found) != set(range(len(found))):
        raise InvalidReplicaAssignment("partitions should be a consecutive 0-based integer sequence")
    return [assigned_shape(state, found[index], index) for index in range(len(found))]


def _created(state: ControllerState, topic: CreatableTopic, records: list[Message]) -> CreatableTopicResult:
    head = next(record for record in records if isinstance(record, TopicRecord))
    overrides = {config.name: config.value or "" for config in topic.configs}
    last = instance(records[-1], PartitionRecord, "the records of a topic end with its partitions")
    return CreatableTopicResult(
        name=topic.name,
        topic_id=head.topic_id,
        error_code=NONE,
        error_message=None,
        num_partitions=last.partition_id + 1,
        replication_factor=len(last.replicas),
        configs=state.configs.described_topic(overrides),
    )
