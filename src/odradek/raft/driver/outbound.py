"""Requests of an election and of following. Each is answered or, after a pause, has failed: either becomes an event."""

from collections.abc import Callable
from typing import Any

from odradek.protocol import errors
from odradek.protocol.declare import Request
from odradek.raft import messages
from odradek.raft.core import effects, events
from odradek.raft.driver.event_queue import EventQueue
from odradek.raft.driver.exchange import Exchange
from odradek.raft.driver.replica import Replica

PRE_VOTE_SINCE = 2  # the version of Vote that can ask for one

Parse = Callable[[Any], events.Event]  # of the response that belongs to the request


class Outbound:
    __slots__ = ("_exchange", "_queue", "_replica")

    def __init__(self, replica: Replica, queue: EventQueue, exchange: Exchange) -> None:
        self._replica = replica
        self._queue = queue
        self._exchange = exchange

    def vote(self, effect: effects.SendVote) -> None:
        replica = self._replica
        voter = replica.core.voters.get(effect.to)
        if voter is not None:
            request = messages.vote_request(effect, replica.settings.cluster_id, replica.me, voter.key)
            replica.loop.spawn(self._ask_for_vote(effect, request))

    def begin_quorum_epoch(self, effect: effects.SendBeginQuorumEpoch) -> None:
        replica = self._replica
        voter = replica.core.voters.get(effect.to)
        if voter is not None:
            request = messages.begin_request(
                effect, replica.settings.cluster_id, replica.me, voter.key, replica.core.voters
            )
            failed = events.RequestFailed(effect.to, effect.epoch, events.BEGIN_QUORUM_EPOCH)
            replica.loop.spawn(self._ask(effect.to, request, _epoch_answer(effect.to, effect.epoch), failed))

    def end_quorum_epoch(self, effect: effects.SendEndQuorumEpoch) -> None:
        replica = self._replica
        request = messages.end_request(effect, replica.settings.cluster_id, replica.me, replica.core.voters)
        failed = events.RequestFailed(effect.to, effect.epoch, events.END_QUORUM_EPOCH)
        replica.loop.spawn(self._ask(effect.to, request, _epoch_answer(effect.to, effect.epoch), failed))

    def fetch(self, effect: effects.SendFetch) -> None:
        replica = self._replica
        version = replica.settings.fetch_version
        request = messages.fetch_request(effect, replica.settings.cluster_id, replica.me, replica.config, version)
        replica.loop.spawn(self._fetch(effect, request, version))

    async def _ask_for_vote(self, effect: effects.SendVote, request: Request) -> None:
        version = PRE_VOTE_SINCE if effect.is_pre_vote else None
        found = await self._exchange.ask(
            effect.to, request, lambda response: messages.vote_answer(response, effect), version
        )
        if isinstance(found, errors.UnsupportedVersion):
            # No pause: a voter of an older release will never say anything else.
            found = events.VoteAnswered(effect.to, effect.epoch, effect.is_pre_vote, found.code, None, -1, False)
        await self._tell(found, events.RequestFailed(effect.to, effect.epoch, events.VOTE))

    async def _fetch(self, effect: effects.SendFetch, request: Request, version: int) -> None:
        found = await self._exchange.ask(
            effect.to, request, lambda response: messages.fetch_answer(response, effect), version
        )
        if not isinstance(found, Exception) and found.error_code:
            # An error without news is as good as no answer: the same question at once would only be the same error.
            await self._replica.loop.sleep(self._replica.config.retry_backoff_ms)
        await self._tell(found, events.RequestFailed(effect.to, effect.epoch, events.FETCH, effect.fetch_id))

    async def _ask(self, to: int, request: Request, parse: Parse, failed: events.RequestFailed) -> None:
        await self._tell(await self._exchange.ask(to, request, parse), failed)

    async def _tell(self, found: events.Event | Exception, failed: events.RequestFailed) -> None:
        """The core of what an answer said; of a failure after a pause."""
        if isinstance(found, Exception):
            await self._replica.loop.sleep(self._replica.config.retry_backoff_ms)
            self._queue.happened(failed)
        else:
            self._queue.happened(found)


def _epoch_answer(to: int, epoch: int) -> Parse:
    return lambda response: messages.quorum_epoch_answer(response, to, epoch)
