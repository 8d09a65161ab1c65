"""DescribeQuorum, versions 0-2: leader, voters and observers of the metadata quorum (KIP-595).

     1  response: when each replica last fetched and was last caught up (KIP-836)
     2  response: error messages, directory ids, listeners of the nodes (KIP-853)

Who may: DESCRIBE on the cluster. Errors: as the quorum says.
"""

from odradek.handlers.call import ControllerCall
from odradek.handlers.permission import on_cluster
from odradek.handlers.serves import serves
from odradek.protocol.messages.k55_describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from odradek.security.acl import DESCRIBE


@serves(DescribeQuorumRequest, versions="0-2", on="controller", allow=on_cluster(DESCRIBE))
def describe_quorum(call: ControllerCall, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    return call.services.raft.describe_quorum(request, call.version)
