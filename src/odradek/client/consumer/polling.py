"""A consumer on the side of its program: what happens in the thread that polls, in the order in which it happens.

    callbacks (commits, rebalances) · automatic commit · records out of the buffer · interceptors · wait, and again

All of it is coroutines of steps (`steps.py`), so that threads and asyncio have the same. With records buffered and
nothing to call back, a poll makes no step at all: it asks no other thread.

**What is committed is finished.** A program is done with what it was given when it comes back for more, not before
(`in_hand.py`). Automatic commits are made of that alone. A commit that the program asks for is of all that it has seen.
At the close it depends on how the program ends (`caller.py`).

**A change of the assignment** is made here because the program has a say in it: nothing more is handed out, what is
finished is committed, the program is told, and only then does the membership go on. If the program fails in between, or
is interrupted, the change is brought to its end all the same, and the error is raised after it.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from odradek.client.consumer.arguments import by_names, milliseconds
from odradek.client.consumer.commit_calls import ONCE, CommitCall
from odradek.client.consumer.errors import ConcurrentAccess, Wakeup
from odradek.client.consumer.fetch_buffer import FetchedRows
from odradek.client.consumer.group_session import Subscription
from odradek.client.consumer.in_hand import InHand
from odradek.client.consumer.interceptors import ConsumerInterceptor, interceptors_of
from odradek.client.consumer.ownership import ASSIGN, REVOKE, OwnershipChange
from odradek.client.consumer.rebalance_listener import RebalanceListener
from odradek.client.consumer.records import ConsumerRecords, Record, Records
from odradek.client.consumer.session import ConsumerSession
from odradek.client.consumer.session_settings import session_settings
from odradek.client.consumer.steps import Call, Do
from odradek.client.offsets import OffsetAndMetadata, Offsets, with_metadata
from odradek.client.settings import ClientConfig
from odradek.protocol import errors
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.loop import Loop

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger("odradek.client")

WAIT_MS = 3_600_000  # one wait of several
ARROW_BYTES = 52_428_800

CommitCallback = Callable[[Mapping[TopicPartition, OffsetAndMetadata], KafkaError | None], object]


class Host(Protocol):
    """As far as the caller's side needs it."""

    def session(self) -> ConsumerSession: ...

    def tell(self, callback: Callable[[ConsumerSession], object]) -> None: ...

    @property
    def has_started(self) -> bool: ...


class AsynchronousCommit(CommitCall):
    """What `commit_async` has begun."""

    __slots__ = ("callback", "is_automatic")

    def __init__(self, offsets: Offsets, callback: CommitCallback | None, *, is_automatic: bool = False) -> None:
        super().__init__(offsets, ONCE)
        self.callback = callback
        self.is_automatic = is_automatic


