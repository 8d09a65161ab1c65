"""WriteTxnMarkers, API key 27."""

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
