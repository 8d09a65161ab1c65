"""One consumer at work in the client's loop: its channel, its place in the group, what it fetches and where it stands.

It is the one writer of positions and assignment. The program's thread (`caller.py`) asks it for operations, takes
records out of the buffer by itself, and looks at two things without asking: `has_events`, whether there is anything
that only the program's thread can do (call back, raise), and the buffer.
"""

import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TypeVar

from odradek.channel.backoff import Backoff
from odradek.channel.channel import Channel
from odradek.channel.cluster import PartitionInfo
from odradek.channel.driver import Driver
from odradek.channel.metadata import Metadata
from odradek.client.admin.asking import Asker
from odradek.client.consumer.commit_calls import IN_PLACE, CommitCall, FetchCall
from odradek.client.consumer.consumer_metrics import ConsumerMetrics, MetricName
from odradek.client.consumer.consumer_state import ConsumerState, word_of
from odradek.client.consumer.errors import Wakeup
from odradek.client.consumer.fetch_buffer import FetchBuffer
from odradek.client.consumer.fetcher import Fetcher
from odradek.client.consumer.group_session import GroupSession, Subscription
from odradek.client.consumer.offset_reset import ResetStrategy
from odradek.client.consumer.ownership import ASSIGN, REVOKE, OwnershipChange
from odradek.client.consumer.position_resolver import PositionResolver
from odradek.client.consumer.session_settings import SessionSettings
from odradek.client.consumer.subscription_state import SubscriptionState
from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.offsets import OffsetAndMetadata, OffsetAndTimestamp, Offsets
from odradek.protocol import errors
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import format_uuid
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.timers import Timer

logger = logging.getLogger("odradek.client")

T = TypeVar("T")
Places = Iterable[TopicPartition]

NEWS_MS = 60_000  # news of the cluster are waited for so long at a time
END_SESSIONS_MS = 50  # a broker that does not hear of it ends a fetch session by itself


