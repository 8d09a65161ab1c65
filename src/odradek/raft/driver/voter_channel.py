"""The way to the other voters: a client's connections (`odradek.channel`), one per voter, to the address that its
endpoint on the controller listener names.

A request waits for its connection as long as it may wait for its answer. Versions are chosen by what each voter says
that it serves, so that voters of several releases understand each other.
"""

from odradek.channel.client_connection import PLAINTEXT, ChannelSecurity
from odradek.channel.config import ChannelConfig
from odradek.channel.in_flight import PendingResponse
from odradek.channel.network_client import NetworkClient
from odradek.channel.node import Node
from odradek.channel.unsent_requests import UnsentRequests
from odradek.protocol import errors
from odradek.protocol.declare import Request
from odradek.raft.config import RaftConfig
from odradek.raft.core.voters import Voter
from odradek.reactor.loop import Loop

# A Fetch may wait at its leader for half a second: what is asked of the same node meanwhile stands behind it.
IN_FLIGHT_MAX = 50


class VoterChannel:
    __slots__ = ("_client", "_unsent")

    def __init__(self, loop: Loop, node_id: int, config: RaftConfig, security: ChannelSecurity = PLAINTEXT) -> None:
        channel_config = ChannelConfig(
            client_id=f"raft-client-{node_id}",
            reconnect_backoff_ms=config.retry_backoff_ms,
            reconnect_backoff_max_ms=max(config.retry_backoff_ms, config.election_backoff_max_ms),
            socket_connection_setup_timeout_ms=config.request_timeout_ms,
            socket_connection_setup_timeout_max_ms=config.request_timeout_ms,
            request_timeout_ms=config.request_timeout_ms,
            max_in_flight_requests_per_connection=IN_FLIGHT_MAX,
        )
        self._client = NetworkClient(loop, channel_config, security=security)
        self._unsent = UnsentRequests(self._client)

    def send(self, voter: Voter, request: Request, version: int | None) -> PendingResponse:
        """The response of the class that the request has. BrokerNotAvailable if nobody knows where the voter is."""
        if not voter.endpoints:
            raise errors.BrokerNotAvailable(f"Voter {voter.id} has no known address.")
        at = voter.endpoints[0]
        return self._unsent.send(Node(voter.id, at.host, at.port), request, version=version)

    def close(self) -> None:
        self._unsent.close()
        self._client.close()
