"""A share consumer on the side of its program: what its methods do, for threads and asyncio.

    callbacks (what became of acknowledgements) · what is said goes out · records out of the buffer · wait, and again

With implicit acknowledgement a program has processed what a poll gave it when it polls again or commits: that accepts
all of it. With explicit acknowledgement it says so of every record, and a poll before that is a mistake. In both, a
consumer that is closed, or whose program ends, has said nothing of the rest: somebody gets it again.

What an exception has kept from the program, which any signal may raise within a poll, is given by the next one.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from odradek.client.consumer.arguments import by_names, milliseconds
from odradek.client.consumer.consumer_metrics import MetricName
from odradek.client.consumer.errors import ConcurrentAccess, Wakeup
from odradek.client.consumer.steps import Call, Operate
from odradek.client.settings import ClientConfig
from odradek.client.share_consumer.acknowledgement import GAP, RENEW, Acknowledged, AcknowledgeType, by_source
from odradek.client.share_consumer.deliveries import Deliveries, Delivery
from odradek.client.share_consumer.share_buffer import Taken
from odradek.client.share_consumer.share_record import ShareRecords
from odradek.client.share_consumer.share_session import ShareSession
from odradek.client.share_consumer.share_settings import share_settings
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.loop import Loop

WAIT_MS = 3_600_000  # one wait of several

T = TypeVar("T")

AcknowledgementCommitCallback = Callable[[Mapping[TopicPartition, set[int]], KafkaError | None], object]
"""Called with the offsets of one partition and why they were refused, or None."""

Outcomes = dict[TopicPartition, KafkaError | None]


class DoShare(Operate[ShareSession, T]):
    """An operation of a share consumer's session."""

    __slots__ = ()


class ShareHost(Protocol):
    """As far as the caller's side needs it."""

    def session(self) -> ShareSession: ...

    def tell(self, callback: Callable[[ShareSession], object]) -> None: ...

    @property
    def has_started(self) -> bool: ...


