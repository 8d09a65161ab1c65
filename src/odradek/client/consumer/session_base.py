"""What the sessions of a consumer and of a share consumer have in common: a channel to the cluster, news of it, errors
that the next poll raises, and who waits for something.
"""

from collections import deque
from collections.abc import Callable, Coroutine
from typing import Protocol, Self, TypeVar

from odradek.channel.backoff import Backoff
from odradek.channel.channel import Channel
from odradek.channel.client_connection import ChannelSecurity
from odradek.channel.config import ChannelConfig
from odradek.channel.metadata import Metadata
from odradek.channel.metrics import ChannelMetrics
from odradek.client.consumer.errors import Wakeup
from odradek.client.wait_log import LostBrokers, WaitLog
from odradek.protocol import errors
from odradek.protocol.errors import KafkaError
from odradek.protocol.uuids import format_uuid
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending

T = TypeVar("T")

NEWS_MS = 60_000  # news of the cluster are waited for so long at a time


class BaseSettings(Protocol):
    """Those that every session needs."""

    @property
    def channel(self) -> ChannelConfig: ...

    @property
    def addresses(self) -> list[tuple[str, int]]: ...

    @property
    def security(self) -> ChannelSecurity: ...

    @property
    def allows_creation(self) -> bool: ...

    @property
    def wakes(self) -> "deque[bool]": ...


class SessionBase:
    def __init__(self, loop: Loop, settings: BaseSettings, metrics: ChannelMetrics) -> None:
        self.loop = loop
        self._mono_ms = loop.ports.clock.mono_ms
        self._wakes = settings.wakes
        config = settings.channel
        self._backoff = Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms)
        self._backoff_max_ms = config.retry_backoff_max_ms
        self.channel = Channel(
            loop,
            config,
            settings.addresses,
            security=settings.security,
            metadata=Metadata(
                backoff=self._backoff, expire_ms=config.metadata_max_age_ms, allows_creation=settings.allows_creation
            ),
            metrics=metrics,
        )
        self._wait_log = WaitLog(self._mono_ms)
        self.lost_brokers = LostBrokers(self.channel.client, self._wait_log)
        self._errors: deque[KafkaError] = deque()  # for the next poll to raise
        self._waiting: Pending[None] | None = None  # a poll
        self._woken: Pending[None] | None = None
        self._watchers: list[Pending[None]] = []
        self._topics: frozenset[str] = frozenset()  # whose metadata is watched
        self._is_closed = False

    def _new_id(self) -> str:
        return format_uuid(self.loop.ports.rng.stream("member").bytes(16))

    def step(self) -> None:
        """After anything that may have changed something."""
        raise NotImplementedError

    def raise_in_poll(self, error: KafkaError) -> None:
        self._errors.append(error)
        self.step()

    # The cluster

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
                await self.loop.sleep(self._backoff_max_ms)
                continue
            seen = metadata.update_version
            self._take_news()

    def _take_news(self) -> None:
        raise NotImplementedError

    def _tell_missing_topics(self) -> None:
        """A topic that is not there may come to be: it is waited for, and said so."""
        metadata = self.channel.metadata
        for topic in sorted(self._topics):
            if metadata.cluster.partitions(topic) or topic in metadata.topic_errors:
                self._wait_log.over(topic)
            else:
                self._wait_log.waits(topic, f"topic {topic} is not there; it is waited for")

    # Who waits

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

    def _tell_watchers(self) -> None:
        if self._watchers:
            watchers, self._watchers = self._watchers, []
            for watcher in watchers:
                watcher.resolve(None)

    def _late(self, what: str, timeout_ms: int) -> KafkaError:
        return errors.RequestTimedOut(f"{what} within {timeout_ms / 1000:g} s{self.lost_brokers.because()}")

    # Wakeup

    def strike(self) -> None:
        if self._wakes:
            self._wakes.clear()
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
            self._wakes.clear()
            raise Wakeup
        return task.value()
