"""Requests of other replicas: each becomes an event of the core, whose decision is its answer or lets it through.

Each method returns a response, or a Pending of it. From some version on it tells where the leader is.
"""

from collections.abc import Callable
from typing import TypeVar

from odradek.broken_rule import instance
from odradek.protocol import errors
from odradek.protocol.declare import Response
from odradek.protocol.messages import (
    k01_fetch,
    k52_vote,
    k53_begin_quorum_epoch,
    k54_end_quorum_epoch,
    k59_fetch_snapshot,
)
from odradek.raft import messages
from odradek.raft.core import effects, events
from odradek.raft.driver.event_queue import EventQueue
from odradek.raft.driver.fetch_serving import FetchServing, WaitingFetch
from odradek.raft.driver.replica import Replica
from odradek.raft.driver.snapshot_serving import SnapshotServing, WaitingSnapshotFetch
from odradek.raft.driver.waiting_request import Finish, WaitingRequest
from odradek.raft.keys import ReplicaKey
from odradek.raft.messages import Refused
from odradek.reactor.pending import Pending

R = TypeVar("R", bound=Response)


class Inbound:
    __slots__ = ("_fetches", "_queue", "_replica", "_snapshots")

    def __init__(self, replica: Replica, queue: EventQueue) -> None:
        self._replica = replica
        self._queue = queue
        self._fetches = FetchServing(replica)
        self._snapshots = SnapshotServing(replica)

    # Requests.

    def vote(self, request: k52_vote.VoteRequest, version: int) -> "k52_vote.VoteResponse | Pending[Response]":
        def event(finish: Finish) -> events.Event:
            return messages.vote_event(request, self._cluster_id, WaitingRequest(finish, messages.vote_response))

        return self._take(event, k52_vote.VoteResponse, version)

    def begin_quorum_epoch(
        self, request: k53_begin_quorum_epoch.BeginQuorumEpochRequest, version: int
    ) -> "k53_begin_quorum_epoch.BeginQuorumEpochResponse | Pending[Response]":
        def event(finish: Finish) -> events.Event:
            return messages.begin_event(request, self._cluster_id, WaitingRequest(finish, messages.begin_response))

        return self._take(event, k53_begin_quorum_epoch.BeginQuorumEpochResponse, version)

    def end_quorum_epoch(
        self, request: k54_end_quorum_epoch.EndQuorumEpochRequest, version: int
    ) -> "k54_end_quorum_epoch.EndQuorumEpochResponse | Pending[Response]":
        def event(finish: Finish) -> events.Event:
            return messages.end_event(request, self._cluster_id, WaitingRequest(finish, messages.end_response))

        return self._take(event, k54_end_quorum_epoch.EndQuorumEpochResponse, version)

    def fetch(self, request: k01_fetch.FetchRequest, version: int) -> "k01_fetch.FetchResponse | Pending[Response]":
        def event(finish: Finish) -> events.Event:
            asked = messages.fetched_partition(request, self._cluster_id)
            fetch = WaitingFetch(finish, self._replica, request, asked)
            replica = messages.fetching_replica(request, asked)
            return events.FetchRequested(
                fetch, replica, asked.current_leader_epoch, asked.fetch_offset, asked.last_fetched_epoch
            )

        return self._take(event, k01_fetch.FetchResponse, version)

    def fetch_snapshot(
        self, request: k59_fetch_snapshot.FetchSnapshotRequest, version: int
    ) -> "k59_fetch_snapshot.FetchSnapshotResponse | Pending[Response]":
        def event(finish: Finish) -> events.Event:
            asked = messages.asked_snapshot(request, self._cluster_id)
            replica = ReplicaKey(request.replica_id, asked.replica_directory_id)
            fetch = WaitingSnapshotFetch(finish, request, asked)
            return events.SnapshotRequested(fetch, replica, asked.current_leader_epoch)

        return self._take(event, k59_fetch_snapshot.FetchSnapshotResponse, version)

    @property
    def _cluster_id(self) -> str | None:
        return self._replica.settings.cluster_id

    def _take(
        self, event: Callable[[Finish], events.Event], response: Callable[..., R], version: int
    ) -> "R | Pending[Response]":
        """The event of a request goes to the core; a request that makes none is refused as a whole."""
        replica = self._replica
        pending: Pending[Response] = replica.loop.pending()

        def finish(told: Response) -> None:
            messages.add_endpoint(told, version, replica.core.leader_id, replica.core.voters)
            pending.resolve(told)

        try:
            if not replica.is_running:
                raise Refused(errors.BrokerNotAvailable)
            self._queue.happened(event(finish))
        except Refused as refused:
            return response(error_code=refused.code)
        return pending

    # What the core lets through.

    def serve(self, effect: effects.Serve) -> None:
        token = effect.token
        if isinstance(token, WaitingFetch):
            self._fetches.serve(token)
        else:
            rule = "only fetches of records and of snapshots are let through"
            self._snapshots.serve(instance(token, WaitingSnapshotFetch, rule))

    def wake(self, *, everyone: bool = False) -> None:
        """Records came, or for everyone: the high watermark moved or leadership changed."""
        self._fetches.wake(everyone=everyone)
