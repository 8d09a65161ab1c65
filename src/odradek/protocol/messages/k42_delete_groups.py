"""DeleteGroups, API key 42: an admin deletes groups that have no members, with their offsets (KIP-229).

To the coordinator of each group.

Versions 0-2, flexible from 2. The same in Kafka 3.3, 3.9 and 4.3.

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
"""

from odradek.protocol.declare import Request, Response, Struct, array, int16, int32, string


class DeleteGroupsRequest(Request, key=42, versions="0-2", flexible="2+"):
    groups_names = array(string())


class DeletableGroupResult(Struct):
    group_id   = string()
    error_code = int16()


class DeleteGroupsResponse(Response, key=42, versions="0-2", flexible="2+"):
    throttle_time_ms = int32()
    results          = array(DeletableGroupResult)
