"""TxnOffsetCommit, versions 0-5: a producer stores offsets of a group, which count if its transaction is committed.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  leader epoch
     3  generation, member id and group instance id, to fence members that are gone (KIP-447)
     4  same fields; TRANSACTION_ABORTABLE may be answered (KIP-890)
     5  same fields; the group coordinator adds its partition to the transaction, as the leader of a partition does

Who may: WRITE on the transactional id, READ on the group, READ on each topic.

| what is wrong | error, per partition |
|---|---|
| no such partition; not to be seen | UNKNOWN_TOPIC_OR_PARTITION; TOPIC_AUTHORIZATION_FAILED |
| the offsets are not in the transaction (4.3) | INVALID_TXN_STATE, from 4 TRANSACTION_ABORTABLE |
| a producer that was replaced | INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING |
| the last transaction is still being ended | CONCURRENT_TRANSACTIONS from 5, before COORDINATOR_NOT_AVAILABLE |
| the group | those of OffsetCommit |
"""

from odradek.coordinator.group.commit_request import Commit, CommitFrom
from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.log.producers.transaction_verification import VerificationGuard
from odradek.protocol import errors
from odradek.protocol.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from odradek.records.layout import NO_SEQUENCE
from odradek.replica.partition import Partition
from odradek.replica.transactions import NOT_ADDED, until_in_transaction
from odradek.security.acl import GROUP, READ, TOPIC, TRANSACTIONAL_ID, WRITE

ADD_VERSION_MIN = 5
ABORTABLE_VERSION_MIN = 4


def refuse(request: TxnOffsetCommitRequest, error: errors.KafkaError, version: int) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(topics=[_answer(topic, error.code) for topic in request.topics])


@serves(TxnOffsetCommitRequest, versions="0-5", refuse=refuse)
async def txn_offset_commit(call: BrokerCall, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
    call.demand(WRITE, TRANSACTIONAL_ID, request.transactional_id)
    call.demand(READ, GROUP, request.group_id)
    answers = [_answer(topic, errors.NONE) for topic in request.topics]
    commits: list[Commit] = []
    waiting: list[TxnOffsetCommitResponsePartition] = []
    for topic, answer in zip(request.topics, answers, strict=True):
        _take(call, topic, answer, commits, waiting)
    if commits:
        for partition, code in zip(waiting, await _codes(call, request, commits), strict=True):
            partition.error_code = code
    return TxnOffsetCommitResponse(topics=answers)


def _take(
    call: BrokerCall,
    topic: TxnOffsetCommitRequestTopic,
    answer: TxnOffsetCommitResponseTopic,
    commits: list[Commit],
    waiting: list[TxnOffsetCommitResponsePartition],
) -> None:
    is_allowed = call.authorize(READ, TOPIC, topic.name)
    known = call.services.metadata.topic(topic.name)
    for partition, answered in zip(topic.partitions, answer.partitions, strict=True):
        if not is_allowed:
            answered.error_code = errors.TopicAuthorizationFailed.code
        elif known is None or partition.partition_index not in known.partitions:
            answered.error_code = errors.UnknownTopicOrPartition.code
        else:
            waiting.append(answered)
            commits.append(
                Commit(
                    topic.name,
                    partition.partition_index,
                    partition.committed_offset,
                    partition.committed_leader_epoch,
                    partition.committed_metadata,
                )
            )


async def _codes(call: BrokerCall, request: TxnOffsetCommitRequest, commits: list[Commit]) -> list[int]:
    groups = call.services.groups
    if groups is None:
        raise errors.CoordinatorNotAvailable("This node coordinates no groups.")
    shard = groups.shards.active(request.group_id)  # raises before the coordinator of the transaction is asked
    guard = await _brought_in(call, request, shard.partition)
    sender = CommitFrom(
        request.group_id, request.generation_id, request.member_id, request.group_instance_id, call.version
    )
    if guard is not None:
        producers = shard.partition.leader_log().producers
        producers.check_in_transaction(request.producer_id, request.producer_epoch, NO_SEQUENCE, guard)
    codes: list[int] = await groups.txn_offset_commit(sender, commits, request.producer_id, request.producer_epoch)
    return codes


async def _brought_in(
    call: BrokerCall, request: TxnOffsetCommitRequest, partition: Partition
) -> VerificationGuard | None:
    """Makes the partition part of the transaction, and returns the guard of that; None if nobody had to be asked."""
    replicas = call.services.replicas
    is_add = call.version >= ADD_VERSION_MIN
    if not replicas.release.behaviour.verifies_transactions or not (is_add or replicas.verifies_transactions):
        return None
    producer_id, producer_epoch = request.producer_id, request.producer_epoch
    producers = partition.leader_log().producers
    if producers.has_open_transaction(producer_id, producer_epoch):
        return None
    try:
        return await until_in_transaction(
            replicas, partition, request.transactional_id, producer_id, producer_epoch, NO_SEQUENCE, is_add=is_add
        )
    except errors.KafkaError as error:
        raise _as_told(error, call.version) from error


def _as_told(error: errors.KafkaError, version: int) -> errors.KafkaError:
    if isinstance(error, errors.ProducerFenced):
        return errors.InvalidProducerEpoch(error.message)
    if isinstance(error, errors.TransactionAbortable) and version < ABORTABLE_VERSION_MIN:
        return errors.InvalidTxnState(NOT_ADDED)
    if isinstance(error, errors.ConcurrentTransactions) and version >= ADD_VERSION_MIN:
        return error
    return errors.CoordinatorNotAvailable(error.message) if error.retriable else error


def _answer(topic: TxnOffsetCommitRequestTopic, code: int) -> TxnOffsetCommitResponseTopic:
    partitions = [
        TxnOffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
        for partition in topic.partitions
    ]
    return TxnOffsetCommitResponseTopic(name=topic.name, partitions=partitions)
