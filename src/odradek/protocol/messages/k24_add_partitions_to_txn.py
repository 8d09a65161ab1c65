"""AddPartitionsToTxn, API key 24: adds partitions to a transaction, or verifies that they are in it (KIP-98).

To the transaction coordinator. Versions 0-3 come from producers; 4 and later from brokers that lead a partition and
verify or add it for a producer, and need CLUSTER_ACTION.

Versions 0-5, flexible from 3. Kafka 3.3 has 0-3, 3.9 and 4.3 0-5.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields; PRODUCER_FENCED in the place of INVALID_PRODUCER_EPOCH (KIP-588)
     3  same fields in the flexible encoding (KIP-482)
     4  several transactions in one request, verify_only; response: an error for all, results by transaction (KIP-890)
     5  same fields; TRANSACTION_ABORTABLE may be answered (KIP-890)
"""

from odradek.protocol.declare import Request, Response, Struct, array, boolean, int16, int32, int64, string


class AddPartitionsToTxnTopic(Struct):
    name       = string()
    partitions = array(int32())


class AddPartitionsToTxnTransaction(Struct):
    transactional_id = string()
    producer_id      = int64()
    producer_epoch   = int16()
    verify_only      = boolean()
    topics           = array(AddPartitionsToTxnTopic)


class AddPartitionsToTxnRequest(Request, key=24, versions="0-5", flexible="3+"):
    transactions                  = array(AddPartitionsToTxnTransaction, "4+")
    v3_and_below_transactional_id = string("0-3")
    v3_and_below_producer_id      = int64("0-3")
    v3_and_below_producer_epoch   = int16("0-3")
    v3_and_below_topics           = array(AddPartitionsToTxnTopic, "0-3")


class AddPartitionsToTxnPartitionResult(Struct):
    partition_index      = int32()
    partition_error_code = int16()


class AddPartitionsToTxnTopicResult(Struct):
    name                 = string()
    results_by_partition = array(AddPartitionsToTxnPartitionResult)


class AddPartitionsToTxnResult(Struct):
    transactional_id = string()
    topic_results    = array(AddPartitionsToTxnTopicResult)


class AddPartitionsToTxnResponse(Response, key=24, versions="0-5", flexible="3+"):
    throttle_time_ms              = int32()
    results_by_topic_v3_and_below = array(AddPartitionsToTxnTopicResult, "0-3")
    error_code                    = int16("4+", ignorable=True)
    results_by_transaction        = array(AddPartitionsToTxnResult, "4+")
