"""A question to another voter and what its answer says; an error, if none came in time or none that makes sense."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from odradek.channel.in_flight import PendingResponse
from odradek.protocol import errors
from odradek.protocol.declare import Request
from odradek.protocol.errors import PeerProtocolError
from odradek.raft.core.voters import Voter
from odradek.raft.driver.replica import Replica
from odradek.reactor.pending import Pending

S = TypeVar("S")


class VoterConnections(Protocol):
    """The way to other voters. Between nodes it is `voter_channel.py`."""

    def send(self, voter: Voter, request: Request, version: int | None) -> PendingResponse:
        """The response, of the class that belongs to the request. Without a `version` it is asked in the newest that
        both sides know.

        Fails with a KafkaError if the request cannot be sent or is not answered, UnsupportedVersion if the voter does
        not serve that version.
        """
        ...

    def close(self) -> None: ...


class Exchange:
    __slots__ = ("_connections", "_replica")

    def __init__(self, replica: Replica, connections: VoterConnections) -> None:
        self._replica = replica
        self._connections = connections

    async def ask(
        self, to: int, request: Request, parse: Callable[[Any], S], version: int | None = None
    ) -> S | Exception:
        """What `parse` makes of the response, whose class follows from the request: mypy does not see that."""
        replica = self._replica
        voter = replica.core.voters.get(to)
        if voter is None or not replica.is_running:  # the way to others is closed when we stop
            return errors.BrokerNotAvailable(f"Node {to} is no voter, or this one has stopped.")
        result: Pending[PendingResponse | None] = replica.loop.pending()
        try:
            self._connections.send(voter, request, version).when_done(result.resolve)
        except (errors.KafkaError, OSError) as error:
            return error
        timer = replica.loop.after(replica.config.request_timeout_ms, lambda: result.resolve(None))
        done = await result
        timer.cancel()
        if done is None:
            return errors.RequestTimedOut()
        try:
            return parse(done.value())
        except (errors.KafkaError, PeerProtocolError, OSError) as error:
            return error