class ConsumerSession:
    def __init__(self, loop: Loop, settings: SessionSettings, progress: Callable[[], int] = lambda: 0) -> None:
        """`progress` is a number that changes while the program iterates: then it is alive, as by a poll."""
        self.loop = loop
        self._settings = settings
        self._mono_ms = loop.ports.clock.mono_ms
        config = settings.channel
        backoff = Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms)
        metadata = Metadata(
            backoff=backoff, expire_ms=config.metadata_max_age_ms, allows_creation=settings.allows_creation
        )
        self.metrics = ConsumerMetrics(config.client_id, self._mono_ms)
        self.channel = Channel(
            loop,
            config,
            settings.addresses,
            security=settings.security,
            metadata=metadata,
            metrics=self.metrics.channel,
        )
        self.state = SubscriptionState(settings.reset, is_read_committed=settings.fetch.is_read_committed)
        self.buffer = FetchBuffer(
            checks_crc=settings.checks_crc,
            key_deserializer=settings.key_deserializer,
            value_deserializer=settings.value_deserializer,
        )
        self.fetcher = Fetcher(self.state, metadata, self.buffer, settings.fetch)
        resolver = PositionResolver(
            self.state, metadata, self.buffer, wall_ms=loop.ports.clock.wall_ms, backoff=backoff
        )
        self._drivers = [self._driver(resolver), self._driver(self.fetcher)]
        self.group: GroupSession | None = None
        if settings.group is not None:
            self.group = GroupSession(
                self.channel, settings.group, new_id=self._new_id, on_event=self.step, progress=progress
            )
            self.metrics.of_group(self.group)
        self.metrics.of_fetching(self.state, self.fetcher)
        self.asker = Asker(self.channel, timeout_ms=settings.api_timeout_ms, retries=1 << 31)
        self.buffer.on_room = lambda: loop.from_thread(lambda _: self.step())
        self.has_events = False
        self.outcomes: deque[CommitCall] = deque()  # of asynchronous commits, in the order of the calls
        self._asynchronous: deque[CommitCall] = deque()
        self._errors: deque[KafkaError] = deque()  # for the next poll to raise
        self._is_assigned_by_hand = False
        self._being_assigned: frozenset[TopicPartition] = frozenset()  # the program has not been told yet
        self._committed: FetchCall | None = None  # under way, for first positions
        self._waiting: Pending[None] | None = None  # a poll
        self._woken: Pending[None] | None = None
        self._watchers: list[Pending[None]] = []
        self._topics: frozenset[str] = frozenset()
        self._is_commit_due = False
        self._commit_timer: Timer | None = None
        self._is_closed = False
        loop.spawn(self._follow_metadata())

    def _driver(self, core: Fetcher | PositionResolver) -> Driver:
        return Driver(self.channel, core, on_event=self.step)

    def _new_id(self) -> str:
        return format_uuid(self.loop.ports.rng.stream("member").bytes(16))

    # What happens

    def step(self) -> None:
        """After anything that may have changed something."""
        if self._is_closed:
            return
        self._watch_topics()
        if self.group is not None:
            self.group.step()
            if self.group.topics - self._topics:
                self._watch_topics()
        self._find_first_positions()
        for driver in self._drivers:
            driver.pump()
        self._tell_waiting()

    def _tell_waiting(self) -> None:
        group = self.group
        has_change = group is not None and (group.change is not None or group.error is not None)
        self.has_events = has_change or bool(self._errors) or bool(self.outcomes) or self._is_commit_due
        if self._waiting is not None and (self.has_events or self.buffer.has_data):
            self._waiting.resolve(None)
        if self._watchers:
            watchers, self._watchers = self._watchers, []
            for watcher in watchers:
                watcher.resolve(None)

    async def _until(self, is_so: Callable[[], bool], timeout_ms: int) -> bool:
        """Whether it has become so in time."""
        deadline_ms = self._mono_ms() + timeout_ms
        while not is_so():
            left_ms = deadline_ms - self._mono_ms()
            if left_ms <= 0:
                return False
            watcher: Pending[None] = self.loop.pending()
            self._watchers.append(watcher)
            timer = self.loop.after(left_ms, lambda watcher=watcher: watcher.resolve(None))  # type: ignore[misc]
            try:
                await watcher
            finally:
                timer.cancel()
        return True

    def raise_in_poll(self, error: KafkaError) -> None:
        self._errors.append(error)
        self.step()

    # The cluster

    def _watch_topics(self) -> None:
        wanted = frozenset(place.topic for place in self.state.assigned())
        metadata = self.channel.metadata
        if self.group is not None:
            wanted |= self.group.topics
            metadata.want_all_topics(self.group.needs_all_topics)
        if wanted != self._topics:
            self._topics = wanted
            metadata.set_topics(wanted, self._mono_ms())

    async def _follow_metadata(self) -> None:
        updater, metadata = self.channel.updater, self.channel.metadata
        seen = metadata.update_version
        while not self._is_closed:
            try:
                await updater.wait_for_update(seen, NEWS_MS)
            except errors.RequestTimedOut:
                continue
            except KafkaError as error:
                if self._is_closed:
                    return
                self.raise_in_poll(error)
                await self.loop.sleep(self._settings.channel.retry_backoff_max_ms)
                continue
            seen = metadata.update_version
            self._take_news()

    def _take_news(self) -> None:
        metadata = self.channel.metadata
        if metadata.cluster.is_bootstrap:
            return
        if self.group is not None:
            hidden = metadata.cluster.internal_topics if self._settings.excludes_internal_topics else ()
            if self.group.subscription.topics <= self._topics:
                self.group.metadata(metadata.cluster, hidden)
        for topic, error in list(metadata.topic_errors.items()):
            if topic in self._topics:
                self._errors.append(error)
        self.step()

    # First positions

    def _find_first_positions(self) -> None:
        if self._committed is not None or self.channel.metadata.cluster.is_bootstrap:
            return
        needing = [place for place in self.state.needing_position() if place not in self._being_assigned]
        if not needing:
            return
        if self.group is None:
            self._reset(needing)
        else:
            self._committed = self.group.commits.fetch(needing, self._have_committed)
            self.group.step()

    def _have_committed(self, call: FetchCall) -> None:
        self._committed = None
        if call.error is not None:
            self._errors.append(call.error)
            self.loop.after(self._settings.channel.retry_backoff_max_ms, self.step)
            return
        for place, committed in call.found.items():
            if committed is not None:
                self.state.set_position(place, committed)
        self._reset([place for place, committed in call.found.items() if committed is None])

    def _reset(self, places: list[TopicPartition]) -> None:
        try:
            self.state.reset_missing(places)
        except KafkaError as error:
            self._errors.append(error)
            self._being_assigned |= frozenset(places)  # not again before the program has sought somewhere

    # What a poll does

    def polled(self) -> None:
        """The program has polled for the first time since it has subscribed, or since it was told that it is late."""
        if self.group is not None:
            self.group.has_polled = True
        self.step()

    async def wait(self, timeout_ms: int) -> None:
        """Until there is something to take or to do, or the time is over."""
        self.strike()
        self.step()
        if self.has_events or self.buffer.has_data:
            return
        waiting = self._waiting = self.loop.pending()
        self.buffer.on_data = lambda: waiting.resolve(None)
        timer = self.loop.after(timeout_ms, lambda: waiting.resolve(None))
        if self.group is not None:
            self.group.is_polling = True
        try:
            await waiting
        finally:
            timer.cancel()
            self.buffer.on_data = self._waiting = None
            if self.group is not None:
                self.group.polled_ms = self._mono_ms()
                self.group.is_polling = False
        self.strike()

    def take_error(self) -> KafkaError | None:
        """What the next poll is to raise: a membership that is over is told every time."""
        error = self._errors.popleft() if self._errors else None
        if error is None and self.group is not None:
            error = self.group.error
        self._tell_waiting()
        return error

    # Wakeup

    def strike(self) -> None:
        wakes = self._settings.wakes
        if wakes:
            wakes.clear()
            raise Wakeup

    def wake(self) -> None:
        for waiting in (self._waiting, self._woken):
            if waiting is not None:
                waiting.resolve(None)

    async def unless_woken(self, operation: "Callable[[ConsumerSession], Coroutine[object, None, T]]") -> T:
        """The operation, which `wakeup` cancels."""
        self.strike()
        task = self.loop.spawn(operation(self))
        woken = self._woken = self.loop.pending()
        task.when_done(lambda _: woken.resolve(None))
        try:
            await woken
        finally:
            self._woken = None
            if not task.is_done:
                task.cancel()
        if not task.is_done:
            self._settings.wakes.clear()
            raise Wakeup
        return task.value()

    # Subscription and assignment

    async def subscribe(self, subscription: Subscription) -> None:
        group = self._group()
        group.subscribe(subscription)
        if subscription.pattern is None:
            gone = [place for place in self.state.assigned() if place.topic not in subscription.topics]
            self.state.mark_revoking(gone)
        self._watch_topics()
        cluster = self.channel.metadata.cluster
        if subscription.pattern is None and all(cluster.partitions(topic) for topic in subscription.topics):
            self._take_news()
        self.step()

    async def unsubscribe(self) -> None:
        if self.group is not None and self.group.subscription:
            self.group.unsubscribe()
        else:
            self.state.assign(())
        self.step()

    async def assign(self, places: list[TopicPartition]) -> None:
        self._being_assigned = frozenset()
        self.state.assign(places)
        self.step()

    async def next_change(self) -> OwnershipChange | None:
        self.step()
        return None if self.group is None else self.group.change

    async def begin(self, change: OwnershipChange) -> list[TopicPartition]:
        """What the program is to be told of: what it was told to give up is not lost again."""
        if change.kind == ASSIGN:
            new = change.partitions - self.state.assigned()
            self._being_assigned |= change.partitions
            self.state.assign(sorted(self.state.assigned() | change.partitions))
            return sorted(new)
        self.state.mark_revoking(change.partitions)
        return sorted(change.partitions & self.state.assigned())

    async def finish(self, change: OwnershipChange) -> None:
        group = self._group()
        group.count(change)
        if change.kind == ASSIGN:
            self._being_assigned -= change.partitions
        else:
            self.state.assign(sorted(self.state.assigned() - change.partitions))
            group.commits.drop(change.partitions)
            if change.kind == REVOKE and group.change is not change:
                logger.info("the rebalance of group %s went on without %s", group.config.membership.group_id, self)
        group.done(change)
        self.step()

    async def enforce_rebalance(self) -> None:
        self._group().enforce_rebalance()
        self.step()

    async def group_metadata(self) -> ConsumerGroupMetadata:
        """One that has lost its place is who it was: offsets in the name of nobody would be taken from anybody."""
        group = self._group()
        who, config = group.identity() or group.last_identity, group.config.membership
        if who is None:
            return ConsumerGroupMetadata(config.group_id, group_instance_id=config.instance_id)
        return ConsumerGroupMetadata(config.group_id, who.epoch, who.member_id, config.instance_id)

    def _group(self) -> GroupSession:
        if self.group is None:
            raise errors.InvalidGroupId("To subscribe, commit, or ask what is committed, set group.id.")
        return self.group

    # Commits

    def set_commit_timer(self, delay_ms: int) -> None:
        """The program's thread is to make an automatic commit then."""
        self._is_commit_due = False
        if self._commit_timer is not None:
            self._commit_timer.cancel()
        self._commit_timer = self.loop.after(delay_ms, self._commit_is_due)
        self._tell_waiting()

    def _commit_is_due(self) -> None:
        self._is_commit_due = True
        self._tell_waiting()

    def start_commit(self, call: CommitCall) -> None:
        """An asynchronous one; its outcome comes by `outcomes`."""
        told = call.when_done

        def done(call: CommitCall) -> None:
            told(call)
            self._release_outcomes()

        call.when_done = done
        self._asynchronous.append(call)
        self._group().commits.add(call)
        self.step()

    def _release_outcomes(self) -> None:
        while self._asynchronous and self._asynchronous[0].is_done:
            self.outcomes.append(self._asynchronous.popleft())

    @property
    def has_commits_under_way(self) -> bool:
        return bool(self._asynchronous)

    async def finish_commits(self, timeout_ms: int) -> None:
        """Until those that were begun are done."""
        await self._until(lambda: not self._asynchronous, timeout_ms)

    async def until_done(self, call: CommitCall, timeout_ms: int) -> bool:
        return await self._until(lambda: call.is_done, timeout_ms)

    async def commit(self, offsets: Offsets, timeout_ms: int) -> None:
        group = self._group()
        for place, offset in offsets.items():
            if isinstance(offset, OffsetAndMetadata):
                self.channel.metadata.saw_leader_epoch(*place, offset.leader_epoch)
        call = group.commits.commit(offsets, IN_PLACE)
        self.step()
        try:
            is_done = await self._until(lambda: call.is_done, timeout_ms)
        finally:
            group.commits.withdraw(call)
        if call.error is not None:
            raise call.error
        if not is_done:
            raise _late("The offsets were not committed", timeout_ms)

    async def committed(self, places: Places, timeout_ms: int) -> dict[TopicPartition, OffsetAndMetadata | None]:
        group = self._group()
        call = group.commits.fetch([TopicPartition(*place) for place in places])
        self.step()
        try:
            is_done = await self._until(lambda: call.is_done, timeout_ms)
        finally:
            group.commits.withdraw(call)
        if call.error is not None:
            raise call.error
        if not is_done:
            raise _late("The committed offsets were not told", timeout_ms)
        return call.found

    # Positions

    async def seek(self, place: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        self.state.seek(place, offset)
        self._being_assigned -= {place}
        self.step()

    async def seek_back(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """To what an iterator has kept: it is read again."""
        for place, offset in offsets.items():
            if self.state.is_assigned(place):
                self.state.seek(place, offset)
        self.step()

    async def reset(self, places: list[TopicPartition], strategy: ResetStrategy) -> None:
        self.state.request_reset(places or sorted(self.state.assigned()), strategy)
        self._being_assigned -= frozenset(places)
        self.step()

    async def position(self, place: TopicPartition, timeout_ms: int) -> int:
        self.state.position(place)  # raises for one that is not assigned

        def is_known() -> bool:
            return bool(self._errors) or not self.state.is_assigned(place) or self.state.position(place) is not None

        self.step()
        is_done = await self._until(is_known, timeout_ms)
        found = self.state.position(place)
        if found is not None:
            return found
        error = self.take_error() if is_done else None
        raise error or _late(f"The position of {place} was not found", timeout_ms)

    async def pause(self, places: list[TopicPartition]) -> None:
        self.state.pause(places)

    async def resume(self, places: list[TopicPartition]) -> None:
        self.state.resume(places)
        self.step()

    async def offsets_for_times(
        self, times_ms: Mapping[TopicPartition, int], timeout_ms: int
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        from odradek.client.consumer.offset_lookups import offsets_for_times  # which loads some of the admin client

        return await offsets_for_times(self.asker, times_ms, timeout=timeout_ms / 1000)

    async def beginning_offsets(self, places: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, int]:
        from odradek.client.consumer.offset_lookups import beginning_offsets

        return await beginning_offsets(self.asker, places, timeout=timeout_ms / 1000)

    async def end_offsets(self, places: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, int]:
        from odradek.client.consumer.offset_lookups import end_offsets

        is_read_committed = self.state.is_read_committed
        return await end_offsets(self.asker, places, is_read_committed=is_read_committed, timeout=timeout_ms / 1000)

    async def read_metrics(self) -> dict[MetricName, float]:
        return self.metrics.read()

    async def topics(self, names: list[str] | None, timeout_ms: int) -> dict[str, list[PartitionInfo]]:
        """The partitions of these topics, or of all; what is asked is this, whatever else the consumer reads."""
        from odradek.client.consumer.topic_lookup import topics

        return await topics(self.asker, names, timeout_ms, allows_creation=self._settings.allows_creation)

    # How it is, in any thread

    def consumer_state(self) -> ConsumerState:
        group = self.group
        last_poll_s = None
        if group is not None and group.polled_ms:
            last_poll_s = (self._mono_ms() - group.polled_ms) / 1000 if not group.is_polling else 0.0
        lags = [lag for place in self.state.assigned() if (lag := self._lag(place)) is not None]
        word = word_of(group, is_assigned=bool(self.state.assigned()))
        error = None if group is None else group.error
        return ConsumerState.of(word, error, last_poll_s, sum(lags) if lags else None)

    def _lag(self, place: TopicPartition) -> int | None:
        try:
            return self.state.lag(place)
        except ValueError:
            return None  # it has gone meanwhile

    # The end

    async def close(self, timeout_ms: int) -> None:
        deadline_ms = self._mono_ms() + timeout_ms
        if self.group is not None:
            self.group.leave_at_close()
        self.fetcher.close()
        self.step()
        left_ms = max(0, deadline_ms - self._mono_ms())
        await self._until(lambda: self.group is None or self.group.has_left, left_ms)
        left_ms = max(0, deadline_ms - self._mono_ms())
        await self._until(lambda: self.fetcher.is_closed, min(left_ms, END_SESSIONS_MS))
        self._is_closed = True
        if self._commit_timer is not None:
            self._commit_timer.cancel()
        if self.group is not None:
            self.group.stop()
        for driver in self._drivers:
            driver.stop()
        self.channel.close()


def _late(what: str, timeout_ms: int) -> KafkaError:
    return errors.RequestTimedOut(f"{what} within {timeout_ms / 1000:g} s.")
