"""The producer for programs that call and wait.

`send` is the accumulator's own method, in the instance's dictionary, as soon as there is one and nothing but bytes is
sent: a wrapper would cost as much as the work. What that method cannot do alone comes back here (`_slow_send`).
"""

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from odradek.channel.cluster import PartitionInfo
from odradek.channel.errors import ClientClosed
from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.host.clocks import Deadline
from odradek.client.host.errors import ForkedClientError
from odradek.client.host.parking import Parked
from odradek.client.host.session import closed
from odradek.client.host.thread_host import ThreadHost
from odradek.client.producer.accumulator import RecordFuture
from odradek.client.producer.errors import BufferExhausted, FlushTimeout
from odradek.client.producer.many_future import ManyFuture
from odradek.client.producer.opening import Opened, opened
from odradek.client.producer.prepared import Prepared
from odradek.client.producer.producer_record import HeaderList, ProducerRecord, Record
from odradek.client.producer.sending import UserCallback, as_record
from odradek.client.producer.session import ProducerSession
from odradek.client.spelling import refuse_keywords

if TYPE_CHECKING:
    from typing import Never, Unpack

    import pyarrow as pa

    from odradek.client.config_types import ProducerConfig
    from odradek.client.consumer.kafka_consumer import KafkaConsumer
    from odradek.client.offsets import Offsets
    from odradek.client.producer.partitioners import Given
    from odradek.client.producer.prepared_transaction import PreparedTransaction
    from odradek.client.producer.producer_metrics import MetricName
    from odradek.client.producer.serializer_types import Serializer

K = TypeVar("K")
V = TypeVar("V")

_numbers = count(1)


class _Host(ThreadHost[ProducerSession]):
    """In a child process the producer begins anew: the parent sends what it had."""

    at_work: ProducerSession | None = None

    def forked(self) -> None:
        super().forked()
        session, self.at_work = self.at_work, None
        if session is not None:
            session.accumulator.is_plain = False
            session.accumulator.refuse_waiting = _raise_forked


def _raise_forked() -> None:
    raise ForkedClientError


