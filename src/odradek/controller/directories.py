"""Log directories: which one holds a replica, and what follows when one fails (KIP-858).

A broker tells where it has put each replica. While the controller has another directory on record, a failure of the
real one would be missed, so the broker serves a new replica only after its assignment has been committed.
"""

from collections.abc import Iterable

from odradek.controller import elections
from odradek.controller.change import UNCLEAN, Change
from odradek.controller.state import ControllerState
from odradek.metadata import versions
from odradek.metadata.partition import PartitionRegistration
from odradek.metadata.registration import BrokerRegistration
from odradek.protocol.declare import Message, Uuid
from odradek.protocol.errors import (
    NONE,
    NotLeaderOrFollower,
    UnknownTopicId,
    UnknownTopicOrPartition,
    UnsupportedVersion,
)
from odradek.protocol.messages.k73_assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    AssignReplicasToDirsResponseDirectoryData,
    AssignReplicasToDirsResponsePartitionData,
    AssignReplicasToDirsResponseTopicData,
    TopicData,
)
from odradek.protocol.messages.metadata_brokers import BrokerRegistrationChangeRecord
from odradek.protocol.messages.metadata_topics import PartitionChangeRecord
from odradek.replicated.decision import Decision


def assign(state: ControllerState, request: AssignReplicasToDirsRequest) -> Decision[AssignReplicasToDirsResponse]:
    if state.features.metadata_version < versions.DIRECTORY_ASSIGNMENT:
        raise UnsupportedVersion("Directory assignment is not supported yet.")
    broker = state.cluster.check_epoch(request.broker_id, request.broker_epoch)
    records: list[PartitionChangeRecord] = []
    seen: set[tuple[bytes, int]] = set()
    answered = [
        AssignReplicasToDirsResponseDirectoryData(
            id=directory.id,
            topics=[_assign_topic(state, broker, directory.id, topic, records, seen) for topic in directory.topics],
        )
        for directory in request.directories
    ]
    return Decision(state.versioned(records), AssignReplicasToDirsResponse(directories=answered), is_atomic=False)


def _assign_topic(
    state: ControllerState,
    broker: BrokerRegistration,
    directory: bytes,
    wanted: TopicData,
    records: list[PartitionChangeRecord],
    seen: set[tuple[bytes, int]],
) -> AssignReplicasToDirsResponseTopicData:
    topic = state.topics.by_id.get(wanted.topic_id)
    results = []
    for item in wanted.partitions:
        place = (wanted.topic_id, item.partition_index)
        partition = None if topic is None else topic.partitions.get(item.partition_index)
        error = _reason_not_to_assign(topic is not None, partition, broker)
        if error == NONE and partition is not None and place not in seen:
            seen.add(place)
            record = _assigned(state, place, partition, broker, directory)
            if record is not None:
                records.append(record)
        results.append(
            AssignReplicasToDirsResponsePartitionData(partition_index=item.partition_index, error_code=error)
        )
    return AssignReplicasToDirsResponseTopicData(topic_id=wanted.topic_id, partitions=results)


def _reason_not_to_assign(has_topic: bool, partition: PartitionRegistration | None, broker: BrokerRegistration) -> int:
    if not has_topic:
        return UnknownTopicId.code
    if partition is None:
        return UnknownTopicOrPartition.code
    return NONE if broker.id in partition.replicas else NotLeaderOrFollower.code


def _assigned(
    state: ControllerState,
    place: tuple[bytes, int],
    partition: PartitionRegistration,
    broker: BrokerRegistration,
    directory: bytes,
) -> PartitionChangeRecord | None:
    if partition.directory_of(broker.id) == directory:
        return None
    is_offline = broker.directories and directory not in broker.directories

    def is_eligible(replica: int) -> bool:
        if replica == broker.id:
            return broker.is_active and not is_offline
        return state.cluster.may_lead(replica, partition)

    change = Change(partition, is_eligible, state.features.metadata_version)
    change.assigned = {broker.id: directory}
    if is_offline:
        change.without(broker.id)
    if state.is_unclean_election_enabled(place[0]):
        change.election = UNCLEAN
    return change.record(*place)


def directories_went_offline(
    state: ControllerState, broker: BrokerRegistration, offline: Iterable[bytes]
) -> list[Message]:
    """The broker loses them, and what lies there other leaders."""
    lost = set(offline) & set(broker.directories)
    if not lost:
        return []
    remaining = [Uuid(directory) for directory in broker.directories if directory not in lost]
    records: list[Message] = []
    if remaining:  # a broker without any directory stops by itself
        records.append(
            BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, log_dirs=remaining)
        )
    for place in state.topics.in_sync.get(broker.id, ()):
        partition = state.topics.by_id[place[0]].partitions[place[1]]
        if partition.directory_of(broker.id) in lost:
            record = elections.changed(state, place, without=broker.id)
            if record is not None:
                records.append(record)
    return records
