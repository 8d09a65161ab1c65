"""Heartbeat, API key 12: a member of a classic group says that it lives, and learns of rebalances.

To the group coordinator; REBALANCE_IN_PROGRESS in the answer tells the member to join again.

Versions 0-4, flexible from 4. The same in Kafka 3.3, 3.9 and 4.3.

     1  throttle time in the response
     2  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     3  request: group instance id (KIP-345)
     4  same fields in the flexible encoding (KIP-482)
"""

from odradek.protocol.declare import Request, Response, int16, int32, nullable_string, string


class HeartbeatRequest(Request, key=12, versions="0-4", flexible="4+"):
    group_id          = string()
    generation_id     = int32()
    member_id         = string()
    group_instance_id = nullable_string("3+")


class HeartbeatResponse(Response, key=12, versions="0-4", flexible="4+"):
    throttle_time_ms = int32("1+", ignorable=True)
    error_code       = int16()
