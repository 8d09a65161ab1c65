"""CreatePartitions, API key 37: an admin adds partitions to topics (KIP-195).

The controller decides. The count is the new total; null assignments leave the placement to the controller.

Versions 0-3, flexible from 2. The same in Kafka 3.3, 3.9 and 4.3.
On broker and controller listeners; a broker forwards it to the controller.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  same fields; THROTTLING_QUOTA_EXCEEDED may be answered (KIP-599)
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


class CreatePartitionsAssignment(Struct):
    broker_ids = array(int32())


class CreatePartitionsTopic(Struct):
    name        = string()
    count       = int32()
    assignments = nullable_array(CreatePartitionsAssignment, default=[])


class CreatePartitionsRequest(Request, key=37, versions="0-3", flexible="2+"):
    topics        = array(CreatePartitionsTopic)
    timeout_ms    = int32()
    validate_only = boolean()


class CreatePartitionsTopicResult(Struct):
    name          = string()
    error_code    = int16()
    error_message = nullable_string()


class CreatePartitionsResponse(Response, key=37, versions="0-3", flexible="2+"):
    throttle_time_ms = int32()
    results          = array(CreatePartitionsTopicResult)
