"""A share consumer at work in the client's loop: its channel, its place in the share group, what it acquires and what
it has to tell the brokers.

The program's thread (`share_calls.py`) asks it for operations and takes records out of the buffer by itself. It looks
at `has_events` without asking: whether there is anything that only the program's thread can do (call back, raise).
"""

import logging
from collections import deque
from collections.abc import Sequence

from odradek.channel.driver import Driver
from odradek.client.consumer.consumer_metrics import MetricName
from odradek.client.consumer.consumer_state import EXPIRED, FAILED, JOINING, STABLE, UNSUBSCRIBED, ConsumerState
from odradek.client.consumer.coordinator_lookup import CoordinatorLookup
from odradek.client.consumer.group_session import SpokenVersions
from odradek.client.consumer.session_base import SessionBase
from odradek.client.share_consumer.acknowledgement import RENEW, Acknowledged
from odradek.client.share_consumer.share_buffer import ShareBuffer
from odradek.client.share_consumer.share_fetcher import ShareFetcher
from odradek.client.share_consumer.share_membership import STABLE as IS_STABLE
from odradek.client.share_consumer.share_membership import ShareMembership, no_share_groups
from odradek.client.share_consumer.share_metrics import ShareConsumerMetrics
from odradek.client.share_consumer.share_settings import ShareSettings
from odradek.protocol import errors
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.loop import Loop

logger = logging.getLogger("odradek.client")

HEARTBEAT, SHARE_FETCH = 76, 78
HAS_MODES = 2  # the version of ShareFetch and ShareAcknowledge that has acquire modes and renewals
LEAVE_MS = 500  # it is written at once, and nothing depends on its answer


