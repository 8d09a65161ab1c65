"""The producer for asyncio programs.

`await producer.send(...)` returns when the record is accepted: that is where a program that is faster than its brokers
waits. What it returns is awaited to know where the record is. Everything happens in the program's own loop.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from odradek.channel.cluster import PartitionInfo
from odradek.channel.errors import ClientClosed
from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.host.asyncio_host import AsyncioHost
from odradek.client.host.awaiting import told_in_time
from odradek.client.host.clocks import Deadline
from odradek.client.host.errors import OwnThreadError
from odradek.client.host.session import closed
from odradek.client.producer.accumulator import RecordFuture
from odradek.client.producer.errors import BufferExhausted, FlushTimeout
from odradek.client.producer.many_future import ManyFuture
from odradek.client.producer.opening import opened
from odradek.client.producer.prepared import Prepared
from odradek.client.producer.producer_record import HeaderList, ProducerRecord, Record
from odradek.client.producer.record_metadata import RecordMetadata
from odradek.client.producer.sending import UserCallback, as_record
from odradek.client.producer.session import ProducerSession
from odradek.client.producer.transaction_states import TransactionStateError
from odradek.client.spelling import refuse_keywords
from odradek.protocol.errors import InvalidProducerEpoch, KafkaError, ProducerFenced

if TYPE_CHECKING:
    from typing import Never, Unpack

    import pyarrow as pa

    from odradek.client.config_types import ProducerConfig
    from odradek.client.consumer.asyncio_consumer import KafkaConsumer
    from odradek.client.offsets import Offsets
    from odradek.client.producer.partitioners import Given
    from odradek.client.producer.prepared_transaction import PreparedTransaction
    from odradek.client.producer.producer_metrics import MetricName
    from odradek.client.producer.serializer_types import Serializer

K = TypeVar("K")
V = TypeVar("V")


class KafkaProducer(Generic[K, V]):
    """As `odradek.KafkaProducer`, with methods to await; no thread is started.

    async with KafkaProducer(bootstrap_servers="localhost:9092") as producer:
        future = await producer.send("orders", b"value", b"key")
        metadata = await future
    """

    @overload
    def __init__(
        self: "KafkaProducer[bytes, bytes]",
        config: Mapping[str, object] | None = None,
        /,
        *,
        key_serializer: None = None,
        value_serializer: None = None,
        partitioner: "Given | None" = None,
        interceptors: Sequence[object] = (),
        **configs: "Unpack[ProducerConfig]",
    ) -> None: ...

    @overload
    def __init__(
        self: "KafkaProducer[K, bytes]",
        config: Mapping[str, object] | None = None,
        /,
        *,
        key_serializer: "Serializer[K]",
        value_serializer: None = None,
        partitioner: "Given | None" = None,
        interceptors: Sequence[object] = (),
        **configs: "Unpack[ProducerConfig]",
    ) -> None: ...

    @overload
    def __init__(
        self: "KafkaProducer[bytes, V]",
        config: Mapping[str, object] | None = None,
        /,
        *,
        key_serializer: None = None,
        value_serializer: "Serializer[V]",
        partitioner: "Given | None" = None,
        interceptors: Sequence[object] = (),
        **configs: "Unpack[ProducerConfig]",
    ) -> None: ...

    @overload
    def __init__(
        self: "KafkaProducer[K, V]",
        config: Mapping[str, object] | None = None,
        /,
        *,
        key_serializer: "Serializer[K]",
        value_serializer: "Serializer[V]",
        partitioner: "Given | None" = None,
        interceptors: Sequence[object] = (),
        **configs: "Unpack[ProducerConfig]",
    ) -> None: ...

    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        *,
        key_serializer: object = None,
        value_serializer: object = None,
        partitioner: "Given | None" = None,
        interceptors: Sequence[object] = (),
        **configs: object,
    ) -> None:
        self._opened = opened(
            config,
            configs,
            key_serializer=key_serializer,
            value_serializer=value_serializer,
            partitioner=partitioner,
            interceptors=interceptors,
        )
        self._settings = self._opened.settings
        self._preparing = self._opened.preparing
        self._host = AsyncioHost(self._opened.session)
        self._session: ProducerSession | None = None

    # Sending

    async def send(
        self,
        topic: str | ProducerRecord[K, V],
        value: V | None = None,
        key: K | None = None,
        *,
        headers: HeaderList | None = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
        callback: UserCallback | None = None,
    ) -> RecordFuture:
        """The record is accepted when this returns; await what it returns to know where it is.

        Who is cancelled in here has not sent it.
        """
        session = self._session
        if session is not None and session.accumulator.is_plain:
            future: RecordFuture | None = session.accumulator.send(
                topic,
                value,
                key,
                headers=headers,
                partition=partition,
                timestamp_ms=timestamp_ms,
                callback=callback,
            )
            if future is not None:
                return future
        record = self._preparing.intercepted(as_record(topic, value, key, headers, partition, timestamp_ms))
        return await self._slow_send(record, callback)

    async def send_and_wait(
        self,
        topic: str | ProducerRecord[K, V],
        value: V | None = None,
        key: K | None = None,
        *,
        headers: HeaderList | None = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> RecordMetadata:
        future = await self.send(topic, value, key, headers=headers, partition=partition, timestamp_ms=timestamp_ms)
        return await future

    async def _slow_send(self, record: Record, callback: UserCallback | None) -> RecordFuture:
        deadline = Deadline(self._settings.max_block_ms)
        session = await self._session_with(record.topic, record.partition, deadline)
        prepared = self._preparing.prepared(record, session)
        told = self._preparing.told(callback)
        if self._preparing.asks_again(record):
            future = session.append(prepared, 0, told, opens=False)
            if future is not None:
                return future
            prepared = self._preparing.again(record, prepared, session)
        return await self._append(session, prepared, told, deadline)

    async def _session_with(self, topic: str, partition: int | None, deadline: Deadline) -> ProducerSession:
        """The session, when the topic is known to it and may be written to."""
        session = await self._begun()
        known = session.accumulator.topics.get(topic)
        if known is None or len(known.queues) <= (partition or 0):
            await self._host.run(lambda at_work: at_work.wait_for_topic(topic, partition, deadline.left_ms()))
        if self._settings.is_transactional:
            session.check_transaction()
        return session

    async def _append(
        self,
        session: ProducerSession,
        prepared: Prepared,
        told: Callable[[RecordFuture], object] | None,
        deadline: Deadline,
    ) -> RecordFuture:
        taken = 0
        while True:
            future = session.append(prepared, taken, told)
            if future is not None:
                return future
            taken = await self._memory(session, prepared.needed_bytes, deadline)

    async def _memory(self, session: ProducerSession, size: int, deadline: Deadline) -> int:
        if session.pool.is_closed:
            raise closed(None)
        waiters = []

        def subscribe(told: Callable[[None], object]) -> None:
            waiters.append(session.pool.wait(size, lambda: told(None)))
            session.wake()

        try:
            is_over = await told_in_time(subscribe, deadline.left())
        except BaseException:
            session.pool.leave(waiters[0])
            raise
        if waiters[0].is_served:
            return size
        session.pool.leave(waiters[0])
        if is_over:
            raise closed(None)
        session.pool.exhausted += 1
        raise BufferExhausted

    async def send_many(
        self,
        topic: str,
        values: Sequence[V | None],
        *,
        keys: Sequence[K | None] | None = None,
        headers: Sequence[HeaderList] | None = None,
        timestamps_ms: Sequence[int] | None = None,
        partition: int | None = None,
    ) -> ManyFuture:
        """As `send` for each, and cheaper. If one is refused, those before it are sent all the same."""
        from odradek.client.producer import sending_many

        rows = sending_many.Rows(topic, values, keys, headers, timestamps_ms, partition)
        session = await self._begun()
        while rows.is_left:
            rows.append_plain(session)
            if rows.is_left:
                rows.note(await self.send(rows.next_record()))
        return rows.future()

    async def send_arrow(
        self, topic: str | None, data: "pa.Table | pa.RecordBatch", *, partition: int | None = None
    ) -> ManyFuture:
        """The rows of a table: columns value, and if they are there key, headers, timestamp and partition; without a
        `topic` they name theirs in a column topic.
        """
        from odradek.client.producer.sending_arrow import check_columns, last_partition, pieces, whole_batches

        check_columns(topic, data)
        deadline = Deadline(self._settings.max_block_ms)
        spans = []
        for name, piece in pieces(topic, data):
            session = await self._session_with(name, last_partition(piece, partition), deadline)
            for batch in whole_batches(session, self._preparing, name, piece, partition):
                is_taken = session.pool.take(batch.size)
                spans.append(batch.add(batch.size if is_taken else await self._memory(session, batch.size, deadline)))
        return ManyFuture(spans)

    async def flush(self, timeout: float | None = None, **others: "Never") -> None:
        if others:
            refuse_keywords("flush", others)
        if self._session is None:
            return
        timeout_ms = None if timeout is None else int(timeout * 1000)
        unsent = await self._host.run(lambda session: session.flush(timeout_ms))
        if unsent and timeout is not None:
            raise FlushTimeout(unsent, await self._host.run(_why_lost))

    async def partitions_for(self, topic: str) -> list[PartitionInfo]:
        return await self._host.run(lambda session: session.partitions_for(topic, self._settings.max_block_ms))

    # Transactions

    async def init_transactions(self, timeout: float | None = None) -> None:
        timeout_ms = self._block_ms(timeout)
        transactions = (await self._begun()).transactions()
        await self._host.run(lambda _: transactions.init_transactions(timeout_ms))

    async def begin_transaction(self) -> None:
        session = await self._begun()
        await self._host.run(lambda at_work: at_work.transactions().begin_transaction())
        session.accumulator.is_plain = self._preparing.is_plain

    async def send_offsets_to_transaction(
        self, offsets: "Offsets", group_metadata: ConsumerGroupMetadata, timeout: float | None = None
    ) -> None:
        timeout_ms = self._block_ms(timeout)
        await self._begun()
        await self._host.run(lambda session: session.transactions().send_offsets(offsets, group_metadata, timeout_ms))

    async def prepare_transaction(self, timeout: float | None = None) -> "PreparedTransaction":
        timeout_ms = self._block_ms(timeout)
        (await self._begun()).accumulator.is_plain = False
        return await self._host.run(lambda session: session.transactions().prepare_transaction(timeout_ms))

    async def commit_transaction(self, timeout: float | None = None) -> None:
        timeout_ms = self._block_ms(timeout)
        (await self._begun()).accumulator.is_plain = False
        await self._host.run(lambda session: session.transactions().commit_transaction(timeout_ms))

    async def abort_transaction(self, timeout: float | None = None) -> None:
        timeout_ms = self._block_ms(timeout)
        (await self._begun()).accumulator.is_plain = False
        await self._host.run(lambda session: session.transactions().abort_transaction(timeout_ms))

    # Any: what the consumer reads does not matter.
    @asynccontextmanager
    async def transaction(self, consumer: "KafkaConsumer[Any, Any] | None" = None) -> AsyncIterator[Self]:
        """Commits at the end, with the consumer's positions if one is given. On any exception it aborts, and the
        consumer goes back to what it had committed, or to where it began: the same records come again.
        """
        await self.begin_transaction()
        try:
            yield self
            if consumer is not None:
                positions = {each: await _value(consumer.position(each)) for each in consumer.assignment()}
                await self.send_offsets_to_transaction(positions, await _value(consumer.group_metadata()))
            await self.commit_transaction()
        except BaseException as error:
            if await self._has_aborted(error) and consumer is not None:
                await _value(consumer.seek_to_committed())
            raise

    async def _has_aborted(self, error: BaseException) -> bool:
        """False if a commit is done, or under way: nobody knows yet whether it counts."""
        try:
            await self.abort_transaction()  # the program is told what has gone wrong before
        except TransactionStateError:
            return False
        except ProducerFenced:
            if isinstance(error, InvalidProducerEpoch):
                raise
            return True
        except (KafkaError, ClientClosed):
            return True
        return True

    # The end

    def metrics(self) -> "Mapping[MetricName, float]":
        return {} if self._session is None else self._session.metrics()

    async def close(self, timeout: float | None = None, **others: "Never") -> None:
        if others:
            refuse_keywords("close", others)
        timeout_ms = self._settings.sender.delivery_timeout_ms if timeout is None else int(timeout * 1000)
        if self._session is not None:
            self._session.accumulator.is_plain = False
        await self._host.close(timeout_ms)
        self._opened.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _begun(self) -> ProducerSession:
        if self._session is not None:
            return self._session
        session = await self._host.run(lambda at_work: at_work.begin())
        accumulator = session.accumulator
        accumulator.slow_send = _slowly
        accumulator.refuse_waiting = _refuse
        accumulator.is_plain = self._preparing.is_plain and not self._settings.is_transactional
        self._session = session
        return session

    def _block_ms(self, timeout: float | None) -> int:
        return self._settings.max_block_ms if timeout is None else int(timeout * 1000)


def _slowly(*_: object) -> None:
    """The plain way is closed: `send` goes the other one."""


def _refuse() -> None:
    raise OwnThreadError("A future of this producer is awaited: to wait for it here would stop the loop that it needs.")


async def _value(given: object) -> Any:
    """Some methods of a consumer ask the cluster, and some know. Any: whatever it is that they tell."""
    return await given if isawaitable(given) else given


async def _why_lost(session: ProducerSession) -> str:
    return session.lost_brokers.because()