class Polling:
    def __init__(
        self,
        config: ClientConfig,
        topics: Sequence[str] = (),
        *,
        key_deserializer: object = None,
        value_deserializer: object = None,
        interceptors: Sequence[ConsumerInterceptor] = (),
    ) -> None:
        self.config = config
        self.settings = session_settings(
            config, key_deserializer=key_deserializer, value_deserializer=value_deserializer
        )
        self.in_hand = InHand()
        self.subscription = Subscription()
        self.is_closed = False
        self.is_in_callback = False
        self._host: Host | None = None
        self._first: Subscription | None = None  # to be subscribed at the first use
        self._listener = RebalanceListener()
        self._is_assigned = False  # by hand
        self._is_taking = False
        self._is_torn = (
            False  # a take was interrupted: the next one goes on with it, and until then nothing is finished
        )
        self._is_given = False  # this poll has taken note of what it returns
        self._interceptors = interceptors_of(interceptors, config["interceptor.classes"] or (), config.originals)
        self._records_max: int = config["max.poll.records"]
        self._api_timeout_ms: int = config["default.api.timeout.ms"]
        self._commits_by_itself = bool(config["enable.auto.commit"]) and self.settings.group is not None
        self._commit_interval_ms: int = config["auto.commit.interval.ms"]
        self._commit_at_ms: int | None = None
        if topics:
            self._first = self.subscription = by_names(topics)
            self._check_group()

    def open_session(self, loop: Loop) -> ConsumerSession:
        return ConsumerSession(loop, self.settings, self.in_hand)

    def on(self, host: Host) -> None:
        self._host = host

    # Beginnings

    @property
    def host(self) -> Host:
        if self._host is None:
            raise RuntimeError("a caller needs a host")
        return self._host

    async def _begin(self) -> ConsumerSession:
        session = self.host.session()
        if self._first is not None:
            first = self._first
            await Do(lambda session: session.subscribe(first), is_wakeable=False)
            self._first = None
        return session

    def _check_group(self) -> None:
        if self.settings.group is None:
            raise errors.InvalidGroupId("To subscribe, commit, or ask what is committed, set group.id.")

    def _timeout_ms(self, timeout: float | None) -> int:
        return self._api_timeout_ms if timeout is None else milliseconds(timeout)

    def _refuse_in_callback(self) -> None:
        if self.is_in_callback:
            raise ConcurrentAccess("a callback must not poll: it is called by the poll that waits for it")

    # Polling

    async def poll(self, timeout_ms: int, count_max: int | None) -> Records:
        session = await self._begin_poll()
        count_max = count_max or self._records_max
        deadline_ms = self._now_ms(session) + timeout_ms
        while True:
            await self._before_records(session)
            if self.in_hand.has_next:
                return ConsumerRecords(self.in_hand.rest(count_max))
            records = self._taken(session, count_max)
            if records:
                self.in_hand.given(list(records))
                self._is_given, self._is_taking, self._is_torn = True, False, False
                session.metrics.counts.records += len(records)
                return self._interceptors.on_consume(records) if self._interceptors else records
            if not await self._waited(session, deadline_ms):
                return records

    async def next(self, timeout_ms: int) -> Record | None:
        """For iterators; None when the time is over."""
        session = await self._begin_poll()
        deadline_ms = self._now_ms(session) + timeout_ms
        while True:
            await self._before_records(session)
            if not self.in_hand.has_next:
                records = self._taken(session, self._records_max)
                self.in_hand.keep(list(self._interceptors.on_consume(records) if self._interceptors else records))
                self._is_taking = self._is_torn = False
                session.metrics.counts.records += len(records)
            if self.in_hand.has_next:
                return self.in_hand.next()
            if not await self._waited(session, deadline_ms):
                return None

    def next_at_once(self, session: ConsumerSession) -> Record | None:
        """The same, if nothing is to be done but to hand it out."""
        if session.has_events or self.settings.wakes or not self.in_hand.has_next or self.is_in_callback:
            return None
        return self.in_hand.next()

    def at_once(self) -> Iterator[Record]:
        """All that can be handed out like this, one after the other: the quick part of an iterator."""
        session, in_hand, wakes = self.host.session(), self.in_hand, self.settings.wakes
        while (index := in_hand.upcoming) < len(in_hand.records) and not session.has_events and not wakes:
            in_hand.unfinished = index
            in_hand.upcoming = index + 1
            yield in_hand.records[index]

    async def poll_arrow(self, timeout_ms: int, bytes_max: int | None) -> "pa.Table":
        session = await self._begin_poll()
        deadline_ms = self._now_ms(session) + timeout_ms
        while True:
            await self._before_records(session)
            if kept := self.in_hand.kept():
                await self._put_back(kept)
            before = {place: each.offset for place, each in session.state.positions().items()}
            session.buffer.taken = None
            self._is_taking = True
            table = session.buffer.take_arrow(bytes_max or ARROW_BYTES)
            taken = session.buffer.arrow_offsets
            self.in_hand.first_offsets = {place: before[place] for place in taken if place in before}
            self._is_taking = self._is_torn = False
            if table.num_rows or not await self._waited(session, deadline_ms):
                return table

    async def read_range(self, place: TopicPartition, start: int, stop: int) -> None:
        """Partition and position are changed in one step: between two, one without a position could be looked up."""
        self._is_assigned = True
        await Do(lambda session: session.read_range(place, start, stop), is_wakeable=False)

    async def poll_chunk(self, timeout_ms: int) -> FetchedRows | None:
        """What one fetch has brought of one partition, without an object per record; None when the time is over."""
        session = await self._begin_poll()
        deadline_ms = self._now_ms(session) + timeout_ms
        while True:
            await self._before_records(session)
            fetched = session.buffer.take_chunk()
            if fetched is not None or not await self._waited(session, deadline_ms):
                return fetched

    async def until_assigned(self) -> None:
        """Polls for partitions, and leaves their records where they are."""
        session = await self._begin_poll()
        while not session.state.assigned():
            await self._before_records(session)
            if not session.state.assigned():
                await Do(lambda session: session.wait(WAIT_MS), is_wakeable=False)

    def interrupted(self) -> None:
        """An exception has left a poll, which any signal may raise: what it had taken and did not return comes again
        with the next one.
        """
        if self._is_taking:
            taken = self.host.session().buffer.taken
            if taken is not None:
                self.in_hand.keep(list(taken))
            self._is_torn = taken is None
            self._is_taking = False
        elif self._is_given:
            self.in_hand.give_again()

    async def _begin_poll(self) -> ConsumerSession:
        self._refuse_in_callback()
        self._is_given = False
        session = await self._begin()
        if not self.subscription and not self._is_assigned:
            raise RuntimeError("this consumer reads nothing: subscribe() or assign() first")
        session.metrics.counts.polls += 1
        group = session.group
        if group is not None:
            group.polled_ms = self._now_ms(session)
            if not group.has_polled or group.is_expired:
                self.host.tell(lambda session: session.polled())
        self.in_hand.finished()
        if self._commit_at_ms is None and self._commits_by_itself:
            self._commit_later(session)
        return session

    async def _before_records(self, session: ConsumerSession) -> None:
        if self.settings.wakes:
            self.settings.wakes.clear()
            raise Wakeup
        if session.has_events:
            await self._run_outcomes(session)
            await self._make_changes()
            error = await Do(_take_error, is_wakeable=False)
            if error is not None:
                raise error
        if self._commit_at_ms is not None and self._now_ms(session) >= self._commit_at_ms:
            self._commit_later(session)
            self._start_commit(AsynchronousCommit(self._finished(session), None, is_automatic=True))

    def _taken(self, session: ConsumerSession, count_max: int) -> Records:
        """Until somebody has taken note of them, see `interrupted`."""
        session.buffer.taken = None
        self._is_taking = True
        try:
            records: Records = session.buffer.take(count_max)
        except Exception:
            self._is_taking = False  # the buffer keeps what it had not given
            raise
        return records

    async def _waited(self, session: ConsumerSession, deadline_ms: int) -> bool:
        """False if the time was over before."""
        self._is_taking = False
        left_ms = deadline_ms - self._now_ms(session)
        if left_ms <= 0:
            return False
        await Do(lambda session: session.wait(min(left_ms, WAIT_MS)), is_wakeable=False)  # it strikes by itself
        return True

    @staticmethod
    def _now_ms(session: ConsumerSession) -> int:
        return session.loop.ports.clock.mono_ms()

    # Callbacks

    async def _run_outcomes(self, session: ConsumerSession) -> None:
        while session.outcomes:
            call = session.outcomes.popleft()
            if call.error is None:
                self._interceptors.on_commit(call.offsets)
            callback = getattr(call, "callback", None)
            if callback is not None:
                await Call(callback, call.offsets, call.error)

    async def _make_changes(self) -> None:
        while (change := await Do(_next_change, is_wakeable=False)) is not None:
            await self._make(change)

    async def _make(self, change: OwnershipChange) -> None:
        places = await Do(lambda session: session.begin(change), is_wakeable=False)
        try:
            if change.kind == REVOKE and self._commits_by_itself:
                await self._commit_finished(places)
            if places:
                await Call(self._told(change.kind), places)
        finally:
            if change.kind != ASSIGN:
                self.in_hand.drop(places)
            await Do(lambda session: session.finish(change), is_wakeable=False)

    def _told(self, kind: str) -> Callable[[Sequence[TopicPartition]], object]:
        if kind == ASSIGN:
            return self._listener.on_partitions_assigned
        return self._listener.on_partitions_revoked if kind == REVOKE else self._listener.on_partitions_lost

    # Commits

    def _finished(self, session: ConsumerSession) -> dict[TopicPartition, OffsetAndMetadata]:
        return {} if self._is_torn else self.in_hand.finished_of(session.state.positions())

    def _consumed(self, session: ConsumerSession) -> dict[TopicPartition, OffsetAndMetadata]:
        return self.in_hand.consumed(session.state.positions())

    async def _commit_finished(self, places: Iterable[TopicPartition]) -> None:
        wanted = frozenset(places)
        offsets = {place: each for place, each in self._finished(self.host.session()).items() if place in wanted}
        await self._commit_or_warn(offsets, self.settings.channel.request_timeout_ms)

    async def _commit_or_warn(self, offsets: Offsets, timeout_ms: int) -> None:
        try:
            await Do(lambda session: session.commit(offsets, timeout_ms), is_wakeable=False)
        except KafkaError as error:
            logger.warning("offsets were not committed, their records may be read again: %s", error)
        else:
            self._interceptors.on_commit({place: with_metadata(offset) for place, offset in offsets.items()})

    def _commit_later(self, session: ConsumerSession) -> None:
        interval_ms = self._commit_interval_ms
        self._commit_at_ms = self._now_ms(session) + interval_ms
        self.host.tell(lambda session: session.set_commit_timer(interval_ms))

    def _start_commit(self, call: AsynchronousCommit) -> None:
        if call.offsets or not call.is_automatic:
            if call.is_automatic:
                call.when_done = self._auto_committed
            self.host.tell(lambda session: session.start_commit(call))

    def _auto_committed(self, call: CommitCall) -> None:
        """In the client's loop."""
        error = call.error
        if error is None:
            return
        if error.retriable:
            logger.debug("an automatic commit has failed and is made again: %s", error)
            if self._commit_at_ms is not None:
                backoff_ms = min(self.settings.channel.retry_backoff_ms, self._commit_interval_ms)
                session = self.host.session()
                self._commit_at_ms = self._now_ms(session) + backoff_ms
                session.set_commit_timer(backoff_ms)
        else:
            logger.warning("an automatic commit has failed: %s", error)

    async def _put_back(self, places: Iterable[TopicPartition]) -> None:
        """What an iterator has kept of them is read again later."""
        wanted = frozenset(places)
        kept = {place: offset for place, offset in self.in_hand.kept().items() if place in wanted}
        if kept:
            await Do(lambda session: session.seek_back(kept), is_wakeable=False)
            self.in_hand.drop_kept(kept)


async def _take_error(session: ConsumerSession) -> KafkaError | None:
    return session.take_error()


async def _next_change(session: ConsumerSession) -> OwnershipChange | None:
    return await session.next_change()
