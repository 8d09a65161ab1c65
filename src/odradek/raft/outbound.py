"""Requests to other replicas: each is answered, or fails after a while and a pause; either becomes an event."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from odradek.protocol import errors
from odradek.protocol.errors import PeerProtocolError
from odradek.raft import effects, events, messages, snapshots
from odradek.raft.roles import Follower
from odradek.reactor.pending import Pending

if TYPE_CHECKING:
    from odradek.raft.client import RaftClient

# To a node, a request; fails if it cannot be sent or answered. Between processes that is `channel.UnsentRequests.send`,
# with the voter's address on the controller listener for its number.
Send = Callable[[int, Any], Pending[Any]]


class Outbound:
    __slots__ = ("_client", "_send")

    def __init__(self, client: "RaftClient", send: Send) -> None:
        self._client = client
        self._send = send

    # The four kinds of an election and of following.

    def vote(self, effect: effects.SendVote) -> None:
        client = self._client
        voter = client.core.voters.get(effect.to)
        if voter is not None:
            request = messages.vote_request(effect, client.cluster_id, client.me, voter.key)
            self._ask(effect, request, events.VOTE, lambda response: messages.vote_answer(response, effect))

    def begin_quorum_epoch(self, effect: effects.SendBeginQuorumEpoch) -> None:
        client = self._client
        if client.core.voters.get(effect.to) is not None:
            request = messages.begin_request(effect, client.cluster_id, client.me, client.core.voters)
            self._ask(effect, request, events.BEGIN_QUORUM_EPOCH, self._epoch_answer(effect))

    def end_quorum_epoch(self, effect: effects.SendEndQuorumEpoch) -> None:
        client = self._client
        request = messages.end_request(effect, client.cluster_id, client.me, client.core.voters)
        self._ask(effect, request, events.END_QUORUM_EPOCH, self._epoch_answer(effect))

    def fetch(self, effect: effects.SendFetch) -> None:
        client = self._client
        request = messages.fetch_request(effect, client.cluster_id, client.me, client.config, client.fetch_version)
        self._ask(effect, request, events.FETCH, lambda response: messages.fetch_answer(response, effect))

    def _epoch_answer(self, effect: Any) -> Callable[[Any], events.Event]:
        return lambda response: messages.quorum_epoch_answer(response, effect.to, effect.epoch)

    def _ask(self, effect: Any, request: Any, kind: str, parse: Callable[[Any], events.Event]) -> None:
        self._client.loop.spawn(self._exchange_and_tell(effect, request, kind, parse))

    async def _exchange_and_tell(
        self, effect: Any, request: Any, kind: str, parse: Callable[[Any], events.Event]
    ) -> None:
        fetch_id = effect.fetch_id if isinstance(effect, effects.SendFetch) else 0
        failed = events.RequestFailed(effect.to, effect.epoch, kind, fetch_id)
        event = await self._exchange(effect.to, request, parse)
        if isinstance(event, errors.UnsupportedVersion) and isinstance(effect, effects.SendVote):
            event = events.VoteAnswered(effect.to, effect.epoch, effect.is_pre_vote, event.code, None, -1, False)
        elif event is None or isinstance(event, BaseException):
            event = failed
        # An error without news is as good as no answer: the same question at once would only be the same error.
        if event is failed or (kind == events.FETCH and event.error_code):
            await self._client.loop.sleep(self._client.config.retry_backoff_ms)
        self._client.happened(event)

    async def _exchange(self, to: int, request: Any, parse: Callable[[Any], Any]) -> Any:
        """What the answer says; None or an error if there was none, or none that makes sense."""
        result = self._client.loop.pending()
        try:
            self._send(to, request).when_done(result.resolve)
        except (errors.KafkaError, OSError) as error:
            return error
        timer = self._client.loop.after(self._client.config.request_timeout_ms, lambda: result.resolve(None))
        done: Pending[Any] | None = await result
        timer.cancel()
        if done is None:
            return None
        try:
            return parse(done.value())
        except (errors.KafkaError, PeerProtocolError, OSError) as error:
            return error

    # A snapshot, piece by piece.

    def snapshot(self, effect: effects.FetchSnapshot) -> None:
        self._client.loop.spawn(self._fetch_snapshot(effect))

    async def _fetch_snapshot(self, effect: effects.FetchSnapshot) -> None:
        client = self._client
        name, path = client.log.part_path(effect.snapshot_id)
        position, size = 0, 1
        while position < size:
            piece = await self._piece(effect, position)
            if not self.is_wanted(effect):
                break
            if isinstance(piece, events.SnapshotFailed):
                await client.loop.sleep(client.config.retry_backoff_ms)
                client.happened(piece)
                break
            client.happened(events.SnapshotPieceArrived(effect.leader_id, effect.epoch))
            size, data = piece
            job = snapshots.append_piece_job(client.loop.ports.disk, path, position, data)
            position = await client.guarded(client.log.run(job))
        if position < size:
            await client.guarded(client.loop.submit(snapshots.remove_job(client.loop.ports.disk, [path])))
        else:
            client.install(effect, name)

    def is_wanted(self, effect: effects.FetchSnapshot) -> bool:
        role = self._client.core.role
        return (
            isinstance(role, Follower)
            and role.fetching_snapshot
            and (role.leader_id, role.epoch) == (effect.leader_id, effect.epoch)
        )

    async def _piece(self, effect: effects.FetchSnapshot, position: int) -> Any:
        """(size of the whole, bytes) or SnapshotFailed."""
        client = self._client
        request = messages.snapshot_request(
            effect, client.cluster_id, client.me, position, client.config.fetch_snapshot_bytes
        )
        found = await self._exchange(
            effect.leader_id, request, lambda response: messages.snapshot_piece(response, effect, position)
        )
        if found is None or isinstance(found, BaseException):
            return events.SnapshotFailed(effect.epoch)
        return found
