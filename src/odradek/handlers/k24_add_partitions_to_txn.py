"""AddPartitionsToTxn, versions 0-5: partitions join a transaction, before the first record is written to them.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields; PRODUCER_FENCED in the place of INVALID_PRODUCER_EPOCH (KIP-588)
     3  same fields in the flexible encoding (KIP-482)
     4  from brokers: several transactions, to be added to or only verified (KIP-890)
     5  same fields; TRANSACTION_ABORTABLE may be answered

Who may: WRITE on the transactional id and on each topic; from version 4 on CLUSTER_ACTION, and the leader that asks has
looked at the rest.

| what is wrong | error, for each partition |
|---|---|
| a partition that does not exist, or may not be written | UNKNOWN_TOPIC_OR_PARTITION, TOPIC_AUTHORIZATION_FAILED |
| another partition of the request is wrong | OPERATION_NOT_ATTEMPTED |
| not the producer of that id; an epoch that is not the current one | INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED |
| the last transaction is still being ended | CONCURRENT_TRANSACTIONS |
| verified, and not in the transaction | TRANSACTION_ABORTABLE |
| an empty transactional id | INVALID_REQUEST |
"""

from odradek.coordinator.transaction.transaction import ProducerIdAndEpoch
from odradek.handlers.call import BrokerCall
from odradek.handlers.producer_fencing import fenced_as
from odradek.handlers.serves import serves
from odradek.network.request_metrics import VERIFICATION
from odradek.protocol import errors
from odradek.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.security.acl import CLUSTER, CLUSTER_ACTION, CLUSTER_NAME, TOPIC, TRANSACTIONAL_ID, WRITE

BROKER_VERSION_MIN = 4
FENCED_VERSION_MIN = 2
CLIENT_VERSION_OF_BROKERS = 2  # only transactions of version 2 let the leader add partitions

Codes = dict[TopicPartition, int]


def refuse(request: AddPartitionsToTxnRequest, error: errors.KafkaError, version: int) -> AddPartitionsToTxnResponse:
    if version >= BROKER_VERSION_MIN:
        return AddPartitionsToTxnResponse(error_code=error.code)
    code = fenced_as(error, version, FENCED_VERSION_MIN)
    codes = dict.fromkeys(_partitions(request.v3_and_below_topics), code)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_topic_results(codes))


@serves(AddPartitionsToTxnRequest, versions="0-5", refuse=refuse)
async def add_partitions_to_txn(call: BrokerCall, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    if call.version >= BROKER_VERSION_MIN:
        if all(transaction.verify_only for transaction in request.transactions):
            call.connection.variation = VERIFICATION
        call.demand(CLUSTER_ACTION, CLUSTER, CLUSTER_NAME)
        return AddPartitionsToTxnResponse(
            results_by_transaction=[await _result(call, transaction) for transaction in request.transactions]
        )
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    call.demand(WRITE, TRANSACTIONAL_ID, transaction.transactional_id)
    codes = await _codes(call, transaction, client_version=0)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_topic_results(codes))


async def _result(call: BrokerCall, transaction: AddPartitionsToTxnTransaction) -> AddPartitionsToTxnResult:
    codes = await _codes(call, transaction, client_version=CLIENT_VERSION_OF_BROKERS)
    return AddPartitionsToTxnResult(transactional_id=transaction.transactional_id, topic_results=_topic_results(codes))


async def _codes(call: BrokerCall, transaction: AddPartitionsToTxnTransaction, client_version: int) -> Codes:
    partitions = _partitions(transaction.topics)
    codes = _unfit(call, partitions)
    if any(codes.values()):
        return codes
    try:
        missing = await _added(call, transaction, partitions, client_version)
    except errors.KafkaError as error:
        return dict.fromkeys(partitions, fenced_as(error, call.version, FENCED_VERSION_MIN))
    return {each: errors.TransactionAbortable.code if each in missing else 0 for each in partitions}


async def _added(
    call: BrokerCall, transaction: AddPartitionsToTxnTransaction, partitions: list[TopicPartition], client_version: int
) -> set[TopicPartition]:
    """Adds the partitions, or only verifies them. Those that are not in the transaction afterwards."""
    transactional_id = transaction.transactional_id
    if not transactional_id:
        raise errors.InvalidRequest("A transactional id is not empty.")
    shard = call.services.transactions.shards.active(transactional_id)
    producer = ProducerIdAndEpoch(transaction.producer_id, transaction.producer_epoch)
    if transaction.verify_only:
        return await shard.run(lambda core: core.missing_partitions(transactional_id, producer, partitions))
    now = shard.now()
    await shard.run(lambda core: core.add_partitions(now, transactional_id, producer, partitions, client_version))
    return set()


def _unfit(call: BrokerCall, partitions: list[TopicPartition]) -> Codes:
    """Error codes by partition, all zero if all can be added; if one partition cannot be added none is."""
    topics = sorted({topic for topic, _ in partitions})
    is_from_broker = call.version >= BROKER_VERSION_MIN
    allowed = set(topics) if is_from_broker else call.authorize_all(WRITE, TOPIC, topics)
    codes: Codes = {}
    for partition in partitions:
        if partition.topic not in allowed:
            codes[partition] = errors.TopicAuthorizationFailed.code
        elif call.services.metadata.partition(*partition) is None:
            codes[partition] = errors.UnknownTopicOrPartition.code
    rest = errors.OperationNotAttempted.code if codes else 0
    return {partition: codes.get(partition, rest) for partition in partitions}


def _partitions(topics: list[AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    return [TopicPartition(topic.name, index) for topic in topics for index in topic.partitions]


def _topic_results(codes: Codes) -> list[AddPartitionsToTxnTopicResult]:
    by_topic: dict[str, list[AddPartitionsToTxnPartitionResult]] = {}
    for (topic, index), code in codes.items():
        result = AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
        by_topic.setdefault(topic, []).append(result)
    return [
        AddPartitionsToTxnTopicResult(name=topic, results_by_partition=results) for topic, results in by_topic.items()
    ]
