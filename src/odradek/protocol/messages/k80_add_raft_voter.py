"""AddRaftVoter, API key 80: adds a controller to the voters of the metadata quorum (KIP-853).

From an admin, or from a controller that joins by itself; the leader of the quorum decides.

Versions 0-1, flexible. Not in Kafka 3.3; 3.9 has 0, 4.3 0-1.
On broker and controller listeners; a broker forwards it to the controller.

     1  request: whether to answer only when the new set is committed (KIP-1186)
"""

from odradek.protocol.declare import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    nullable_string,
    string,
    uint16,
    uuid,
)


class Listener(Struct):
    name = string()
    host = string()
    port = uint16()


class AddRaftVoterRequest(Request, key=80, versions="0-1", flexible="0+"):
    cluster_id         = nullable_string(default="")
    timeout_ms         = int32()
    voter_id           = int32()
    voter_directory_id = uuid()
    listeners          = array(Listener)
    ack_when_committed = boolean("1+", default=True)


class AddRaftVoterResponse(Response, key=80, versions="0-1", flexible="0+"):
    throttle_time_ms = int32()
    error_code       = int16()
    error_message    = nullable_string(default="")
