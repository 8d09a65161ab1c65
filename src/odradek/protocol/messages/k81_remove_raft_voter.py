"""RemoveRaftVoter, API key 81: removes a controller from the voters of the metadata quorum (KIP-853).

From an admin; the leader of the quorum decides.

Version 0, flexible. Not in Kafka 3.3; 3.9 and 4.3 have 0.
On broker and controller listeners; a broker forwards it to the controller.
"""

from odradek.protocol.declare import Request, Response, int16, int32, nullable_string, uuid


class RemoveRaftVoterRequest(Request, key=81, versions="0", flexible="0+"):
    cluster_id         = nullable_string(default="")
    voter_id           = int32()
    voter_directory_id = uuid()


class RemoveRaftVoterResponse(Response, key=81, versions="0", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    error_message    = nullable_string(default="")
