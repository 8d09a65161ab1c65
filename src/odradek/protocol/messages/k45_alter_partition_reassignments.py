"""AlterPartitionReassignments, API key 45."""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    nullable_array,
    nullable_string,
    string,
)


class ReassignablePartition(Struct):
    partition_index = int32()
    replicas        = nullable_array(int32())


class ReassignableTopic(Struct):
    name       = string()
    partitions = array(ReassignablePartition)


class AlterPartitionReassignmentsRequest(Request, key=45, versions="0-1", flexible="0+"):
    timeout_ms                      = int32(default=60000)
    allow_replication_factor_change = boolean("1+", default=True)
    topics                          = array(ReassignableTopic)


class ReassignablePartitionResponse(Struct):
    partition_index = int32()
    error_code      = int16()
    error_message   = nullable_string(default="")


class ReassignableTopicResponse(Struct):
    name       = string()
    partitions = array(ReassignablePartitionResponse)


class AlterPartitionReassignmentsResponse(Response, key=45, versions="0-1", flexible="0+"):
    throttle_time_ms                = int32()
    allow_replication_factor_change = boolean("1+", default=True, ignorable=True)
    error_code                      = int16()
    error_message                   = nullable_string(default="")
    responses                       = array(ReassignableTopicResponse)
