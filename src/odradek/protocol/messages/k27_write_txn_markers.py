"""WriteTxnMarkers, API key 27: the transaction coordinator has commit or abort markers written (KIP-98).

To the leaders of the partitions of a transaction; needs CLUSTER_ACTION. An admin that aborts a hanging transaction
sends it as well (KIP-664), for which ALTER on the cluster came to be enough (KIP-1037). There is no throttle time.

Versions 0-2, flexible from 1. Kafka 3.3 and 3.9 have 0-1, 4.3 1-2. 4.0 dropped 0.

     1  same fields in the flexible encoding (KIP-482)
     2  request: transaction version of each marker, for a stricter check of its epoch (KIP-1228)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    string,
)


class WritableTxnMarkerTopic(Struct):
    name              = string()
    partition_indexes = array(int32())


class WritableTxnMarker(Struct):
    producer_id         = int64()
    producer_epoch      = int16()
    transaction_result  = boolean()
    topics              = array(WritableTxnMarkerTopic)
    coordinator_epoch   = int32()
    transaction_version = int8("2+", ignorable=True)


class WriteTxnMarkersRequest(Request, key=27, versions="0-2", flexible="1+"):
    markers = array(WritableTxnMarker)


class WritableTxnMarkerPartitionResult(Struct):
    partition_index = int32()
    error_code      = int16()


class WritableTxnMarkerTopicResult(Struct):
    name       = string()
    partitions = array(WritableTxnMarkerPartitionResult)


class WritableTxnMarkerResult(Struct):
    producer_id = int64()
    topics      = array(WritableTxnMarkerTopicResult)


class WriteTxnMarkersResponse(Response, key=27, versions="0-2", flexible="1+"):
    markers = array(WritableTxnMarkerResult)
