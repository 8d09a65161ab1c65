"""ListPartitionReassignments, API key 46: the reassignments that are under way (KIP-455).

The controller answers. Null topics ask for all.

Version 0, flexible. The same in Kafka 3.3, 3.9 and 4.3.
On broker and controller listeners; a broker forwards it to the controller.
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    nullable_array,
    nullable_string,
    string,
)


class ListPartitionReassignmentsTopics(Struct):
    name              = string()
    partition_indexes = array(int32())


class ListPartitionReassignmentsRequest(Request, key=46, versions="0", flexible="0+"):
    timeout_ms = int32(default=60000)
    topics     = nullable_array(ListPartitionReassignmentsTopics)


class OngoingPartitionReassignment(Struct):
    partition_index   = int32()
    replicas          = array(int32())
    adding_replicas   = array(int32())
    removing_replicas = array(int32())


class OngoingTopicReassignment(Struct):
    name       = string()
    partitions = array(OngoingPartitionReassignment)


class ListPartitionReassignmentsResponse(Response, key=46, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    error_message    = nullable_string(default="")
    topics           = array(OngoingTopicReassignment)
