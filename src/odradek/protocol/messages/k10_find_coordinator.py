"""FindCoordinator, API key 10: the broker that coordinates a group, a transactional id or a share partition.

Any broker answers: it is the leader of one partition of __consumer_offsets, __transaction_state or
__share_group_state. Key types: 0 group, 1 transaction, 2 share.

Versions 0-6, flexible from 3. Kafka 3.3 has 0-4, 3.9 and 4.3 0-6.

     1  key type (KIP-98); error message and throttle time in the response
     2  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     3  same fields in the flexible encoding (KIP-482)
     4  several keys of one type, one result each (KIP-699)
     5  same fields; TRANSACTION_ABORTABLE may be answered (KIP-890)
     6  same fields; key type 2, whose keys are group:topic id:partition (KIP-932)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    nullable_string,
    string,
)


class FindCoordinatorRequest(Request, key=10, versions="0-6", flexible="3+"):
    key              = string("0-3")
    key_type         = int8("1+")
    coordinator_keys = array(string(), "4+")


class Coordinator(Struct):
    key           = string()
    node_id       = int32()
    host          = string()
    port          = int32()
    error_code    = int16()
    error_message = nullable_string(default="")


class FindCoordinatorResponse(Response, key=10, versions="0-6", flexible="3+"):
    throttle_time_ms = int32("1+", ignorable=True)
    coordinators     = array(Coordinator, "4+")
    error_code       = int16("0-3")
    error_message    = nullable_string("1-3", default="", ignorable=True)
    node_id          = int32("0-3")
    host             = string("0-3")
    port             = int32("0-3")
