"""DeleteTopics, API key 20: an admin deletes topics.

The controller decides; each topic succeeds or fails by itself (KIP-4).

Versions 0-6, flexible from 4. Kafka 3.3 and 3.9 have 0-6, 4.3 1-6. 4.0 dropped 0 (KIP-896).
On broker and controller listeners; a broker forwards it to the controller.

     1  throttle time in the response
     2  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     3  same fields; TOPIC_DELETION_DISABLED where deletion is off (KIP-322)
     4  same fields in the flexible encoding (KIP-482)
     5  response: error message; THROTTLING_QUOTA_EXCEEDED may be answered (KIP-599)
     6  topics by name or by id (KIP-516)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    nullable_string,
    string,
    uuid,
)


class DeleteTopicState(Struct):
    name     = nullable_string()
    topic_id = uuid()


class DeleteTopicsRequest(Request, key=20, versions="0-6", flexible="4+"):
    topic_names = array(string(), "0-5", ignorable=True)
    topics      = array(DeleteTopicState, "6+")
    timeout_ms  = int32()


class DeletableTopicResult(Struct):
    name          = nullable_string(nullable="6+", default="")
    topic_id      = uuid("6+", ignorable=True)
    error_code    = int16()
    error_message = nullable_string("5+", ignorable=True)


class DeleteTopicsResponse(Response, key=20, versions="0-6", flexible="4+"):
    throttle_time_ms = int32("1+", ignorable=True)
    responses        = array(DeletableTopicResult)
