"""LeaveGroup, API key 13: members leave a classic group, or an admin removes them.

To the group coordinator.

Versions 0-5, flexible from 4. The same in Kafka 3.3, 3.9 and 4.3.

     1  throttle time in the response
     2  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     3  several members, by member id or group instance id, one result each (KIP-345)
     4  same fields in the flexible encoding (KIP-482)
     5  request: the reason, per member (KIP-800)
"""

from odradek.protocol.declare import Request, Response, Struct, array, int16, int32, nullable_string, string


class MemberIdentity(Struct):
    member_id         = string()
    group_instance_id = nullable_string()
    reason            = nullable_string("5+", ignorable=True)


class LeaveGroupRequest(Request, key=13, versions="0-5", flexible="4+"):
    group_id  = string()
    member_id = string("0-2")
    members   = array(MemberIdentity, "3+")


class MemberResponse(Struct):
    member_id         = string()
    group_instance_id = nullable_string(default="")
    error_code        = int16()


class LeaveGroupResponse(Response, key=13, versions="0-5", flexible="4+"):
    throttle_time_ms = int32("1+", ignorable=True)
    error_code       = int16()
    members          = array(MemberResponse, "3+")
