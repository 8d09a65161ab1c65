"""AlterPartition: a leader proposes who is in sync (KIP-497).

Epochs make it compare-and-set: a leader that is not the current one, or that does not know the last change, is
refused and has to look again. The controller alone knows who is fenced or shutting down, so it also refuses members
that could not stay (KIP-841), and members that have registered again since they were seen in sync (KIP-903, R6).
"""

from odradek.controller.change import UNCLEAN, Change
from odradek.controller.state import ControllerState
from odradek.controller.topics import Topic
from odradek.metadata.partition import RECOVERED, RECOVERING, PartitionRegistration
from odradek.protocol.errors import (
    NONE,
    FencedLeaderEpoch,
    IneligibleReplica,
    InvalidRequest,
    InvalidUpdateVersion,
    KafkaError,
    NewLeaderElected,
    NotController,
    OperationNotAttempted,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.k56_alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
    PartitionData,
    TopicData,
)
from odradek.protocol.messages.metadata_topics import PartitionChangeRecord
from odradek.replicated.decision import Decision

WITH_TOPIC_IDS = 2  # the version from which topics have ids, and the new error codes are known
WITH_BROKER_EPOCHS = 3


def alter_partition(
    state: ControllerState, request: AlterPartitionRequest, version: int
) -> Decision[AlterPartitionResponse]:
    state.cluster.check_epoch(request.broker_id, request.broker_epoch)
    records: list[PartitionChangeRecord] = []
    topics = [_alter_topic(state, request.broker_id, topic, version, records) for topic in request.topics]
    return Decision(state.versioned(records), AlterPartitionResponse(topics=topics), is_atomic=False)


def _alter_topic(
    state: ControllerState, broker_id: int, wanted: TopicData, version: int, records: list[PartitionChangeRecord]
) -> AlterPartitionResponseTopicData:
    by_id = version >= WITH_TOPIC_IDS
    topic = state.topics.by_id.get(wanted.topic_id) if by_id else state.topics.by_name.get(wanted.topic_name)
    answered = AlterPartitionResponseTopicData(topic_id=wanted.topic_id, topic_name=wanted.topic_name)
    seen: set[int] = set()
    for item in wanted.partitions:
        try:
            if topic is None:
                raise UnknownTopicId() if by_id else UnknownTopicOrPartition()
            if item.partition_index in seen:
                raise InvalidRequest()
            seen.add(item.partition_index)
            result = _alter(state, broker_id, topic, item, version, records)
        except KafkaError as error:
            result = AlterPartitionResponsePartitionData(partition_index=item.partition_index, error_code=error.code)
        answered.partitions.append(result)
    return answered


def _alter(
    state: ControllerState,
    broker_id: int,
    topic: Topic,
    item: PartitionData,
    version: int,
    records: list[PartitionChangeRecord],
) -> AlterPartitionResponsePartitionData:
    partition = topic.partitions.get(item.partition_index)
    if partition is None:
        raise UnknownTopicOrPartition()
    isr = _proposed(item, version)
    _check_epochs(broker_id, partition, item)
    _check_members(state, partition, item, isr, version)
    change = Change(
        partition, lambda replica: state.cluster.may_lead(replica, partition), state.features.metadata_version
    )
    change.isr = isr
    change.recovery_state = item.leader_recovery_state
    if state.is_unclean_election_enabled(topic.id):
        change.election = UNCLEAN
    record = change.record(topic.id, item.partition_index)
    after = partition
    if record is not None:
        records.append(record)
        after = partition.changed(record)
    return _answer(broker_id, item, after, version)


def _proposed(item: PartitionData, version: int) -> tuple[int, ...]:
    if version >= WITH_BROKER_EPOCHS:
        return tuple(member.broker_id for member in item.new_isr_with_epochs)
    return tuple(item.new_isr)


def _check_epochs(broker_id: int, partition: PartitionRegistration, item: PartitionData) -> None:
    if item.leader_epoch > partition.leader_epoch or item.partition_epoch > partition.partition_epoch:
        raise NotController()  # the leader has heard of a later controller than this one is
    if item.leader_epoch < partition.leader_epoch:
        raise FencedLeaderEpoch()
    if broker_id != partition.leader:
        raise InvalidRequest()
    if item.partition_epoch < partition.partition_epoch:
        raise InvalidUpdateVersion()


def _check_members(
    state: ControllerState, partition: PartitionRegistration, item: PartitionData, isr: tuple[int, ...], version: int
) -> None:
    if not isr or len(set(isr)) != len(isr) or not set(isr) <= set(partition.replicas) or partition.leader not in isr:
        raise InvalidRequest()
    if item.leader_recovery_state not in (RECOVERED, RECOVERING):
        raise InvalidRequest()
    if item.leader_recovery_state == RECOVERING and (len(isr) > 1 or partition.leader_recovery_state == RECOVERED):
        raise InvalidRequest()
    if any(not _is_eligible(state, replica, epoch) for replica, epoch in _with_epochs(item, isr, version)):
        raise IneligibleReplica() if version >= WITH_TOPIC_IDS else OperationNotAttempted()


def _with_epochs(item: PartitionData, isr: tuple[int, ...], version: int) -> list[tuple[int, int]]:
    if version >= WITH_BROKER_EPOCHS:
        return [(member.broker_id, member.broker_epoch) for member in item.new_isr_with_epochs]
    return [(replica, -1) for replica in isr]


def _is_eligible(state: ControllerState, replica: int, broker_epoch: int) -> bool:
    broker = state.cluster.brokers.get(replica)
    return broker is not None and broker.is_active and broker_epoch in (-1, broker.epoch)


def _answer(
    broker_id: int, item: PartitionData, after: PartitionRegistration, version: int
) -> AlterPartitionResponsePartitionData:
    if after.leader != broker_id:
        error = NewLeaderElected.code if version >= WITH_TOPIC_IDS else FencedLeaderEpoch.code
        return AlterPartitionResponsePartitionData(partition_index=item.partition_index, error_code=error)
    return AlterPartitionResponsePartitionData(
        partition_index=item.partition_index,
        error_code=NONE,
        leader_id=after.leader,
        leader_epoch=after.leader_epoch,
        isr=list(after.isr),
        leader_recovery_state=after.leader_recovery_state,
        partition_epoch=after.partition_epoch,
    )
