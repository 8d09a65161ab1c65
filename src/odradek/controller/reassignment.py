"""Replicas move to other brokers (KIP-455).

While a partition moves it has the replicas of both assignments, the new ones first; `adding` and `removing` tell
the two apart. When all new ones are in sync the old ones go: see `change.py`. To cancel is to go back to the replicas
that are not being added, which must leave somebody in sync.
"""

from odradek.controller.assignment import check_replicas
from odradek.controller.change import UNCLEAN, Change
from odradek.controller.state import ControllerState
from odradek.controller.topics import Topic
from odradek.metadata.partition import Ids, PartitionRegistration
from odradek.protocol.errors import (
    NONE,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    KafkaError,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from odradek.protocol.messages.k46_list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from odradek.protocol.messages.metadata_topics import PartitionChangeRecord
from odradek.replicated.decision import Decision, answer


def alter(
    state: ControllerState, request: AlterPartitionReassignmentsRequest
) -> Decision[AlterPartitionReassignmentsResponse]:
    records: list[PartitionChangeRecord] = []
    may_resize = request.allow_replication_factor_change
    responses = []
    for topic in request.topics:
        seen: set[int] = set()
        results = [_alter(state, topic.name, item, records, seen, may_resize=may_resize) for item in topic.partitions]
        responses.append(ReassignableTopicResponse(name=topic.name, partitions=results))
    response = AlterPartitionReassignmentsResponse(
        error_message=None, responses=responses, allow_replication_factor_change=may_resize
    )
    return Decision(state.versioned(records), response, is_atomic=False)


def _alter(
    state: ControllerState,
    name: str,
    item: ReassignablePartition,
    records: list[PartitionChangeRecord],
    seen: set[int],
    *,
    may_resize: bool,
) -> ReassignablePartitionResponse:
    try:
        topic, partition = _found(state, name, item.partition_index)
        if item.partition_index in seen:
            raise InvalidReplicaAssignment(f"Partition {item.partition_index} appears twice in the request.")
        seen.add(item.partition_index)
        if item.replicas is None:
            record = _cancelled(state, topic, item.partition_index, partition)
        else:
            record = _moved(state, topic, item, partition, may_resize=may_resize)
    except KafkaError as error:
        # Kafka has no words for this one
        message = None if isinstance(error, NoReassignmentInProgress) else error.message
        return ReassignablePartitionResponse(
            partition_index=item.partition_index, error_code=error.code, error_message=message
        )
    if record is not None:
        records.append(record)
    return ReassignablePartitionResponse(partition_index=item.partition_index, error_code=NONE, error_message=None)


def _found(state: ControllerState, name: str, index: int) -> tuple[Topic, PartitionRegistration]:
    topic = state.topics.by_name.get(name)
    if topic is None:
        raise UnknownTopicOrPartition(f"Unable to find a topic named {name}.")
    partition = topic.partitions.get(index)
    if partition is None:
        raise UnknownTopicOrPartition(f"Unable to find partition {name}:{index}.")
    return topic, partition


def _moved(
    state: ControllerState,
    topic: Topic,
    item: ReassignablePartition,
    partition: PartitionRegistration,
    *,
    may_resize: bool,
) -> PartitionChangeRecord | None:
    target: Ids = tuple(item.replicas or ())
    check_replicas(state.cluster, target)
    current = tuple(replica for replica in partition.replicas if replica not in partition.adding)
    if not may_resize and len(target) != len(current):
        raise InvalidReplicationFactor(
            f"The replication factor is changed from {len(current)} to {len(target)} for partition"
            f" {topic.name}-{item.partition_index}, which the request does not allow."
        )
    change = _change(state, topic, partition)
    change.adding = tuple(replica for replica in target if replica not in current)
    change.removing = tuple(replica for replica in current if replica not in target)
    # of an earlier move that is given up: what it added and nobody wants any more goes at once
    change.replicas = (*target, *change.removing)
    kept = tuple(replica for replica in partition.isr if replica in change.replicas)
    if not kept:
        raise InvalidReplicaAssignment(_would_be_unclean(topic, item.partition_index))
    change.isr = kept
    for replica in change.replicas:
        if replica not in partition.replicas:
            change.assigned[replica] = state.cluster.default_directory(replica)
    return change.record(topic.id, item.partition_index)


def _cancelled(
    state: ControllerState, topic: Topic, index: int, partition: PartitionRegistration
) -> PartitionChangeRecord | None:
    if not partition.is_reassigning:
        raise NoReassignmentInProgress()
    change = _change(state, topic, partition)
    # those that were to go stand behind those that were to come: their own order is lost, as in Kafka
    change.replicas = tuple(replica for replica in partition.replicas if replica not in partition.adding)
    change.isr = tuple(replica for replica in partition.isr if replica not in partition.adding)
    if not change.isr:
        raise InvalidReplicaAssignment(_would_be_unclean(topic, index))
    change.adding = change.removing = ()
    return change.record(topic.id, index)


def _would_be_unclean(topic: Topic, index: int) -> str:
    return (
        f"Unable to revert partition assignment for {topic.name}:{index} because it would require an unclean"
        " leader election."
    )


def _change(state: ControllerState, topic: Topic, partition: PartitionRegistration) -> Change:
    def is_eligible(replica: int) -> bool:
        if replica in partition.replicas:
            return state.cluster.may_lead(replica, partition)
        return state.cluster.is_active(replica)

    change = Change(partition, is_eligible, state.features.metadata_version)
    if state.is_unclean_election_enabled(topic.id):
        change.election = UNCLEAN
    return change


def list_ongoing(
    state: ControllerState, request: ListPartitionReassignmentsRequest
) -> Decision[ListPartitionReassignmentsResponse]:
    """Null topics ask for all; what is unknown or not moving is left out."""
    found: dict[str, list[OngoingPartitionReassignment]] = {}
    if request.topics is None:
        for topic_id, index in state.topics.reassigning:
            topic = state.topics.by_id[topic_id]
            found.setdefault(topic.name, []).append(_ongoing(index, topic.partitions[index]))
    else:
        for wanted in request.topics:
            known = state.topics.by_name.get(wanted.name)
            for index in wanted.partition_indexes if known else ():
                partition = known.partitions.get(index) if known else None
                if partition is not None and partition.is_reassigning:
                    found.setdefault(wanted.name, []).append(_ongoing(index, partition))
    topics = [OngoingTopicReassignment(name=name, partitions=found[name]) for name in found]
    return answer(ListPartitionReassignmentsResponse(error_message=None, topics=topics))


def _ongoing(index: int, partition: PartitionRegistration) -> OngoingPartitionReassignment:
    return OngoingPartitionReassignment(
        partition_index=index,
        replicas=list(partition.replicas),
        adding_replicas=list(partition.adding),
        removing_replicas=list(partition.removing),
    )
