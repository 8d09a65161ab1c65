"""The consumer for asyncio programs."""

import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Generic, Self, TypeVar, TypeVarTuple

from odradek.client.consumer.arguments import FOR_EVER_MS, flat, milliseconds, time_ms, topics_and_mapping
from odradek.client.consumer.asyncio_calls import AsyncioCalls
from odradek.client.consumer.caller import ALL, FINISHED, NOTHING, Caller
from odradek.client.consumer.consumer_state import CLOSED, UNSUBSCRIBED, ConsumerState
from odradek.client.consumer.errors import Wakeup
from odradek.client.consumer.interceptors import ConsumerInterceptor
from odradek.client.consumer.offset_reset import EARLIEST, LATEST, ResetStrategy
from odradek.client.consumer.polling import AsynchronousCommit, CommitCallback
from odradek.client.consumer.rebalance_listener import OnPartitions, RebalanceListener, listener_of
from odradek.client.consumer.records import ConsumerRecord, ConsumerRecords
from odradek.client.consumer.session import ConsumerSession
from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.host.asyncio_host import AsyncioHost
from odradek.client.offsets import OffsetAndMetadata, OffsetAndTimestamp, Offsets
from odradek.client.settings import client_config
from odradek.client.spelling import refuse_keywords
from odradek.config.consumer import TABLE
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from typing import Never, Unpack

    import pyarrow as pa

    from odradek.channel.cluster import PartitionInfo
    from odradek.client.config_types import ConsumerConfig
    from odradek.client.consumer.consumer_metrics import MetricName
    from odradek.client.consumer.deserializer_types import Deserializer, K, V
else:
    K = TypeVar("K")
    V = TypeVar("V")

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

CLOSE_TIMEOUT = 30.0


class CommitFuture(Awaitable[None]):
    """The outcome of `commit_async`: await it, if that is of interest."""

    __slots__ = ("_call", "_host")

    def __init__(self, call: AsynchronousCommit, host: AsyncioHost[ConsumerSession]) -> None:
        self._call = call
        self._host = host

    @property
    def offsets(self) -> Mapping[TopicPartition, OffsetAndMetadata]:
        return self._call.offsets

    def done(self) -> bool:
        return self._call.is_done

    def exception(self) -> KafkaError | None:
        return self._call.error

    def __await__(self) -> Generator[object, None, None]:
        return self._outcome().__await__()

    async def _outcome(self) -> None:
        call = self._call
        if not call.is_done:
            await self._host.run(lambda session: session.until_done(call, FOR_EVER_MS))
        if call.error is not None:
            raise call.error


