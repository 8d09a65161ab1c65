"""CreateTopics and CreatePartitions: each topic succeeds or fails by itself, and none is ever half there.

All records of a request are one batch. Limits come before any work that grows with a number in the request.
"""

from collections import Counter
from collections.abc import Sequence

from odradek.config.errors import ConfigError
from odradek.config.sources import check_topic_overrides
from odradek.controller.assignment import check_replicas
from odradek.controller.config_changes import MIN_INSYNC_REPLICAS
from odradek.controller.placement import place
from odradek.controller.state import ControllerState
from odradek.controller.topic_names import check_collision, check_name
from odradek.controller.topics import Topic
from odradek.metadata.configs import TOPIC, config_record
from odradek.metadata.partition import NO_LEADER
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
    UnknownTopicOrPartition,
)
from odradek.protocol.internal_topics import CLUSTER_METADATA_TOPIC
from odradek.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.protocol.messages.k37_create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from odradek.protocol.messages.metadata_topics import ClearElrRecord, PartitionRecord, TopicRecord
from odradek.replicated.decision import Decision
from odradek.replicated.runtime import RECORDS_PER_APPEND_MAX

_NOBODY: list[int] = []
DEFAULT = -1  # as number of partitions or replicas: what the broker's config says


def create_topics(state: ControllerState, request: CreateTopicsRequest) -> Decision[CreateTopicsResponse]:
    _check_size(sum(topic.num_partitions for topic in request.topics if topic.num_partitions > 0))
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


def _check_size(partitions: int) -> None:
    if partitions > RECORDS_PER_APPEND_MAX:
        raise PolicyViolation("Excessively large number of partitions per request.")


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
    return head + _partition_records(topic_id, shapes, first=0)


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


def _partitions(state: ControllerState, topic: CreatableTopic) -> Sequence["Shape"]:
    if topic.assignments:
        return _by_hand(state, topic)
    if topic.num_partitions < DEFAULT or topic.num_partitions == 0:
        raise InvalidPartitions("Number of partitions was set to an invalid non-positive value.")
    if topic.replication_factor < DEFAULT or topic.replication_factor == 0:
        raise InvalidReplicationFactor("Replication factor must be larger than 0, or -1 to use the default value.")
    config = state.configs.layers.config
    count = config["num.partitions"] if topic.num_partitions == DEFAULT else topic.num_partitions
    factor = config["default.replication.factor"] if topic.replication_factor == DEFAULT else topic.replication_factor
    _check_size(count)
    return _shapes(state, _place(state, count, factor))


def _place(state: ControllerState, count: int, factor: int, first: int = 0) -> list[list[int]]:
    try:
        return place(state.cluster.hosts(), count, factor, state.stream, first)
    except InvalidReplicationFactor as error:
        knows_cordoned = state.release.behaviour.knows_cordoned_dirs
        cordoned = " or some brokers have all their log directories cordoned" if knows_cordoned else ""
        reason = error.message if error.message.endswith(".") else f"{error.message}{cordoned}."
        raise InvalidReplicationFactor(f"Unable to replicate the partition {factor} time(s): {reason}") from None


def _by_hand(state: ControllerState, topic: CreatableTopic) -> Sequence["Shape"]:
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
    return [_assigned(state, found[index], index) for index in range(len(found))]


def _assigned(state: ControllerState, replicas: list[int], index: int) -> "Shape":
    shape = Shape(state, replicas)
    if not shape.isr:
        raise InvalidReplicaAssignment(
            f"All brokers specified in the manual partition assignment for partition {index} are fenced or in"
            " controlled shutdown."
        )
    return shape


class Shape:
    """What a new partition looks like: everybody who is up is in sync, and the first of them leads.

    Partitions with the same replicas share it, and its lists: a topic has many, and most are alike.
    """

    __slots__ = ("directories", "isr", "leader", "replicas")

    def __init__(self, state: ControllerState, replicas: list[int]) -> None:
        self.replicas = replicas
        self.isr = [replica for replica in replicas if state.cluster.is_active(replica)]
        self.leader = self.isr[0] if self.isr else NO_LEADER
        self.directories: list[Uuid] | None = None
        if state.has_directories:
            self.directories = [Uuid(state.cluster.default_directory(replica)) for replica in replicas]

    def to_record(self, topic_id: Uuid, index: int) -> PartitionRecord:
        record = PartitionRecord()
        record.partition_id = index
        record.topic_id = topic_id
        record.replicas = self.replicas
        record.isr = self.isr
        record.removing_replicas = record.adding_replicas = _NOBODY
        record.leader = self.leader
        record.leader_epoch = record.partition_epoch = 0
        if self.directories is not None:
            record.directories = self.directories
        return record


