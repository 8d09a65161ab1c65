"""DescribeTransactions, version 0: state, producer and partitions of transactional ids, from their coordinator.

Who may: DESCRIBE on each transactional id; of the partitions those are told whose topics the caller may DESCRIBE.
Errors, per id: INVALID_REQUEST for an empty one; NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS;
TRANSACTIONAL_ID_NOT_FOUND; TRANSACTIONAL_ID_AUTHORIZATION_FAILED.
"""

from odradek.coordinator.transaction import states
from odradek.coordinator.transaction.transaction import Transaction
from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k65_describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from odradek.replicated.decision import answer
from odradek.security.acl import DESCRIBE, TOPIC, TRANSACTIONAL_ID


def refuse(
    request: DescribeTransactionsRequest, error: errors.KafkaError, version: int
) -> DescribeTransactionsResponse:
    refused = [TransactionState(error_code=error.code, transactional_id=each) for each in request.transactional_ids]
    return DescribeTransactionsResponse(transaction_states=refused)


@serves(DescribeTransactionsRequest, versions="0", refuse=refuse, is_read=True)
async def describe_transactions(call: BrokerCall, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[await _described(call, transactional_id) for transactional_id in request.transactional_ids]
    )


async def _described(call: BrokerCall, transactional_id: str) -> TransactionState:
    try:
        txn = await _found(call, transactional_id)
    except errors.KafkaError as error:
        return TransactionState(error_code=error.code, transactional_id=transactional_id)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=states.NAMES[txn.state],
        transaction_timeout_ms=txn.timeout_ms,
        transaction_start_time_ms=txn.started_ms,
        producer_id=txn.producer_id,
        producer_epoch=txn.producer_epoch,
        topics=_topics(call, txn),
    )


async def _found(call: BrokerCall, transactional_id: str) -> Transaction:
    call.demand(DESCRIBE, TRANSACTIONAL_ID, transactional_id)
    if not transactional_id:
        raise errors.InvalidRequest("A transactional id is not empty.")
    shard = call.services.transactions.shards.active(transactional_id)
    txn = await shard.run(lambda core: answer(core.transactions.get(transactional_id)))
    if txn is None:
        raise errors.TransactionalIdNotFound()
    return txn


def _topics(call: BrokerCall, txn: Transaction) -> list[TopicData]:
    by_topic: dict[str, list[int]] = {}
    for topic, index in sorted(txn.partitions):
        by_topic.setdefault(topic, []).append(index)
    allowed = call.authorize_all(DESCRIBE, TOPIC, list(by_topic))
    return [TopicData(topic=topic, partitions=indexes) for topic, indexes in by_topic.items() if topic in allowed]
