"""A consumer at work in the client's loop: what happens by itself. What a program asks for is in `session.py`.

News of the cluster go to the group and to the cores; partitions get their first positions; whoever waits is told when
there is something to take, to call back or to raise.
"""

import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Self, TypeVar

from odradek.channel.backoff import Backoff
from odradek.channel.channel import Channel
from odradek.channel.driver import Driver
from odradek.channel.metadata import Metadata
from odradek.client.admin.asking import Asker
from odradek.client.consumer.commit_calls import CommitCall, FetchCall
from odradek.client.consumer.consumer_metrics import ConsumerMetrics
from odradek.client.consumer.errors import Wakeup
from odradek.client.consumer.fetch_buffer import FetchBuffer
from odradek.client.consumer.fetcher import Fetcher
from odradek.client.consumer.group_session import GroupSession
from odradek.client.consumer.in_hand import InHand
from odradek.client.consumer.position_resolver import PositionResolver
from odradek.client.consumer.session_settings import SessionSettings
from odradek.client.consumer.subscription_state import SubscriptionState
from odradek.client.wait_log import LostBrokers, WaitLog
from odradek.protocol import errors
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import format_uuid
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.timers import Timer

logger = logging.getLogger("odradek.client")

T = TypeVar("T")

NEWS_MS = 60_000  # news of the cluster are waited for so long at a time


class SessionLoop:
    def __init__(self, loop: Loop, settings: SessionSettings, in_hand: InHand) -> None:
        """`in_hand` is the program's side of it: what it goes through shows that it is alive, as by a poll."""
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
        self._wait_log = WaitLog(self._mono_ms)
        self.lost_brokers = LostBrokers(self.channel.client, self._wait_log)
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
                self.channel, settings.group, new_id=self._new_id, on_event=self.step, in_hand=in_hand
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
        self._ends_asked: set[TopicPartition] = set()
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
            if self.group.needs_metadata:
                self.channel.metadata.request_update(resets_backoff=False)
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

    async def until(self, is_so: Callable[[], bool], timeout_ms: int) -> bool:
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
        self._tell_missing()
        self.step()

    def _tell_missing(self) -> None:
        """A topic or a partition that is not there may come to be: it is waited for, and said so."""
        cluster = self.channel.metadata.cluster
        for topic in sorted(self._topics):
            if cluster.partitions(topic) or topic in self.channel.metadata.topic_errors:
                self._wait_log.over(topic)
            else:
                self._wait_log.waits(topic, f"topic {topic} is not there; it is waited for")
        for place in sorted(self.state.assigned()):
            count = len(cluster.partitions(place.topic))
            if place.partition < count:
                self._wait_log.over(place)
            elif count:
                there = f"{place.topic} has {count} partitions, there is no partition {place.partition}"
                self._wait_log.waits(place, f"{there}; it is waited for")

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

    async def unless_woken(self, operation: "Callable[[Self], Coroutine[object, None, T]]") -> T:
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

    # For what a program asks

    def the_group(self) -> GroupSession:
        if self.group is None:
            raise errors.InvalidGroupId("To subscribe, commit, or ask what is committed, set group.id.")
        return self.group
