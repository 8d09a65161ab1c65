"""A consumer on the side of its program: what its methods do beside polling (`polling.py`), for threads and asyncio."""

import re
from collections.abc import Iterable

from odradek.client.consumer.arguments import place_of, subscription_of
from odradek.client.consumer.group_session import Subscription
from odradek.client.consumer.offset_reset import ResetStrategy
from odradek.client.consumer.polling import AsynchronousCommit, CommitCallback, Polling
from odradek.client.consumer.rebalance_listener import RebalanceListener
from odradek.client.consumer.session import ConsumerSession
from odradek.client.consumer.steps import Do
from odradek.client.host.session import Operation, T
from odradek.client.offsets import OffsetAndMetadata, Offsets, with_metadata
from odradek.protocol.topic_partition import TopicPartition

ALL, FINISHED, NOTHING = "all", "finished", "nothing"  # what is committed at the close


class Caller(Polling):
    # Subscription and assignment

    async def subscribe(self, topics: str | Iterable[str] | re.Pattern[str], listener: RebalanceListener) -> None:
        wanted = subscription_of(topics)
        self._check_group()
        if not wanted:
            await self.unsubscribe()
            return
        group = self.settings.group
        if group is not None and not group.speaks_epochs and not group.assignors:
            raise RuntimeError("no assignor is configured: set partition.assignment.strategy")
        if self._is_assigned:
            raise RuntimeError("this consumer was assigned partitions: unsubscribe() before you subscribe")
        if self.subscription and (self.subscription.pattern is None) != (wanted.pattern is None):
            raise RuntimeError("names and patterns exclude each other: unsubscribe() first")
        self._listener = listener
        self.subscription = wanted
        self._first = None
        self.host.session()
        await self._put_back(place for place in self.in_hand.kept() if place.topic not in wanted.topics)
        await Do(lambda session: session.subscribe(wanted), is_wakeable=False)

    async def assign(self, partitions: Iterable[TopicPartition]) -> None:
        places = [place_of(each) for each in partitions]
        if self.subscription:
            raise RuntimeError("this consumer has subscribed: unsubscribe() before you assign partitions")
        session = self.host.session()
        if not places:
            await self.unsubscribe()
            return
        if self._commits_by_itself and (finished := self._finished(session)):
            self._start_commit(AsynchronousCommit(finished, None, is_automatic=True))
        self._is_assigned = True
        self.in_hand.drop(session.state.assigned() - set(places))
        await Do(lambda session: session.assign(places), is_wakeable=False)

    async def unsubscribe(self) -> None:
        """What it owns is given back, as in a rebalance; then it leaves the group."""
        session = self.host.session()
        self.in_hand.finished()
        await Do(lambda session: session.unsubscribe(), is_wakeable=False)
        await self._make_changes()
        self.in_hand.drop(session.state.assigned() | set(self.in_hand.kept()))
        self.subscription, self._first, self._is_assigned = Subscription(), None, False

    # Commits

    async def commit_sync(self, offsets: Offsets | None, timeout: float | None) -> None:
        session = await self._begin()
        self._check_group()
        timeout_ms = self._timeout_ms(timeout)
        await self._run_outcomes(session)
        wanted = self._consumed(session) if offsets is None else {place_of(each): offsets[each] for each in offsets}
        if not wanted:
            await Do(lambda session: session.finish_commits(timeout_ms))
            await self._run_outcomes(session)
            return
        try:
            await Do(lambda session: session.commit(wanted, timeout_ms))
        finally:
            await self._run_outcomes(session)
        self._interceptors.on_commit({place: with_metadata(offset) for place, offset in wanted.items()})

    async def commit_async(self, offsets: Offsets | None, callback: CommitCallback | None) -> AsynchronousCommit:
        session = await self._begin()
        self._check_group()
        await self._run_outcomes(session)
        wanted = self._consumed(session) if offsets is None else {place_of(each): offsets[each] for each in offsets}
        return AsynchronousCommit(wanted, callback)

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout: float | None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        await self._begin()
        self._check_group()
        places = [place_of(each) for each in partitions]
        found: dict[TopicPartition, OffsetAndMetadata | None] = await Do(
            lambda session: session.committed(places, self._timeout_ms(timeout))
        )
        return found

    # Positions

    async def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        place, wanted = place_of(partition), with_metadata(offset)
        await self._begin()
        await Do(lambda session: session.seek(place, wanted), is_wakeable=False)
        self.in_hand.drop([place])

    async def reset(self, partitions: Iterable[TopicPartition], strategy: ResetStrategy) -> None:
        session = await self._begin()
        places = [place_of(each) for each in partitions]
        await Do(lambda session: session.reset(places, strategy), is_wakeable=False)
        self.in_hand.drop(places or session.state.assigned())

    async def seek_to_committed(self, partitions: Iterable[TopicPartition], timeout: float | None) -> None:
        """What a transaction has committed counts, also if the coordinator has not written it yet: what is read again
        would be written a second time.
        """
        session = await self._begin()
        self._check_group()
        places = [place_of(each) for each in partitions] or sorted(session.state.assigned())
        timeout_ms = self._timeout_ms(timeout)
        committed = await Do(lambda session: session.committed(places, timeout_ms, is_stable=True))
        for place in places:
            target = committed.get(place) or session.state.began_at(place)
            if target is not None:  # else nothing was read of it
                await self.seek(place, target)

    async def position(self, partition: TopicPartition, timeout: float | None) -> int:
        place = place_of(partition)
        await self._begin()
        kept = self.in_hand.kept().get(place)
        if kept is not None:
            return kept.offset
        found: int = await Do(lambda session: session.position(place, self._timeout_ms(timeout)))
        return found

    def current_lag(self, place: TopicPartition) -> int | None:
        state = self.host.session().state
        lag, kept = state.lag(place), self.in_hand.kept().get(place)
        if lag is None:
            self.host.tell(lambda session: session.find_end(place))
        if lag is None or kept is None:
            return lag
        return lag + max(0, (state.position(place) or 0) - kept.offset)

    async def pause(self, partitions: Iterable[TopicPartition]) -> None:
        places = [place_of(each) for each in partitions]
        await self._begin()
        await Do(lambda session: session.pause(places), is_wakeable=False)
        await self._put_back(places)

    async def ask(self, operation: Operation[ConsumerSession, T], *, is_wakeable: bool = True) -> T:
        """An operation of the session as it is."""
        await self._begin()
        found: T = await Do(operation, is_wakeable=is_wakeable)
        return found

    # The end

    async def leave(self, timeout_ms: int, commits: str) -> None:
        """All that is done before the session is closed."""
        session = self.host.session()
        deadline_ms = self._now_ms(session) + timeout_ms

        def left_ms() -> int:
            return max(0, deadline_ms - self._now_ms(session))

        await self._run_outcomes(session)
        if self._commits_by_itself and commits != NOTHING:
            offsets = self._consumed(session) if commits == ALL and not self._is_torn else self._finished(session)
            await self._commit_or_warn(offsets, left_ms())
        await Do(lambda session: session.finish_commits(left_ms()), is_wakeable=False)
        self._commits_by_itself = False
        try:
            if self.settings.group is None or self.settings.group.leaves_on_close:
                await Do(lambda session: session.unsubscribe(), is_wakeable=False)
                await self._make_changes()
        finally:
            await self._run_outcomes(session)
            self._interceptors.close()

    def ended(self) -> None:
        self.in_hand.keep([])