class KafkaProducer(Generic[K, V]):
    """Sends records, in any thread.

    with KafkaProducer(bootstrap_servers="localhost:9092") as producer:
        producer.send("orders", b"value", b"key")

    Configs are Kafka's: as keywords with underscores, or in a mapping with their own names. A `timeout` is in seconds.
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
        self._opened: Opened = opened(
            config,
            configs,
            key_serializer=key_serializer,
            value_serializer=value_serializer,
            partitioner=partitioner,
            interceptors=interceptors,
        )
        self._settings = self._opened.settings
        self._preparing = self._opened.preparing
        name = f"kafka-producer-network-thread | {self._settings.channel.client_id or f'producer-{next(_numbers)}'}"
        self._host = _Host(name, self._opened.session, is_one_process=self._settings.is_transactional)
        self._host.watch_over(self)

    # Sending

    def send(
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
        """Stores the record, and returns what will become of it; it is sent with others, by the client's thread.

        Waits while the topic is not known, and while `buffer.memory` is full, at most `max.block.ms` in all: then
        MetadataTimeout or BufferExhausted is raised. `callback(metadata, error)` is called in the client's thread.
        """
        return self._slow_send(topic, value, key, headers, partition, timestamp_ms, callback)

    def _slow_send(
        self,
        topic: str | Record,
        value: object,
        key: object,
        headers: HeaderList | None,
        partition: int | None,
        timestamp_ms: int | None,
        callback: UserCallback | None,
    ) -> RecordFuture:
        record = self._preparing.intercepted(as_record(topic, value, key, headers, partition, timestamp_ms))
        deadline = self.deadline()
        session = self.session_with(record.topic, record.partition, deadline)
        prepared = self._preparing.prepared(record, session)
        return self._append(session, record, prepared, self._preparing.told(callback), deadline)

    def _append(
        self,
        session: ProducerSession,
        record: Record,
        prepared: Prepared,
        told: Callable[[RecordFuture], object] | None,
        deadline: Deadline,
    ) -> RecordFuture:
        if self._preparing.asks_again(record):
            future = session.append(prepared, 0, told, opens=False)
            if future is not None:
                return future
            prepared = self._preparing.again(record, prepared, session)
        taken = 0
        while True:
            future = session.append(prepared, taken, told)
            if future is not None:
                return future
            taken = self.memory(prepared.needed_bytes, deadline)

    def memory(self, size: int, deadline: Deadline) -> int:
        """Takes memory for a batch. Ctrl-C ends the wait at once."""
        session = self._begun()
        if session.pool.is_closed:
            raise closed(None)
        session.accumulator.refuse_waiting()
        parked = Parked()
        before = deadline.left()
        waiter = session.pool.wait(size, parked.end)
        try:
            session.wake()
            is_over = parked.wait(before)
        except BaseException:
            session.pool.leave(waiter)
            raise
        session.pool.waited_ns += int((before - deadline.left()) * 1e9)
        if waiter.is_served:
            return size
        session.pool.leave(waiter)
        if is_over:
            raise closed(None)
        session.pool.exhausted += 1
        raise BufferExhausted(
            f"No room for the record within {self._settings.max_block_ms / 1000:g} s (max.block.ms): "
            f"buffer.memory={self._settings.buffer_memory} is full of records that are not delivered yet"
            f"{session.lost_brokers.because()}"
        )

    def send_many(
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
        session = self._begun()
        while rows.is_left:
            rows.append_plain(session)
            if rows.is_left:
                rows.note(self.send(rows.next_record()))
        return rows.future()

    def send_arrow(
        self, topic: str | None, data: "pa.Table | pa.RecordBatch", *, partition: int | None = None
    ) -> ManyFuture:
        """The rows of a table: columns value, and if they are there key, headers, timestamp and partition; without a
        `topic` they name theirs in a column topic. Keys and values are binary or string columns; serializers and
        interceptors do not see them. A row without a partition goes where its key, or the partitioner, says.
        """
        from odradek.client.producer.sending_arrow import check_columns, last_partition, pieces, whole_batches

        check_columns(topic, data)
        deadline = self.deadline()
        spans = []
        for name, piece in pieces(topic, data):
            session = self.session_with(name, last_partition(piece, partition), deadline)
            for batch in whole_batches(session, self._preparing, name, piece, partition):
                taken = batch.size if session.pool.take(batch.size) else self.memory(batch.size, deadline)
                spans.append(batch.add(taken))
        return ManyFuture(spans)

    def flush(self, timeout: float | None = None, **others: "Never") -> None:
        """Waits until each record that was sent before has its outcome. FlushTimeout if that takes too long."""
        if others:
            refuse_keywords("flush", others)
        if self._host.at_work is None:
            return
        unsent = self._host.run(lambda session: session.flush(None if timeout is None else int(timeout * 1000)))
        if unsent and timeout is not None:
            raise FlushTimeout(unsent, self._begun().lost_brokers.because())

    def partitions_for(self, topic: str) -> list[PartitionInfo]:
        return self._host.run(lambda session: session.partitions_for(topic, self._settings.max_block_ms))

    # Transactions

    def init_transactions(self, timeout: float | None = None) -> None:
        """Once, before the first transaction, and after one that was prepared: fences other producers with this
        transactional.id, and ends what they have left open.
        """
        session = self._begun()
        transactions = session.transactions()
        self._host.run(lambda _: transactions.init_transactions(self._block_ms(timeout)))

    def begin_transaction(self) -> None:
        session = self._begun()
        transactions = session.transactions()
        self._host.run(lambda _: transactions.begin_transaction())
        session.accumulator.is_plain = self._preparing.is_plain

    def send_offsets_to_transaction(
        self, offsets: "Offsets", group_metadata: ConsumerGroupMetadata, timeout: float | None = None
    ) -> None:
        """The offsets are committed with the transaction, or not at all."""
        session = self._begun()
        transactions = session.transactions()
        self._host.run(lambda _: transactions.send_offsets(offsets, group_metadata, self._block_ms(timeout)))

    def prepare_transaction(self, timeout: float | None = None) -> "PreparedTransaction":
        """Waits until all of the transaction is written, and leaves it open. What is returned is enough to end it, in
        any process: `AdminClient.complete_transactions`. `transaction.timeout.ms` goes on counting.

        This producer sends nothing more until `init_transactions` makes it a new one, which aborts what was not ended,
        or until its own `commit_transaction` or `abort_transaction`. `close` leaves the transaction open.
        """
        session = self._begun()
        session.accumulator.is_plain = False
        transactions = session.transactions()
        return self._host.run(lambda _: transactions.prepare_transaction(self._block_ms(timeout)))

    def commit_transaction(self, timeout: float | None = None) -> None:
        session = self._begun()
        session.accumulator.is_plain = False
        transactions = session.transactions()
        self._host.run(lambda _: transactions.commit_transaction(self._block_ms(timeout)))

    def abort_transaction(self, timeout: float | None = None) -> None:
        session = self._begun()
        session.accumulator.is_plain = False
        transactions = session.transactions()
        self._host.run(lambda _: transactions.abort_transaction(self._block_ms(timeout)))

    # Any: what the consumer reads does not matter.
    @contextmanager
    def transaction(self, consumer: "KafkaConsumer[Any, Any] | None" = None) -> Iterator[Self]:
        """Commits at the end, with the consumer's positions if one is given. On any exception it aborts, and the
        consumer goes back to what it had committed, or to where it began: the same records come again.

        A commit whose time is up goes on, and may count: then nothing is taken back, and `commit_transaction()` waits
        for it again.
        """
        self.begin_transaction()
        try:
            yield self
            if consumer is not None:
                positions = {partition: consumer.position(partition) for partition in consumer.assignment()}
                self.send_offsets_to_transaction(positions, consumer.group_metadata())
            self.commit_transaction()
        except BaseException as error:
            if self._has_aborted(error) and consumer is not None:
                consumer.seek_to_committed()
            raise

    def _has_aborted(self, error: BaseException) -> bool:
        """False if there is nothing to abort: a commit is done, or under way, and nobody knows yet whether it counts.
        The program is told what has gone wrong before, not what goes wrong here, unless that is the reason of it: a
        record of a producer that was fenced is refused for its epoch.
        """
        from odradek.client.producer.transaction_states import TransactionStateError
        from odradek.protocol.errors import InvalidProducerEpoch, KafkaError, ProducerFenced

        try:
            self.abort_transaction()
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
        """By Kafka's names. Empty before the first use."""
        session = self._host.at_work
        return {} if session is None else session.metrics()

    def close(self, timeout: float | None = None, **others: "Never") -> None:
        """Delivers what was sent, for at most `timeout` seconds (None: delivery.timeout.ms), and ends."""
        if others:
            refuse_keywords("close", others)
        self._refuse_waiting()
        timeout_ms = self._settings.sender.delivery_timeout_ms if timeout is None else int(timeout * 1000)
        session = self._host.at_work
        if session is not None:
            session.accumulator.is_plain = False
        self._host.close(timeout_ms)
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # How it begins

    def _begun(self) -> ProducerSession:
        session = self._host.at_work
        if session is not None and not self._host.is_closed:
            return session
        session = self._host.run(lambda at_work: at_work.begin())
        accumulator = session.accumulator
        accumulator.slow_send = _weakly(self)
        accumulator.refuse_waiting = self._host.refuse_own_thread
        self._host.at_work = session
        if self._preparing.is_plain:
            accumulator.is_plain = not self._settings.is_transactional
            self.__dict__["send"] = accumulator.send
        return session

    def deadline(self) -> Deadline:
        """How long a call may wait in all."""
        return Deadline(self._settings.max_block_ms)

    def session_with(self, topic: str, partition: int | None, deadline: Deadline) -> ProducerSession:
        """The session, when the topic is known to it and may be written to."""
        session = self._begun()
        if not _is_known(session, topic, partition):
            self._host.run(lambda at_work: at_work.wait_for_topic(topic, partition, deadline.left_ms()))
        if self._settings.is_transactional:
            session.check_transaction()
        return session

    @property
    def session(self) -> ProducerSession:
        """For the modules beside this one."""
        return self._begun()

    def _refuse_waiting(self) -> None:
        self._host.refuse_own_thread()

    def _block_ms(self, timeout: float | None) -> int:
        return self._settings.max_block_ms if timeout is None else int(timeout * 1000)


def _is_known(session: ProducerSession, topic: str, partition: int | None) -> bool:
    known = session.accumulator.topics.get(topic)
    return known is not None and len(known.queues) > (partition or 0)


def _weakly(producer: KafkaProducer[K, V]) -> Callable[..., RecordFuture]:
    """The client's thread must not keep alive what the program has dropped. Any: what `_slow_send` takes."""
    alive = weakref.ref(producer)

    def slow_send(*asked: Any) -> RecordFuture:
        found = alive()
        if found is None:
            raise closed(None)
        return found._slow_send(*asked)

    return slow_send
