"""Requests of other replicas. The core decides; what it lets through is read here, or waits for something to read."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from odradek.protocol import errors
from odradek.raft import effects, events, messages, snapshots
from odradek.raft.effects import Answer
from odradek.raft.keys import OffsetAndEpoch, ReplicaKey
from odradek.raft.messages import Refused
from odradek.raft.roles import Leader
from odradek.reactor.timers import Timer

if TYPE_CHECKING:
    from odradek.raft.client import RaftClient

HIGH_WATERMARK_UNKNOWN = 2**63 - 1


class Token:
    """Who waits for an answer, and how it is told."""

    __slots__ = ("_finish", "_respond")

    def __init__(self, finish: Callable[[Any], object], respond: Callable[[Answer], Any]) -> None:
        self._finish = finish
        self._respond = respond

    def answer(self, answer: Answer) -> None:
        self._finish(self._respond(answer))

    def resolve(self, response: Any) -> None:
        self._finish(response)


class FetchToken(Token):
    __slots__ = ("epoch", "high_watermark", "max_bytes", "max_wait_ms", "offset", "timer")

    def __init__(
        self, finish: Callable[[Any], object], respond: Callable[[Answer], Any], request: Any, asked: Any
    ) -> None:
        super().__init__(finish, respond)
        self.epoch = asked.current_leader_epoch
        self.offset = asked.fetch_offset
        self.high_watermark = asked.high_watermark
        self.max_bytes = request.max_bytes
        self.max_wait_ms = request.max_wait_ms
        self.timer: Timer | None = None


class SnapshotToken(Token):
    __slots__ = ("asked", "max_bytes", "snapshot_id")

    def __init__(self, finish: Callable[[Any], object], request: Any, asked: Any) -> None:
        self.snapshot_id = OffsetAndEpoch(asked.snapshot_id.end_offset, asked.snapshot_id.epoch)
        super().__init__(finish, lambda answer: messages.snapshot_response(answer, self.snapshot_id))
        self.asked = asked
        self.max_bytes = request.max_bytes


Finish = Callable[[Any], object]


class Inbound:
    __slots__ = ("_client", "_parked")

    def __init__(self, client: "RaftClient") -> None:
        self._client = client
        self._parked: dict[FetchToken, None] = {}

    # Requests.

    def vote(self, request: Any, version: int) -> Any:
        from odradek.protocol.messages.k52_vote import VoteResponse

        def event(finish: Finish) -> events.Event:
            return messages.vote_event(request, self._client.cluster_id, Token(finish, messages.vote_response))

        return self._take(event, VoteResponse, version)

    def begin_quorum_epoch(self, request: Any, version: int) -> Any:
        from odradek.protocol.messages.k53_begin_quorum_epoch import BeginQuorumEpochResponse

        def event(finish: Finish) -> events.Event:
            return messages.begin_event(request, self._client.cluster_id, Token(finish, messages.begin_response))

        return self._take(event, BeginQuorumEpochResponse, version)

    def end_quorum_epoch(self, request: Any, version: int) -> Any:
        from odradek.protocol.messages.k54_end_quorum_epoch import EndQuorumEpochResponse

        def event(finish: Finish) -> events.Event:
            return messages.end_event(request, self._client.cluster_id, Token(finish, messages.end_response))

        return self._take(event, EndQuorumEpochResponse, version)

    def fetch(self, request: Any, version: int) -> Any:
        from odradek.protocol.messages.k01_fetch import FetchResponse

        def event(finish: Finish) -> events.Event:
            asked = messages.fetched_partition(request, self._client.cluster_id)
            token = FetchToken(finish, self._fetch_response, request, asked)
            replica = messages.fetching_replica(request, asked)
            return events.FetchRequested(
                token, replica, asked.current_leader_epoch, asked.fetch_offset, asked.last_fetched_epoch
            )

        return self._take(event, FetchResponse, version)

    def fetch_snapshot(self, request: Any, version: int) -> Any:
        from odradek.protocol.messages.k59_fetch_snapshot import FetchSnapshotResponse

        def event(finish: Finish) -> events.Event:
            messages.ensure_cluster(self._client.cluster_id, request.cluster_id)
            asked = messages.sole_partition(request.topics, "name", "partition")
            replica = ReplicaKey(request.replica_id, asked.replica_directory_id)
            token = SnapshotToken(finish, request, asked)
            return events.SnapshotRequested(token, replica, asked.current_leader_epoch)

        return self._take(event, FetchSnapshotResponse, version)

    def _take(self, event: Callable[[Finish], events.Event], response: Any, version: int) -> Any:
        """The event of a request goes to the core; a request that makes none is refused as a whole."""
        client = self._client
        pending = client.loop.pending()

        def finish(told: Any) -> None:
            messages.add_endpoint(told, version, client.core.leader_id, client.voters)
            pending.resolve(told)

        try:
            if not client.is_running:
                raise Refused(errors.BrokerNotAvailable)
            client.happened(event(finish))
        except Refused as refused:
            return response(error_code=refused.code)
        return pending

    # What the core says to them.

    def serve(self, effect: effects.Serve) -> None:
        token = effect.token
        if isinstance(token, FetchToken):
            self._serve_fetch(token)
        else:
            self._client.loop.spawn(self._serve_snapshot(token))

    def _answer(self, error: type[errors.KafkaError] | None = None) -> Answer:
        core = self._client.core
        return Answer(None, errors.NONE if error is None else error.code, core.leader_id, core.epoch)

    # Fetch.

    def _fetch_response(self, answer: Answer, records: bytes = b"") -> Any:
        client = self._client
        return messages.fetch_response(answer, client.high_watermark, client.log.log_start_offset, records)

    def _serve_fetch(self, token: FetchToken) -> None:
        if self._has_news(token) or token.max_wait_ms <= 0:
            self._client.loop.spawn(self._send_records(token))
        else:
            self._parked[token] = None
            token.timer = self._client.loop.after(token.max_wait_ms, lambda: self._release(token))

    def _has_news(self, token: FetchToken) -> bool:
        core = self._client.core
        has_changed = not isinstance(core.role, Leader) or core.epoch != token.epoch
        is_behind = token.high_watermark != HIGH_WATERMARK_UNKNOWN and token.high_watermark < core.high_watermark
        return has_changed or is_behind or token.offset < core.log.end.offset

    def wake(self, *, everyone: bool = False) -> None:
        """Records came, or for everyone: the high watermark moved or leadership changed."""
        for token in list(self._parked):
            if everyone or self._has_news(token):
                self._release(token)

    def _release(self, token: FetchToken) -> None:
        if token not in self._parked:
            return
        del self._parked[token]
        assert token.timer is not None
        token.timer.cancel()
        self._client.loop.spawn(self._send_records(token))

    async def _send_records(self, token: FetchToken) -> None:
        client = self._client
        max_bytes = max(0, min(token.max_bytes, client.config.fetch_bytes))
        try:
            records = await client.log.read(token.offset, max_bytes, is_committed=False)
        except errors.KafkaError:
            records = b""  # truncated or cleaned meanwhile: the next Fetch is told so
        core = client.core
        if isinstance(core.role, Leader) and core.epoch == token.epoch:
            token.resolve(self._fetch_response(self._answer(), records))
        else:
            token.resolve(self._fetch_response(self._answer(errors.NotLeaderOrFollower)))

    # FetchSnapshot.

    async def _serve_snapshot(self, token: SnapshotToken) -> None:
        client = self._client
        position, snapshot_id = token.asked.position, token.snapshot_id
        is_known = any(facts.id == snapshot_id for facts in client.log.snapshots)
        found: tuple[int, bytes] | None = None
        if is_known:
            max_bytes = max(1, min(token.max_bytes, client.config.fetch_snapshot_bytes))
            job = snapshots.read_piece_job(
                client.loop.ports.disk, client.log.directory, snapshot_id, position, max_bytes
            )
            found = await client.guarded(client.loop.submit(job))
        if found is None:
            token.answer(self._answer(errors.SnapshotNotFound))
        elif not 0 <= position < found[0]:
            token.answer(self._answer(errors.PositionOutOfRange))
        else:
            size, data = found
            token.resolve(messages.snapshot_response(self._answer(), snapshot_id, size, position, data))