class ShareCalls:
    def __init__(
        self,
        config: ClientConfig,
        topics: Sequence[str] = (),
        *,
        key_deserializer: object = None,
        value_deserializer: object = None,
        callback: AcknowledgementCommitCallback | None = None,
    ) -> None:
        self.settings = share_settings(config, key_deserializer=key_deserializer, value_deserializer=value_deserializer)
        self.deliveries = Deliveries()
        self.subscription: frozenset[str] = frozenset()
        self.callback = callback
        self.is_closed = False
        self.is_in_callback = False
        self._host: ShareHost | None = None
        self._first: frozenset[str] | None = None  # to be subscribed at the first use
        self._unsent: deque[Acknowledged] = deque()  # the session takes it from here
        self._giving: Taken | None = None  # by the poll that is under way
        self._again: Taken | None = None  # a poll was about to return it, and was interrupted
        if topics:
            self._first = self.subscription = by_names(topics).topics

    def open_session(self, loop: Loop) -> ShareSession:
        session = ShareSession(loop, self.settings, self._unsent)
        session.has_callback = self.callback is not None
        return session

    def on(self, host: ShareHost) -> None:
        self._host = host

    @property
    def host(self) -> ShareHost:
        if self._host is None:
            raise RuntimeError("a caller needs a host")
        return self._host

    async def _begin(self) -> ShareSession:
        session = self.host.session()
        if self._first is not None:
            first = self._first
            await DoShare(lambda session: session.subscribe(first), is_wakeable=False)
            self._first = None
        return session

    # Subscription

    async def subscribe(self, topics: str | Iterable[str]) -> None:
        wanted = by_names([topics] if isinstance(topics, str) else topics).topics
        if not wanted:
            await self.unsubscribe()
            return
        session = self.host.session()
        gone = self.subscription - wanted
        self.subscription, self._first = wanted, None
        await DoShare(lambda session: session.subscribe(wanted), is_wakeable=False)
        self._release(session.buffer.drop(gone))

    async def unsubscribe(self) -> None:
        """What the program has may still be acknowledged; what it was not given is released."""
        session = self.host.session()
        self.subscription, self._first = frozenset(), None
        self._release(session.buffer.drop())
        await DoShare(lambda session: session.unsubscribe(), is_wakeable=False)

    def _release(self, dropped: Sequence[Delivery]) -> None:
        self._unsent += by_source((each.source, each.offset, each.said or GAP) for each in dropped)
        self.host.tell(lambda session: session.step())

    # Polling

    async def poll(self, timeout_ms: int) -> ShareRecords[Any, Any]:
        """Any: of what types keys and values are, only the deserializers tell."""
        session = await self._begin_poll()
        deadline_ms = self._now_ms(session) + timeout_ms
        is_first = True
        while True:
            await self._before_records(session)
            taken = self._taken(session)
            if taken is not None:
                return ShareRecords([each.record for each in taken.deliveries if each.record is not None])
            left_ms = max(0, deadline_ms - self._now_ms(session))
            if not left_ms and not is_first:
                return ShareRecords()
            is_first = False
            await self._wait(min(left_ms, WAIT_MS))

    async def _wait(self, timeout_ms: int) -> None:
        fetches = not self.deliveries.is_renewing
        await DoShare(lambda session: session.wait(timeout_ms, fetches=fetches), is_wakeable=False)

    async def _begin_poll(self) -> ShareSession:
        self._giving = None
        if self.is_in_callback:
            raise ConcurrentAccess("a callback must not poll: it is called by the poll that waits for it")
        session = await self._begin()
        if not self.subscription:
            raise RuntimeError("this consumer reads nothing: subscribe() first")
        session.metrics.counts.polls += 1
        await self._run_outcomes(session)
        if self._again is None:
            self._put_down_said()
        if session.buffer.has_data or self.deliveries.has_unacknowledged:  # else this poll is about to ask for records
            self.host.tell(lambda session: session.polled())
        if self._again is None:
            self._demand_all_said()
        return session

    def _demand_all_said(self) -> None:
        if self.deliveries.has_unacknowledged:
            raise RuntimeError(
                "share.acknowledgement.mode is explicit: acknowledge() every record that the last poll has returned "
                "before the next poll"
            )

    async def _before_records(self, session: ShareSession) -> None:
        if self.settings.wakes:
            self.settings.wakes.clear()
            raise Wakeup
        if session.has_events:
            await self._run_outcomes(session)
            error = await DoShare(_take_error, is_wakeable=False)
            if error is not None:
                raise error

    def _taken(self, session: ShareSession) -> Taken | None:
        """Noted as given before it is gone from where it was: an interrupt in between does no harm."""
        taken = self._again or self._found(session)
        if taken is None:
            return None
        self._giving = taken
        self.deliveries.give(taken.deliveries)
        session.buffer.passed(taken)
        self._again = None
        if taken.error is not None:
            self._giving = None
            raise taken.error
        return taken if self._count(session, taken) else None

    def _found(self, session: ShareSession) -> Taken | None:
        """Renewals come first: while some are under way nothing else is given."""
        renewed = self.deliveries.renewed()
        if renewed:
            return Taken(renewed, [])
        if self.deliveries.is_renewing or not session.buffer.has_data:
            return None
        return session.buffer.look(self.settings.fetch.records_max)

    @staticmethod
    def _count(session: ShareSession, taken: Taken) -> int:
        """How many records there are."""
        records = [each.record for each in taken.deliveries if each.record is not None]
        counts = session.metrics.counts
        counts.records += len(records)
        counts.bytes += sum(max(0, each.serialized_key_size) + max(0, each.serialized_value_size) for each in records)
        return len(records)

    def interrupted(self) -> None:
        """An exception has left a poll: what it was about to return is returned by the next one."""
        if self._giving is not None:
            self._again, self._giving = self._giving, None

    @staticmethod
    def _now_ms(session: ShareSession) -> int:
        return session.loop.ports.clock.mono_ms()

    # Acknowledgements

    async def acknowledge(self, place: TopicPartition, offset: int, said: AcknowledgeType) -> None:
        if not self.settings.is_explicit:
            raise RuntimeError(
                "share.acknowledgement.mode is implicit: the next poll or commit accepts what was returned. Set it to "
                "explicit to acknowledge records yourself"
            )
        if said == RENEW:
            self.host.session().check_may_renew()
        self.deliveries.acknowledge(place, offset, said)

    def _put_down_said(self) -> list[Acknowledged]:
        """To be sent; implicitly that accepts all that the program was given."""
        if not self.settings.is_explicit and self._again is None:
            self.deliveries.accept_rest()
        return self.deliveries.take(self._unsent)

    async def commit_sync(self, timeout: float | None) -> Outcomes:
        session = await self._begin()
        await self._run_outcomes(session)
        timeout_ms = self.settings.api_timeout_ms if timeout is None else milliseconds(timeout)
        said = self._put_down_said()
        if not said:
            return {}
        try:
            found: Outcomes = await DoShare(lambda session: session.commit(said, timeout_ms))
        finally:
            await self._run_outcomes(session)
        return found

    async def commit_async(self) -> None:
        session = await self._begin()
        await self._run_outcomes(session)
        if self._put_down_said():
            self.host.tell(lambda session: session.step())

    async def set_callback(self, callback: AcknowledgementCommitCallback | None) -> None:
        self.callback = callback
        if self.host.has_started:
            self.host.session().has_callback = callback is not None

    async def _run_outcomes(self, session: ShareSession) -> None:
        while session.outcomes:
            acknowledged = session.outcomes.popleft()
            self.deliveries.outcome(acknowledged)
            callback, offsets = self.callback, acknowledged.offsets
            if callback is not None and offsets:
                await Call(callback, {acknowledged.source.place: offsets}, acknowledged.error)

    async def metrics(self) -> dict[MetricName, float]:
        await self._begin()
        read: dict[MetricName, float] = await DoShare(_read_metrics, is_wakeable=False)
        return read

    # The end

    async def leave(self, timeout_ms: int) -> None:
        """All that is done before the session is closed."""
        session = self.host.session()
        await self._run_outcomes(session)
        self.deliveries.take(self._unsent)
        try:
            await DoShare(lambda session: session.finish(timeout_ms), is_wakeable=False)
        finally:
            await self._run_outcomes(session)

    def ended(self) -> None:
        self._again = self._giving = None


async def _take_error(session: ShareSession) -> KafkaError | None:
    return await session.take_error()


async def _read_metrics(session: ShareSession) -> dict[MetricName, float]:
    return await session.read_metrics()
