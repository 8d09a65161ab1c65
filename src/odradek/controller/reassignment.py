"""Replicas move to other brokers (KIP-455).

While a partition moves it has the replicas of both assignments, the new ones first; `adding` and `removing` tell
the two apart. When all new ones are in sync the old ones go: see `change.py`. To cancel is to go back to the replicas
that are not being added, which must leave somebody in sync.
"""

from typing import TYPE_CHECKING

from odradek.controller.assignment import check_replicas
from odradek.controller.change import UNCLEAN, Change
from odradek.controller.partition import Ids, Partition
from odradek.controller.topics import Topic
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

if TYPE_CHECKING:
    from odradek.controller.core import ControllerCore


def alter(
    core: "ControllerCore", request: AlterPartitionReassignmentsRequest
) -> Decision[AlterPartitionReassignmentsResponse]:
    records: list[PartitionChangeRecord] = []
    may_resize = request.allow_replication_factor_change
    responses = []
    for topic in request.topics:
        seen: set[int] = set()
        results = [_alter(core, topic.name, item, records, seen, may_resize=may_resize) for item in topic.partitions]
        responses.append(ReassignableTopicResponse(name=topic.name, partitions=results))
    response = AlterPartitionReassignmentsResponse(
        error_message=None, responses=responses, allow_replication_factor_change=may_resize
    )
    return Decision(core.versioned(records), response, is_atomic=False)


def _alter(
    core: "ControllerCore",
    name: str,
    item: ReassignablePartition,
    records: list[PartitionChangeRecord],
    seen: set[int],
    *,
    may_resize: bool,
) -> ReassignablePartitionResponse:
    try:
        topic, partition = _found(core, name, item.partition_index)
        if item.partition_index in seen:
            raise InvalidReplicaAssignment(f"Partition {item.partition_index} appears twice in the request.")
        seen.add(item.partition_index)
        if item.replicas is None:
            record = _cancelled(core, topic, item.partition_index, partition)
        else:
            record = _moved(core, topic, item, partition, may_resize=may_resize)
    except KafkaError as error:
        # Kafka has no words for this one
        message = None if isinstance(error, NoReassignmentInProgress) else error.message
        return ReassignablePartitionResponse(
            partition_index=item.partition_index, error_code=error.code, error_message=message
        )
    if record is not None:
        records.append(record)
    return ReassignablePartitionResponse(partition_index=item.partition_index, error_code=NONE, error_message=None)


def _found(core: "ControllerCore", name: str, index: int) -> tuple[Topic, Partition]:
    topic = core.topics.by_name.get(name)
    if topic is None:
        raise UnknownTopicOrPartition(f"Unable to find a topic named {name}.")
    partition = topic.partitions.get(index)
    if partition is None:
        raise UnknownTopicOrPartition(f"Unable to find partition {name}:{index}.")
    return topic, partition


def _moved(
    core: "ControllerCore", topic: Topic, item: ReassignablePartition, partition: Partition, *, may_resize: bool
) -> PartitionChangeRecord | None:
    target: Ids = tuple(item.replicas or ())
    check_replicas(core.cluster, target)
    current = tuple(replica for replica in partition.replicas if replica not in partition.adding)
    if not may_resize and len(target) != len(current):
        raise InvalidReplicationFactor(
            f"The replication factor is changed from {len(current)} to {len(target)} for partition"
            f" {topic.name}-{item.partition_index}, which the request does not allow."
        )
    change = _change(core, topic, partition)
    change.adding = tuple(replica for replica in target if replica not in current)
    change.removing = tuple(replica for replica in current if replica not in target)
    # of an earlier move that is given up: what it added and nobody wants any more goes at once
    change.replicas = (*target, *change.removing)
    kept = tuple(replica for replica in partition.isr if replica in change.replicas)
    if not kept:
        raise InvalidReplicaAssignment(_would_be_unclean(topic, item.partition_index))
    change.isr = kept
    change.directories = _directories(core, partition, change.replicas)
    return change.record(topic.id, item.partition_index)


def _cancelled(core: "ControllerCore", topic: Topic, index: int, partition: Partition) -> PartitionChangeRecord | None:
    if not partition.is_reassigning:
        raise NoReassignmentInProgress()
    change = _change(core, topic, partition)
    # those that were to go stand behind those that were to come: their own order is lost, as in Kafka
    change.replicas = tuple(replica for replica in partition.replicas if replica not in partition.adding)
    change.isr = tuple(replica for replica in partition.isr if replica not in partition.adding)
    if not change.isr:
        raise InvalidReplicaAssignment(_would_be_unclean(topic, index))
    change.adding = change.removing = ()
    change.directories = _directories(core, partition, change.replicas)
    return change.record(topic.id, index)


def _would_be_unclean(topic: Topic, index: int) -> str:
    return (
        f"Unable to revert partition assignment for {topic.name}:{index} because it would require an unclean"
        " leader election."
    )


def _change(core: "ControllerCore", topic: Topic, partition: Partition) -> Change:
    def is_eligible(replica: int) -> bool:
        if replica in partition.replicas:
            return core.cluster.may_lead(replica, partition)
        return core.cluster.is_active(replica)

    change = Change(partition, is_eligible, core.features.metadata_version)
    if core.is_unclean_election_enabled(topic.id):
        change.election = UNCLEAN
    return change


def _directories(core: "ControllerCore", partition: Partition, replicas: Ids) -> dict[int, bytes] | None:
    if not core.has_directories:
        return None
    known = dict(zip(partition.replicas, partition.directories, strict=True))
    return {replica: known.get(replica) or core.cluster.default_directory(replica) for replica in replicas}


def list_ongoing(
    core: "ControllerCore", request: ListPartitionReassignmentsRequest
) -> Decision[ListPartitionReassignmentsResponse]:
    """Null topics ask for all; what is unknown or not moving is left out."""
    found: dict[str, list[OngoingPartitionReassignment]] = {}
    if request.topics is None:
        for topic_id, index in core.topics.reassigning:
            topic = core.topics.by_id[topic_id]
            found.setdefault(topic.name, []).append(_ongoing(index, topic.partitions[index]))
    else:
        for wanted in request.topics:
            known = core.topics.by_name.get(wanted.name)
            for index in wanted.partition_indexes if known else ():
                partition = known.partitions.get(index) if known else None
                if partition is not None and partition.is_reassigning:
                    found.setdefault(wanted.name, []).append(_ongoing(index, partition))
    topics = [OngoingTopicReassignment(name=name, partitions=found[name]) for name in found]
    return answer(ListPartitionReassignmentsResponse(error_message=None, topics=topics))


def _ongoing(index: int, partition: Partition) -> OngoingPartitionReassignment:
    return OngoingPartitionReassignment(
        partition_index=index,
        replicas=list(partition.replicas),
        adding_replicas=list(partition.adding),
        removing_replicas=list(partition.removing),
    )
