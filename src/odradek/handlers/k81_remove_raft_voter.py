"""RemoveRaftVoter, version 0: a broker hands it on to the active controller (`handlers/controller/`).

Who may: ALTER on the cluster; asked by the controller. Errors: as the leader of the quorum says.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.forward import forward
from odradek.handlers.serves import serves
from odradek.protocol.messages.k81_remove_raft_voter import (
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)


@serves(RemoveRaftVoterRequest, versions="0")
async def remove_raft_voter(call: BrokerCall, request: RemoveRaftVoterRequest) -> RemoveRaftVoterResponse:
    return await forward(call, request, RemoveRaftVoterResponse)
