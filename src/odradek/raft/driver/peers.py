"""What speaks with other replicas, imported and made when there are any: a sole voter starts without it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.broken_rule import present
from odradek.raft.driver.event_queue import EventQueue
from odradek.raft.driver.replica import Replica

if TYPE_CHECKING:
    from odradek.raft.driver.exchange import Exchange, VoterConnections
    from odradek.raft.driver.inbound import Inbound
    from odradek.raft.driver.outbound import Outbound
    from odradek.raft.driver.snapshot_fetching import SnapshotFetching


class Peers:
    __slots__ = ("_connect", "_connections", "_inbound", "_outbound", "_queue", "_replica", "_snapshot_fetching")

    def __init__(self, replica: Replica, queue: EventQueue, connect: "Callable[[], VoterConnections] | None") -> None:
        """`connect` makes the way to other voters; a replica that is its quorum's only one never asks for it."""
        self._replica = replica
        self._queue = queue
        self._connect = connect
        self._connections: VoterConnections | None = None
        self._inbound: Inbound | None = None
        self._outbound: Outbound | None = None
        self._snapshot_fetching: SnapshotFetching | None = None

    def inbound(self) -> "Inbound":
        if self._inbound is None:
            from odradek.raft.driver.inbound import Inbound

            self._inbound = Inbound(self._replica, self._queue)
        return self._inbound

    def outbound(self) -> "Outbound":
        if self._outbound is None:
            from odradek.raft.driver.outbound import Outbound

            self._outbound = Outbound(self._replica, self._queue, self._exchange())
        return self._outbound

    def snapshot_fetching(self) -> "SnapshotFetching":
        if self._snapshot_fetching is None:
            from odradek.raft.driver.snapshot_fetching import SnapshotFetching

            self._snapshot_fetching = SnapshotFetching(self._replica, self._queue, self._exchange())
        return self._snapshot_fetching

    def _exchange(self) -> "Exchange":
        from odradek.raft.driver.exchange import Exchange

        if self._connections is None:
            connect = present(self._connect, "a quorum of several voters has a way to send")
            self._connections = connect()
        return Exchange(self._replica, self._connections)

    def wake_fetches(self, *, everyone: bool = False) -> None:
        """Records came, or for everyone: the high watermark moved or leadership changed."""
        if self._inbound is not None:
            self._inbound.wake(everyone=everyone)

    def close(self) -> None:
        """No request goes out any more; those that were not answered fail."""
        if self._connections is not None:
            self._connections.close()