class ShareSession(SessionBase):
    def __init__(self, loop: Loop, settings: ShareSettings, unsent: "deque[Acknowledged]") -> None:
        """`unsent` is what the program's thread has put down to be sent: every step takes it from there, once."""
        metrics = ShareConsumerMetrics(settings.channel.client_id, loop.ports.clock.mono_ms)
        super().__init__(loop, settings, metrics.channel)
        self._settings = settings
        self.metrics = metrics
        self.versions = SpokenVersions(self.channel)
        self.buffer = ShareBuffer(is_strict=settings.fetch.is_record_limit)
        self._unsent = unsent
        self.outcomes: deque[Acknowledged] = deque()  # for the program's thread to tell of
        self.has_events = False
        self.has_callback = False  # the program wants to be told of outcomes
        self._subscription: frozenset[str] = frozenset()
        self._has_finished = False
        member_id = self._new_id()
        self.lookup = CoordinatorLookup(settings.membership.group_id, self.versions, self._backoff)
        self.membership = ShareMembership(settings.membership, member_id, self.lookup, self.versions, self._backoff)
        self.fetcher = ShareFetcher(
            settings.fetch,
            member_id,
            self.channel.metadata,
            self._backoff,
            settings.reading,
            on_chunk=self.buffer.add,
            on_outcome=self._outcome,
            on_error=self._errors.append,
        )
        self._fetching = Driver(self.channel, self.fetcher, on_event=self.step, on_error=self.fetcher.failing)
        self._belonging = [Driver(self.channel, core, on_event=self.step) for core in (self.membership, self.lookup)]
        self.metrics.of_fetching(self.fetcher)
        self.metrics.of_group(self.membership)
        loop.spawn(self._follow_metadata())

    # What happens

    def step(self) -> None:
        if self._is_closed:
            return
        while self._unsent:
            self.fetcher.acknowledge(self._unsent.popleft())
        if not self.channel.metadata.cluster.is_bootstrap:  # else what the brokers speak is not known yet
            self._check_protocol()
            for driver in self._belonging:
                driver.pump()
            self.fetcher.assigned = self.membership.assigned
            if self.membership.needs_metadata:
                self.channel.metadata.request_update(resets_backoff=False)
            self._fetching.pump()
        self._tell_waits()
        self._tell_waiting()

    def _check_protocol(self) -> None:
        if self.membership.error is not None or not self._subscription:
            return
        found = self.channel.client.api_versions.usable((HEARTBEAT, SHARE_FETCH))
        if HEARTBEAT not in found or not found.get(SHARE_FETCH):
            self.membership.error = no_share_groups()
        elif self._settings.fetch.is_record_limit and found[SHARE_FETCH] < HAS_MODES:
            self.membership.error = errors.UnsupportedVersion(
                "The brokers do not have share.acquire.mode=record_limit: use batch_optimized."
            )

    def _tell_waits(self) -> None:
        trouble = self.membership.trouble
        if trouble is None:
            self._wait_log.over("share group")
        else:
            group_id = self._settings.membership.group_id
            self._wait_log.waits("share group", f"share group {group_id}: {trouble.message} It is tried again.")

    def _tell_waiting(self) -> None:
        self.has_events = bool(self._errors) or bool(self.outcomes) or self.membership.error is not None
        if self._waiting is not None and (self.has_events or self.buffer.has_data):
            self._waiting.resolve(None)
        self._tell_watchers()

    def _outcome(self, acknowledged: Acknowledged) -> None:
        error = acknowledged.error
        if error is not None and not self.has_callback and not acknowledged.retry_until_ms and acknowledged.offsets:
            logger.warning(
                "%s: what was said of %d records was not taken, they may be delivered again: %s",
                acknowledged.source.place,
                len(acknowledged.offsets),
                error.message,
            )
        self.outcomes.append(acknowledged)

    def _take_news(self) -> None:
        metadata = self.channel.metadata
        if metadata.cluster.is_bootstrap:
            return
        self.membership.metadata({name: bytes(topic_id) for name, topic_id in metadata.cluster.topic_ids.items()})
        self._errors += [error for topic, error in metadata.topic_errors.items() if topic in self._topics]
        self._tell_missing_topics()
        self.step()

    # What the program asks for

    async def subscribe(self, topics: frozenset[str]) -> None:
        self._subscription = topics
        if topics != self._topics:
            self._topics = topics
            self.channel.metadata.set_topics(topics, self._mono_ms())
        self.membership.subscribe(topics, self._mono_ms())
        self.step()

    async def unsubscribe(self) -> None:
        self._subscription = self._topics = frozenset()
        self.membership.leave(self._mono_ms())
        self.channel.metadata.set_topics((), self._mono_ms())
        self.step()

    def polled(self) -> None:
        """The program is alive, and has said something of what it was given."""
        self.membership.polled(self._mono_ms())
        self.step()

    async def wait(self, timeout_ms: int, *, fetches: bool) -> None:
        """Until there is something to take or to do, or the time is over. Records are asked for if `fetches`."""
        self.strike()
        self.fetcher.is_wanted = fetches
        self.step()
        if self.has_events or self.buffer.has_data or not timeout_ms:
            self.fetcher.is_wanted = False
            return
        waiting = self._waiting = self.loop.pending()
        self.buffer.on_data = lambda: waiting.resolve(None)
        timer = self.loop.after(timeout_ms, lambda: waiting.resolve(None))
        self.membership.is_polling = True
        try:
            await waiting
        finally:
            timer.cancel()
            self.buffer.on_data = self._waiting = None
            self.membership.polled(self._mono_ms())
            self.membership.is_polling = self.fetcher.is_wanted = False
        self.strike()

    async def take_error(self) -> KafkaError | None:
        """What the next poll is to raise: a membership that is over is told every time."""
        error = self._errors.popleft() if self._errors else self.membership.error
        self._tell_waiting()
        return error

    async def commit(
        self, acknowledged: Sequence[Acknowledged], timeout_ms: int
    ) -> dict[TopicPartition, KafkaError | None]:
        """What became of these, which are among what is to be sent. What fails by something that passes is tried again
        as long as the time allows.
        """
        until_ms = self._mono_ms() + timeout_ms
        for each in acknowledged:
            each.retry_until_ms = until_ms
        self.step()
        await self.until(lambda: all(each.is_done for each in acknowledged), timeout_ms)
        late = self._late("What was acknowledged was not answered", timeout_ms)
        found: dict[TopicPartition, KafkaError | None] = {}
        for each in acknowledged:
            place = each.source.place
            found[place] = found.get(place) or (each.error if each.is_done else late)
        return found

    def check_may_renew(self) -> None:
        if self.channel.client.api_versions.usable((SHARE_FETCH,)).get(SHARE_FETCH, HAS_MODES) < HAS_MODES:
            raise errors.UnsupportedVersion(f"The brokers do not have {RENEW.name}: they need release 4.2 or newer.")

    async def read_metrics(self) -> dict[MetricName, float]:
        return self.metrics.read()

    # How it is, in any thread

    def consumer_state(self) -> ConsumerState:
        membership = self.membership
        return ConsumerState.of(self._word(), membership.error, membership.seconds_since_poll(self._mono_ms()))

    def _word(self) -> str:
        if self.membership.error is not None:
            return FAILED
        if not self._subscription:
            return UNSUBSCRIBED
        if self.membership.is_expired:
            return EXPIRED
        return STABLE if self.membership.state == IS_STABLE else JOINING

    # The end

    async def finish(self, timeout_ms: int) -> None:
        """Ends the sessions with what is said; all else that was acquired is released. What has no outcome in time has
        failed.
        """
        self._has_finished = True
        self.fetcher.close()
        self.step()
        await self.until(lambda: self.fetcher.is_closed, timeout_ms)
        self.fetcher.give_up(self._late("The consumer was closed: what was acknowledged was not answered", timeout_ms))

    async def close(self, timeout_ms: int) -> None:
        deadline_ms = self._mono_ms() + timeout_ms
        if not self._has_finished:
            await self.finish(timeout_ms)
        self.membership.leave(self._mono_ms())
        self.step()
        left_ms = max(0, deadline_ms - self._mono_ms())
        await self.until(lambda: self.membership.has_said_goodbye, min(left_ms, LEAVE_MS))
        self._is_closed = True
        for driver in (self._fetching, *self._belonging):
            driver.stop()
        self.channel.close()
