"""DeleteGroups, API key 42."""

from odradek.protocol.declare import Request, Response, Struct, array, int16, int32, string


class DeleteGroupsRequest(Request, key=42, versions="0-2", flexible="2+"):
    groups_names = array(string())


class DeletableGroupResult(Struct):
    group_id   = string()
    error_code = int16()


class DeleteGroupsResponse(Response, key=42, versions="0-2", flexible="2+"):
    throttle_time_ms = int32()
    results          = array(DeletableGroupResult)
