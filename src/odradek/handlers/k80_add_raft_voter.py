"""AddRaftVoter, versions 0-1: a broker hands it on to the active controller (`handlers/controller/`).

     1  request: whether to answer only when the new set is committed (KIP-1186)

Who may: ALTER on the cluster; asked by the controller. Errors: as the leader of the quorum says.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.forward import forward
from odradek.handlers.serves import serves
from odradek.protocol.messages.k80_add_raft_voter import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
)


@serves(AddRaftVoterRequest, versions="0-1")
async def add_raft_voter(call: BrokerCall, request: AddRaftVoterRequest) -> AddRaftVoterResponse:
    return await forward(call, request, AddRaftVoterResponse)
