"""CreatePartitions: more partitions for topics that are there. Each topic gets all that it asks for, or an error.

All records of a request are one batch. Limits come before any work that grows with a number in the request.
"""

from collections import Counter
from collections.abc import Sequence

from odradek.controller.assignment import check_replicas
from odradek.controller.partition_shapes import (
    PartitionShape,
    assigned_shape,
    check_count,
    partition_records,
    placed_shapes,
)
from odradek.controller.state import ControllerState
from odradek.controller.topics import Topic
from odradek.protocol.declare import Message, Uuid
from odradek.protocol.errors import (
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidRequest,
    KafkaError,
    PolicyViolation,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.k37_create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from odradek.replicated.decision import Decision
from odradek.replicated.runtime import RECORDS_PER_APPEND_MAX


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
    if more == 0:
        raise InvalidPartitions(f"Topic already has {current} partition(s).")
    if more < 0:
        raise InvalidPartitions(
            f"The topic {topic.name} currently has {current} partition(s); {wanted.count} would not be an increase."
        )
    if wanted.assignments is not None and len(wanted.assignments) != more:
        raise InvalidReplicaAssignment(
            f"Attempted to add {more} additional partition(s), but only {len(wanted.assignments)} assignment(s) were"
            " specified."
        )
    check_count(more)
    return partition_records(Uuid(topic.id), _more(state, topic, wanted, more), first=current)


def _more(state: ControllerState, topic: Topic, wanted: CreatePartitionsTopic, more: int) -> Sequence[PartitionShape]:
    factor = len(topic.partitions[0].replicas)
    current = len(topic.partitions)
    if wanted.assignments is None:
        return placed_shapes(state, more, factor, first=current)
    shapes = []
    for number, item in enumerate(wanted.assignments):
        check_replicas(state.cluster, item.broker_ids, factor)
        shapes.append(assigned_shape(state, item.broker_ids, current + number))
    return shapes
