"""ElectLeaders, API key 43: an admin has leaders elected (KIP-183).

The controller decides. Null partitions stand for all. Version 0 was called ElectPreferredLeaders.

Versions 0-2, flexible from 2. The same in Kafka 3.3, 3.9 and 4.3.
On broker and controller listeners; a broker forwards it to the controller.

     1  election type, preferred or unclean; response: an error for the whole request (KIP-460)
     2  same fields in the flexible encoding (KIP-482)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    nullable_array,
    nullable_string,
    string,
)


class TopicPartitions(Struct):
    topic      = string()
    partitions = array(int32())


class ElectLeadersRequest(Request, key=43, versions="0-2", flexible="2+"):
    election_type    = int8("1+")
    topic_partitions = nullable_array(TopicPartitions, default=[])
    timeout_ms       = int32(default=60000)


class PartitionResult(Struct):
    partition_id  = int32()
    error_code    = int16()
    error_message = nullable_string(default="")


class ReplicaElectionResult(Struct):
    topic            = string()
    partition_result = array(PartitionResult)


class ElectLeadersResponse(Response, key=43, versions="0-2", flexible="2+"):
    throttle_time_ms         = int32()
    error_code               = int16("1+")
    replica_election_results = array(ReplicaElectionResult)
