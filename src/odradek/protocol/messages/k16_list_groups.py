"""ListGroups, API key 16: the groups that a broker coordinates, for admins.

An admin asks every broker to see all groups.

Versions 0-5, flexible from 3. Kafka 3.3 has 0-4, 3.9 and 4.3 0-5.

     1  throttle time in the response
     2  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     3  same fields in the flexible encoding (KIP-482)
     4  filter by state; state in the response (KIP-518)
     5  filter by type; type in the response (KIP-848)
"""

from odradek.protocol.declare import Request, Response, Struct, array, int16, int32, string


class ListGroupsRequest(Request, key=16, versions="0-5", flexible="3+"):
    states_filter = array(string(), "4+")
    types_filter  = array(string(), "5+")


class ListedGroup(Struct):
    group_id      = string()
    protocol_type = string()
    group_state   = string("4+", ignorable=True)
    group_type    = string("5+", ignorable=True)


class ListGroupsResponse(Response, key=16, versions="0-5", flexible="3+"):
    throttle_time_ms = int32("1+", ignorable=True)
    error_code       = int16()
    groups           = array(ListedGroup)
