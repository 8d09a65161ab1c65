"""DescribeTransactions, API key 65: state and partitions of transactions, for admins (KIP-664).

Answered by the coordinator of each transactional id.

Version 0, flexible. The same in Kafka 3.3, 3.9 and 4.3.
"""

from odradek.protocol.declare import Request, Response, Struct, array, int16, int32, int64, string


class DescribeTransactionsRequest(Request, key=65, versions="0", flexible="0+"):
    transactional_ids = array(string())


class TopicData(Struct):
    topic      = string()
    partitions = array(int32())


class TransactionState(Struct):
    error_code                = int16()
    transactional_id          = string()
    transaction_state         = string()
    transaction_timeout_ms    = int32()
    transaction_start_time_ms = int64()
    producer_id               = int64()
    producer_epoch            = int16()
    topics                    = array(TopicData)


class DescribeTransactionsResponse(Response, key=65, versions="0", flexible="0+"):
    throttle_time_ms   = int32()
    transaction_states = array(TransactionState)
