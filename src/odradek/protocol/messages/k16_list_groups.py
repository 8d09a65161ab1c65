"""ListGroups, API key 16."""

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
