"""AlterPartitionReassignments, API key 45: an admin moves replicas of partitions to other brokers (KIP-455).

The controller decides. Null replicas cancel the reassignment of a partition.

Versions 0-1, flexible. Kafka 3.3 and 3.9 have 0, 4.3 0-1.
On broker and controller listeners; a broker forwards it to the controller.

     1  whether the number of replicas may change, on both sides (KIP-860)
"""

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
