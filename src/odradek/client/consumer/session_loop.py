"""A consumer at work in the client's loop: what happens by itself. What a program asks for is in `session.py`.

News of the cluster go to the group and to the cores; partitions get their first positions; whoever waits is told when
there is something to take, to call back or to raise.
"""

import logging
from collections import deque

from odradek.channel.driver import Driver
from odradek.client.admin.asking import Asker
from odradek.client.consumer.commit_calls import CommitCall, FetchCall
from odradek.client.consumer.consumer_metrics import ConsumerMetrics
from odradek.client.consumer.fetch_buffer import FetchBuffer
from odradek.client.consumer.fetcher import Fetcher
from odradek.client.consumer.group_session import GroupSession
from odradek.client.consumer.in_hand import InHand
from odradek.client.consumer.position_resolver import PositionResolver
from odradek.client.consumer.session_base import SessionBase
from odradek.client.consumer.session_settings import SessionSettings
from odradek.client.consumer.subscription_state import SubscriptionState
from odradek.protocol import errors
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.loop import Loop
from odradek.reactor.timers import Timer

logger = logging.getLogger("odradek.client")


class SessionLoop(SessionBase):
    def __init__(self, loop: Loop, settings: SessionSettings, in_hand: InHand) -> None:
        """`in_hand` is the program's side of it: what it goes through shows that it is alive, as by a poll."""
        metrics = ConsumerMetrics(settings.channel.client_id, loop.ports.clock.mono_ms)
        super().__init__(loop, settings, metrics.channel)
        self._settings = settings
        self.metrics = metrics
        self.state = SubscriptionState(settings.reset, is_read_committed=settings.fetch.is_read_committed)
        self.buffer = FetchBuffer(
            checks_crc=settings.checks_crc,
            key_deserializer=settings.key_deserializer,
            value_deserializer=settings.value_deserializer,
        )
        self.fetcher = Fetcher(self.state, self.channel.metadata, self.buffer, settings.fetch)
        resolver = PositionResolver(
            self.state,
            self.channel.metadata,
            self.buffer,
            wall_ms=loop.ports.clock.wall_ms,
            backoff=self._backoff,
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
        self._is_assigned_by_hand = False
        self._being_assigned: frozenset[TopicPartition] = frozenset()  # the program has not been told yet
        self._committed: FetchCall | None = None  # under way, for first positions
        self._ends_asked: set[TopicPartition] = set()
        self._is_commit_due = False
        self._commit_timer: Timer | None = None
        loop.spawn(self._follow_metadata())

    def _driver(self, core: Fetcher | PositionResolver) -> Driver:
        return Driver(self.channel, core, on_event=self.step)

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
        self._tell_watchers()

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
        self._tell_missing_topics()
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

    # For what a program asks

    def the_group(self) -> GroupSession:
        if self.group is None:
            raise errors.InvalidGroupId("To subscribe, commit, or ask what is committed, set group.id.")
        return self.group