class KafkaConsumer(AsyncioCalls[Caller], Generic[K, V]):
    """As `odradek.KafkaConsumer`, with methods to await; no thread is started. Callbacks may be coroutines.

    async with KafkaConsumer("orders", bootstrap_servers="localhost:9092", group_id="billing") as consumer:
        async for record in consumer:
            print(record.value)

    Every await can be cancelled: nothing that was read is lost by it. Tasks may share a consumer, but only one of them
    may poll or iterate at a time.
    """

    _host: AsyncioHost[ConsumerSession]

    def __init__(
        self,
        *topics: str | Mapping[str, object],
        key_deserializer: "Deserializer[K] | None" = None,
        value_deserializer: "Deserializer[V] | None" = None,
        interceptors: Sequence[ConsumerInterceptor] = (),
        **configs: "Unpack[ConsumerConfig]",
    ) -> None:
        names, mapping = topics_and_mapping(topics)
        caller = Caller(
            client_config(TABLE, mapping, configs),
            names,
            key_deserializer=key_deserializer,
            value_deserializer=value_deserializer,
            interceptors=interceptors,
        )
        super().__init__(caller, AsyncioHost(caller.open_session))
        caller.on(self._host)

    async def _ask(
        self, operation: Callable[[ConsumerSession], Coroutine[object, None, T]], *, is_wakeable: bool = True
    ) -> T:
        async def asked() -> T:
            found: T = await self._caller.ask(operation, is_wakeable=is_wakeable)
            return found

        return await self._run(asked)

    # What it reads

    async def subscribe(
        self,
        topics: str | Iterable[str] | re.Pattern[str] = "",
        *,
        listener: RebalanceListener | None = None,
        on_assigned: OnPartitions | None = None,
        on_revoked: OnPartitions | None = None,
        on_lost: OnPartitions | None = None,
        **others: "Never",
    ) -> None:
        if others:
            refuse_keywords("subscribe", others)
        await self._run(self._caller.subscribe, topics, listener_of(listener, on_assigned, on_revoked, on_lost))

    async def assign(self, partitions: Iterable[TopicPartition]) -> None:
        await self._run(self._caller.assign, partitions)

    async def unsubscribe(self) -> None:
        await self._run(self._caller.unsubscribe)

    def assignment(self) -> set[TopicPartition]:
        return self._host.session().state.assigned() if self._host.has_started else set()

    def subscription(self) -> set[str]:
        if self._caller.subscription.pattern is None or not self._host.has_started:
            return set(self._caller.subscription.topics)
        group = self._host.session().group
        return set() if group is None else set(group.subscribed_topics) | {place.topic for place in self.assignment()}

    # Reading

    async def poll(
        self, timeout: float = 0.0, *, max_records: int | None = None, **others: "Never"
    ) -> ConsumerRecords[K, V]:
        if others:
            refuse_keywords("poll", others)
        return await self._poll(self._caller.poll, milliseconds(timeout), max_records)

    async def poll_arrow(self, timeout: float = 0.0, *, max_bytes: int | None = None, **others: "Never") -> "pa.Table":
        if others:
            refuse_keywords("poll_arrow", others)
        return await self._poll(self._caller.poll_arrow, milliseconds(timeout), max_bytes)

    def __aiter__(self) -> AsyncIterator[ConsumerRecord[K, V]]:
        return self

    async def __anext__(self) -> ConsumerRecord[K, V]:
        try:
            record = await self._next(FOR_EVER_MS)
        except Wakeup:
            raise StopAsyncIteration from None
        if record is None:
            raise StopAsyncIteration
        return record

    async def records(
        self, *, idle: float | None = None, until_end: bool = False
    ) -> AsyncIterator[ConsumerRecord[K, V]]:
        """As iteration, with an end: after `idle` seconds without a record, or where the partitions end now."""
        idle_ms = FOR_EVER_MS if idle is None else milliseconds(idle)
        ends = await self._ends() if until_end else None
        while ends is None or ends:
            try:
                record = await self._next(idle_ms if ends is None else min(idle_ms, 100))
            except Wakeup:
                return
            if record is None and ends is None:
                return
            if record is not None:
                yield record
            if ends is not None:
                ends = await self._left(ends, record)

    async def _next(self, timeout_ms: int) -> ConsumerRecord[K, V] | None:
        if self._caller.is_closed:
            return None
        if self._caller.in_hand.has_next and not self._is_polling:
            record = self._caller.next_at_once(self._host.session())
            if record is not None:
                return record
        return await self._poll(self._caller.next, timeout_ms)

    async def _ends(self) -> dict[TopicPartition, int]:
        await self._poll(self._caller.until_assigned)
        ends = await self.end_offsets(self.assignment())
        return {place: end for place, end in ends.items() if await self.position(place) < end}

    async def _left(
        self, ends: dict[TopicPartition, int], record: ConsumerRecord[K, V] | None
    ) -> dict[TopicPartition, int]:
        if record is not None:
            place = TopicPartition(record.topic, record.partition)
            if record.offset + 1 >= ends.get(place, record.offset + 2):
                del ends[place]
            return ends
        assigned = self.assignment()
        return {place: end for place, end in ends.items() if place in assigned and await self.position(place) < end}

    # Positions

    async def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        await self._run(self._caller.seek, partition, offset)

    async def seek_to_beginning(self, *partitions: TopicPartition | Iterable[TopicPartition]) -> None:
        await self._run(self._caller.reset, flat(partitions), EARLIEST)

    async def seek_to_end(self, *partitions: TopicPartition | Iterable[TopicPartition]) -> None:
        await self._run(self._caller.reset, flat(partitions), LATEST)

    async def seek_to_time(self, when: datetime | int, *partitions: TopicPartition | Iterable[TopicPartition]) -> None:
        await self._run(self._caller.reset, flat(partitions), ResetStrategy.at_time(time_ms(when)))

    async def seek_to_committed(
        self, *partitions: TopicPartition | Iterable[TopicPartition], timeout: float | None = None
    ) -> None:
        await self._run(self._caller.seek_to_committed, flat(partitions), timeout)

    async def position(self, partition: TopicPartition, timeout: float | None = None, **others: "Never") -> int:
        if others:
            refuse_keywords("position", others)
        return await self._run(self._caller.position, partition, timeout)

    def current_lag(self, partition: TopicPartition) -> int | None:
        return self._caller.current_lag(TopicPartition(*partition))

    async def offsets_for_times(
        self, times_ms: Mapping[TopicPartition, int], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        return await self._ask(lambda session: session.offsets_for_times(times_ms, self._timeout_ms(timeout)))

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        places = list(partitions)
        return await self._ask(lambda session: session.beginning_offsets(places, self._timeout_ms(timeout)))

    async def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        places = list(partitions)
        return await self._ask(lambda session: session.end_offsets(places, self._timeout_ms(timeout)))

    async def pause(self, *partitions: TopicPartition | Iterable[TopicPartition]) -> None:
        await self._run(self._caller.pause, flat(partitions))

    async def resume(self, *partitions: TopicPartition | Iterable[TopicPartition]) -> None:
        places = flat(partitions)
        await self._ask(lambda session: session.resume(places), is_wakeable=False)

    def paused(self) -> set[TopicPartition]:
        return self._host.session().state.paused() if self._host.has_started else set()

    # Commits

    async def commit_sync(
        self, offsets: Offsets | None = None, timeout: float | None = None, **others: "Never"
    ) -> None:
        if others:
            refuse_keywords("commit_sync", others)
        await self._run(self._caller.commit_sync, offsets, timeout)

    commit = commit_sync

    async def commit_async(
        self, offsets: Offsets | None = None, callback: CommitCallback | None = None
    ) -> CommitFuture:
        """Begins to commit; await what it gives, or give a callback, for the outcome."""
        call = await self._run(self._caller.commit_async, offsets, callback)

        async def start(session: ConsumerSession) -> None:
            session.start_commit(call)

        await self._host.run(start)  # what is asked next, a close too, comes behind it
        return CommitFuture(call, self._host)

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout: float | None = None, **others: "Never"
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        if others:
            refuse_keywords("committed", others)
        return await self._run(self._caller.committed, partitions, timeout)

    # The group and the cluster

    async def group_metadata(self) -> ConsumerGroupMetadata:
        return await self._ask(lambda session: session.group_metadata(), is_wakeable=False)

    async def enforce_rebalance(self, reason: str | None = None) -> None:
        await self._ask(lambda session: session.enforce_rebalance(), is_wakeable=False)

    async def partitions_for(self, topic: str, timeout: float | None = None) -> "list[PartitionInfo]":
        found = await self._ask(lambda session: session.topics([topic], self._timeout_ms(timeout)))
        return found.get(topic, [])

    async def list_topics(self, timeout: float | None = None) -> "dict[str, list[PartitionInfo]]":
        return await self._ask(lambda session: session.topics(None, self._timeout_ms(timeout)))

    async def metrics(self) -> "dict[MetricName, float]":
        """What it counts, under Kafka's names."""
        return await self._ask(lambda session: session.read_metrics(), is_wakeable=False)

    @property
    def state(self) -> ConsumerState:
        if self._caller.is_closed:
            return ConsumerState.of(CLOSED)
        if not self._host.has_started:
            return ConsumerState.of(UNSUBSCRIBED)
        return self._host.session().consumer_state()

    def _timeout_ms(self, timeout: float | None) -> int:
        return self._caller.settings.api_timeout_ms if timeout is None else milliseconds(timeout)

    # The end

    def wakeup(self) -> None:
        """Ends the call that waits, or the next one that would, by a `Wakeup`. In any thread."""
        self._caller.settings.wakes.append(True)
        self._host.tell(lambda session: session.wake())

    async def close(self, timeout: float = CLOSE_TIMEOUT, *, commit: bool = True, **others: "Never") -> None:
        if others:
            refuse_keywords("close", others)
        is_after_error = sys.exc_info()[0] is not None
        await self._close(milliseconds(timeout), (FINISHED if is_after_error else ALL) if commit else NOTHING)

    async def _close(self, timeout_ms: int, commits: str) -> None:
        await self._end(self._caller.leave, timeout_ms, commits, timeout_ms=timeout_ms)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        await self._close(milliseconds(CLOSE_TIMEOUT), ALL if kind is None else FINISHED)