def _shapes(state: ControllerState, placed: list[list[int]]) -> list["Shape"]:
    known: dict[tuple[int, ...], Shape] = {}
    shapes = []
    for replicas in placed:
        key = tuple(replicas)
        shape = known.get(key)
        if shape is None:
            shape = known[key] = Shape(state, replicas)
        shapes.append(shape)
    return shapes


def _partition_records(topic_id: Uuid, shapes: Sequence["Shape"], first: int) -> list[Message]:
    return [shape.to_record(topic_id, index) for index, shape in enumerate(shapes, first)]


def _created(state: ControllerState, topic: CreatableTopic, records: list[Message]) -> CreatableTopicResult:
    head = next(record for record in records if isinstance(record, TopicRecord))
    overrides = {config.name: config.value or "" for config in topic.configs}
    last = records[-1]  # of the partitions
    return CreatableTopicResult(
        name=topic.name,
        topic_id=head.topic_id,
        error_code=NONE,
        error_message=None,
        num_partitions=last.partition_id + 1,
        replication_factor=len(last.replicas),
        configs=state.configs.described_topic(overrides),
    )


# More partitions for a topic that is there


def create_partitions(state: ControllerState, request: CreatePartitionsRequest) -> Decision[CreatePartitionsResponse]:
    named = Counter(topic.name for topic in request.topics)
    records: list[Message] = []
    results: dict[str, CreatePartitionsTopicResult] = {}
    for topic in request.topics:
        error: KafkaError | None = None
        try:
            if named[topic.name] > 1:
                raise InvalidRequest("Duplicate topic name.")
            records += _grown(state, topic)
        except KafkaError as refusal:
            error = refusal
        results[topic.name] = grown_result(topic.name, error)
    if len(records) > RECORDS_PER_APPEND_MAX:
        raise PolicyViolation("Unable to perform excessively large batch operation.")
    response = CreatePartitionsResponse(results=list(results.values()))
    return Decision(state.versioned(() if request.validate_only else records), response)


def grown_result(name: str, error: KafkaError | None) -> CreatePartitionsTopicResult:
    if error is None:
        return CreatePartitionsTopicResult(name=name)
    message = None if isinstance(error, UnknownTopicOrPartition) else error.message
    return CreatePartitionsTopicResult(name=name, error_code=error.code, error_message=message)


def _grown(state: ControllerState, wanted: CreatePartitionsTopic) -> list[Message]:
    topic = state.topics.by_name.get(wanted.name)
    if topic is None:
        raise UnknownTopicOrPartition()
    current = len(topic.partitions)
    more = wanted.count - current
    if more <= 0:
        raise InvalidPartitions(
            f"The topic {topic.name} currently has {current} partition(s); {wanted.count} would not be an increase."
        )
    if wanted.assignments is not None and len(wanted.assignments) != more:
        raise InvalidReplicaAssignment(
            f"Attempted to add {more} additional partition(s), but only {len(wanted.assignments)} assignment(s) were"
            " specified."
        )
    _check_size(more)
    return _partition_records(Uuid(topic.id), _more(state, topic, wanted, more), first=current)


def _more(state: ControllerState, topic: Topic, wanted: CreatePartitionsTopic, more: int) -> Sequence["Shape"]:
    factor = len(topic.partitions[0].replicas)
    current = len(topic.partitions)
    if wanted.assignments is None:
        return _shapes(state, _place(state, more, factor, first=current))
    shapes = []
    for number, item in enumerate(wanted.assignments):
        check_replicas(state.cluster, item.broker_ids, factor)
        shapes.append(_assigned(state, item.broker_ids, current + number))
    return shapes
