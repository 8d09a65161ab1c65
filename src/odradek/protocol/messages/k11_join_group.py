"""JoinGroup, API key 11: a member of a classic group joins, or joins again, for a rebalance.

To the group coordinator. It holds the answer until all members have joined or the rebalance timeout is over; the
leader is told all the members and their metadata.

Versions 0-9, flexible from 6. The same in Kafka 3.3, 3.9 and 4.3.

     1  request: rebalance timeout apart from the session timeout (KIP-62)
     2  throttle time in the response
     3  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     4  same fields; a new member gets MEMBER_ID_REQUIRED and its id, and must join again with it (KIP-394)
     5  group instance id (KIP-345)
     6  same fields in the flexible encoding (KIP-482)
     7  response: protocol type, and the protocol name may be null (KIP-559)
     8  request: the reason for joining (KIP-800)
     9  response: skip_assignment, for a static leader that comes back (KIP-814)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    bytes_,
    int16,
    int32,
    nullable_string,
    string,
)


class JoinGroupRequestProtocol(Struct):
    name     = string()
    metadata = bytes_()


class JoinGroupRequest(Request, key=11, versions="0-9", flexible="6+"):
    group_id             = string()
    session_timeout_ms   = int32()
    rebalance_timeout_ms = int32("1+", default=-1, ignorable=True)
    member_id            = string()
    group_instance_id    = nullable_string("5+")
    protocol_type        = string()
    protocols            = array(JoinGroupRequestProtocol)
    reason               = nullable_string("8+", ignorable=True)


class JoinGroupResponseMember(Struct):
    member_id         = string()
    group_instance_id = nullable_string("5+", ignorable=True)
    metadata          = bytes_()


class JoinGroupResponse(Response, key=11, versions="0-9", flexible="6+"):
    throttle_time_ms = int32("2+", ignorable=True)
    error_code       = int16()
    generation_id    = int32(default=-1)
    protocol_type    = nullable_string("7+", ignorable=True)
    protocol_name    = nullable_string(nullable="7+", default="")
    leader           = string()
    skip_assignment  = boolean("9+")
    member_id        = string()
    members          = array(JoinGroupResponseMember)
