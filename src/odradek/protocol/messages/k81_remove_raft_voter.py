"""RemoveRaftVoter, API key 81."""

from odradek.protocol.declare import Request, Response, int16, int32, nullable_string, uuid


class RemoveRaftVoterRequest(Request, key=81, versions="0", flexible="0+"):
    cluster_id         = nullable_string(default="")
    voter_id           = int32()
    voter_directory_id = uuid()


class RemoveRaftVoterResponse(Response, key=81, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    error_message    = nullable_string(default="")
