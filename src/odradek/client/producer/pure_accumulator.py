"""Where records wait to be sent: Kafka's RecordAccumulator, in pure Python; `_accumulator.pyx` is the compiled twin.

    Accumulator -> Topic -> PartitionQueue -> GatheredBatch -> Buffer
     by name     its queues   one deque       records, outcome   the bytes

A record goes straight into the open batch of its partition, in its final form (magic 2). Its partition is the one that
it names, or that its key hashes to, or the topic's sticky one: that takes a batch's worth of records, and then another
partition, chosen by chance with more weight for those that have fewer batches waiting, is sticky.

An append is one step that nothing comes between. What may wait (metadata, memory, a serializer) is done before, by who
is asked when the plain way is closed: `slow_send`. Afterwards the open batch is looked up again: another thread may
have begun one.

The client's thread is told (`wake`) of a batch that is new or full, once until it has looked (`take_touched`).
"""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from struct import Struct
from typing import Any

from odradek.client.host.parking import Parked, guard
from odradek.client.producer import record_future
from odradek.client.producer.batch import NO_PRODUCER, ProducerIdAndEpoch
from odradek.client.producer.buffer_pool import BufferPool
from odradek.client.producer.record_metadata import RecordMetadata
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition
from odradek.records import layout
from odradek.records.crc import crc32c
from odradek.records.layout import HEADER_SIZE
from odradek.records.murmur2 import positive_murmur2

NO_HEADERS = b"\0"
NO_PARTITION = -1

_MASK_64 = (1 << 64) - 1
_START = Struct(">qiibI")  # base offset, length, leader epoch, magic, crc
_REST = Struct(">hiqqqhii")  # attributes and all that follows: what the crc covers
_MAGIC = 2


def _is_bytes(value: object) -> bool:
    return value is None or type(value) is bytes


def zigzag(value: int) -> int:
    value = ((value + (1 << 63)) & _MASK_64) - (1 << 63)
    return ((value << 1) ^ (value >> 63)) & _MASK_64


def varint_size(raw: int) -> int:
    return max(1, (raw.bit_length() + 6) // 7)


def put_varint(out: bytearray, raw: int) -> None:
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)


def record_size(
    timestamp_delta: int, offset_delta: int, key: bytes | None, value: bytes | None, headers: bytes
) -> tuple[int, int]:
    """The bytes of a record behind its length, and with it: exact."""
    length = 1 + varint_size(zigzag(timestamp_delta)) + varint_size(zigzag(offset_delta)) + len(headers)
    for field in (key, value):
        length += 1 if field is None else varint_size(zigzag(len(field))) + len(field)
    return length, length + varint_size(zigzag(length))


class Buffer(bytearray):
    """The bytes of one batch; its memory goes back to the pool with its last view, and by nothing else."""

    __slots__ = ("pool", "taken_bytes")

    pool: BufferPool
    taken_bytes: int

    def __del__(self) -> None:
        self.pool.give_back(self.taken_bytes)


class RecordFuture:
    """What will become of one record. `result` waits in a thread; a program of asyncio awaits it."""

    __slots__ = ("batch", "index", "key_size", "timestamp", "value_size")

    def __init__(self, batch: "GatheredBatch", index: int, timestamp: int, key_size: int, value_size: int) -> None:
        self.batch = batch
        self.index = index
        self.timestamp = timestamp
        self.key_size = key_size
        self.value_size = value_size

    def done(self) -> bool:
        return record_future.home(self.batch, self.index)[0].is_done

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Where the record is; raises why it is nowhere, or TimeoutError after so many seconds."""
        error = record_future.wait(self, timeout)
        if error is not None:
            raise error
        return record_future.metadata(self)

    get = result

    def exception(self, timeout: float | None = None) -> KafkaError | None:
        return record_future.wait(self, timeout)

    def add_done_callback(self, callback: "Callable[[RecordFuture], object]") -> None:
        """Called with this future in the client's thread, or at once if it is done."""
        record_future.subscribe(self, callback)

    def __await__(self) -> Generator[object, None, RecordMetadata]:
        return record_future.awaited(self)

    def __repr__(self) -> str:
        return f"<RecordFuture {self.batch.queue.place}, {'done' if self.done() else 'pending'}>"


class GatheredBatch:
    """Records of one partition, and later what became of them. Futures hold this; the bytes go when it is done."""

    __slots__ = (
        "_buffer",
        "_callbacks",
        "_capacity",
        "_has_header",
        "_waiters",
        "attempts",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "compressed",
        "created_ms",
        "error",
        "error_of",
        "failure",
        "is_done",
        "is_in_flight",
        "log_append_time_ms",
        "max_timestamp",
        "may_be_stored",
        "ordinal",
        "partition",
        "parts",
        "producer",
        "queue",
        "record_count",
        "retry_at_ms",
        "size_bytes",
    )

    def __init__(self, queue: "PartitionQueue", capacity: int, taken_bytes: int) -> None:
        self.queue = queue
        self.partition = queue.place
        self.record_count = 0
        self.size_bytes = HEADER_SIZE
        self.base_timestamp = self.max_timestamp = -1
        self.created_ms = -1
        self.is_done = False
        self.base_offset = self.log_append_time_ms = -1
        self.error: KafkaError | None = None
        self.error_of: Callable[[int], KafkaError] | None = None
        self.parts: Sequence[tuple[int, GatheredBatch]] | None = None
        # What the sender notes
        self.producer: ProducerIdAndEpoch | None = None
        self.base_sequence = -1
        self.attempts = self.retry_at_ms = 0
        self.may_be_stored = False
        self.compressed: bytes | None = None
        self.ordinal = 0  # the order in which the batches of a partition are to be written
        self.failure: KafkaError | None = None  # of its last attempt
        self.is_in_flight = False
        self._capacity = capacity
        self._has_header = False
        self._callbacks: list[tuple[Callable[[RecordFuture], object], RecordFuture]] | None = None
        self._waiters: list[Parked] | None = None
        buffer = Buffer(HEADER_SIZE)
        buffer.pool = queue.accumulator.pool
        buffer.taken_bytes = taken_bytes
        self._buffer: Buffer | bytes | None = buffer

    def body(self) -> memoryview:
        """The records. Whoever holds this view holds the memory."""
        buffer = self._buffer
        if buffer is None:
            return memoryview(b"")
        return memoryview(buffer)[HEADER_SIZE : self.size_bytes]

    def encoded(self, attributes: int) -> tuple[bytes | memoryview, ...]:
        """The pieces that a request has of it, with the numbers that it has now; `attributes` are the codec and whether
        it is transactional. A request may still lie in a connection when its batch is numbered anew, and goes with the
        numbers of its day: the first header stands before the records, where there is room for it, and every later one
        in memory of its own.
        """
        buffer = self._buffer
        body = self.body() if self.compressed is None else self.compressed
        rest = self._rest(attributes)
        length = HEADER_SIZE - layout.LOG_OVERHEAD + len(body)
        checksum = crc32c(body, crc32c(rest))  # type: ignore[call-arg]  # it goes on from the crc of what stands before
        header = _START.pack(0, length, layout.NO_LEADER_EPOCH, _MAGIC, checksum) + rest
        if not isinstance(buffer, Buffer) or self.compressed is not None or self._has_header:
            return header, body
        self._has_header = True
        whole = memoryview(buffer)[: self.size_bytes]
        whole[:HEADER_SIZE] = header
        return (whole,)

    def _rest(self, attributes: int) -> bytes:
        """What the checksum covers of the header."""
        producer_id, epoch = self.producer or NO_PRODUCER
        count = self.record_count
        times = self.base_timestamp, self.max_timestamp
        return _REST.pack(attributes, count - 1, *times, producer_id, epoch, self.base_sequence, count)

    def set_records(
        self, batch: bytes | memoryview, record_count: int, base_timestamp: int, max_timestamp: int
    ) -> None:
        """A whole batch that was built elsewhere, in the place of the memory that was taken for it."""
        self.record_count = record_count
        self.base_timestamp = base_timestamp
        self.max_timestamp = max_timestamp
        self.size_bytes = len(batch)
        held = self._buffer
        if isinstance(held, Buffer):
            held[:] = batch

    def put(self, timestamp: int, key: bytes | None, value: bytes | None, headers: bytes) -> bool:
        """False, and nothing has changed, if it does not fit. The first record always does."""
        delta = timestamp - self.base_timestamp if self.record_count else 0
        length, size = record_size(delta, self.record_count, key, value, headers)
        if self.record_count and self.size_bytes + size > self._capacity:
            return False
        out = self._buffer
        if not isinstance(out, Buffer):
            return False
        record = bytearray()
        put_varint(record, zigzag(length))
        record.append(0)
        put_varint(record, zigzag(delta))
        put_varint(record, zigzag(self.record_count))
        for field in (key, value):
            if field is None:
                record.append(1)
            else:
                put_varint(record, zigzag(len(field)))
                record += field
        record += headers
        if self.record_count == 0:
            self.base_timestamp = self.max_timestamp = timestamp
        self.max_timestamp = max(self.max_timestamp, timestamp)
        # A signal's exception may strike at any call. So the record is put where the next one would be put over it, and
        # counted by two statements that call nothing.
        out[self.size_bytes :] = record
        self.size_bytes += size
        self.record_count += 1
        return True

    @property
    def is_full(self) -> bool:
        return self.size_bytes >= self._capacity

    # What became of it

    def complete(
        self, base_offset: int, log_append_time_ms: int, error: KafkaError | None
    ) -> "list[tuple[Callable[[RecordFuture], object], RecordFuture]]":
        """The outcome of all its records. Lets waiting threads go; the callbacks are for the caller to call."""
        with self.queue.accumulator.guard:
            self.base_offset = base_offset
            self.log_append_time_ms = log_append_time_ms
            self.error = error
            self.is_done = True
        return self._let_go()

    def split_into(self, parts: "Sequence[tuple[int, GatheredBatch]]") -> None:
        """Its records are in these from now on: (number of the first one, batch)."""
        with self.queue.accumulator.guard:
            self.parts = parts
            callbacks = self._let_go()
        for callback, future in callbacks:
            record_future.subscribe(future, callback)

    def _let_go(self) -> "list[tuple[Callable[[RecordFuture], object], RecordFuture]]":
        with self.queue.accumulator.guard:
            self._buffer = self.compressed = None
            callbacks, self._callbacks = self._callbacks, None
            waiters, self._waiters = self._waiters, None
        for waiter in waiters or ():
            waiter.end()
        return callbacks or []

    def add_callback(self, callback: Callable[[RecordFuture], object], future: RecordFuture) -> bool:
        """False if it is done, or was split."""
        with self.queue.accumulator.guard:
            if self.is_done or self.parts is not None:
                return False
            if self._callbacks is None:
                self._callbacks = []
            self._callbacks.append((callback, future))
            return True

    def add_waiter(self, waiter: Parked) -> None:
        with self.queue.accumulator.guard:
            if self._waiters is None:
                self._waiters = []
            self._waiters.append(waiter)


class PartitionQueue:
    """The batches of one partition, in the order in which they go out; the last one may still take records."""

    __slots__ = (
        "accumulator",
        "batches",
        "is_available",
        "is_lingering",
        "is_muted",
        "is_ready",
        "is_touched",
        "leader_id",
        "open",
        "place",
        "retry_at_ms",
    )

    def __init__(self, accumulator: "Accumulator", topic: str, partition: int) -> None:
        self.accumulator = accumulator
        self.place = TopicPartition(topic, partition)
        self.batches: deque[Any] = deque()  # Any: of the class that the accumulator was given
        self.open: GatheredBatch | None = None
        self.is_touched = False
        # For the sender alone
        self.leader_id = NO_PARTITION
        self.is_available = True  # for the sticky partitioner: its leader is known, and takes batches
        self.is_ready = False  # stands in the line of its leader
        self.is_lingering = False
        self.is_muted = False
        self.retry_at_ms = 0

    def take(self) -> Any:  # Any: likewise
        """The first batch, which takes no record any more; None if there is none."""
        with self.accumulator.guard:
            if not self.batches:
                return None
            batch = self.batches.popleft()
            if batch is self.open:
                self.open = None
            return batch

    def has_full(self) -> bool:
        """Several batches wait, or the first one has no room."""
        return len(self.batches) > 1 or (len(self.batches) == 1 and self.batches[0] is not self.open)

    def close_open(self) -> None:
        self.open = None


class Topic:
    __slots__ = ("name", "produced_bytes", "queues", "sticky")

    def __init__(self, name: str) -> None:
        self.name = name
        self.queues: list[PartitionQueue] = []
        self.sticky = NO_PARTITION
        self.produced_bytes = 0  # to the sticky partition, since it is sticky


class Accumulator:
    """`is_plain`: records may take the plain way; else all of them go to `slow_send`."""

    __slots__ = (
        "_clock",
        "_is_noticed",
        "_state",
        "_touched",
        "adaptive",
        "batch_bytes",
        "batch_class",
        "guard",
        "ignores_keys",
        "is_closed",
        "is_plain",
        "pool",
        "refuse_waiting",
        "request_bytes_max",
        "slow_send",
        "topics",
        "wake",
    )

    def __init__(
        self,
        pool: BufferPool,
        batch_class: type[GatheredBatch],
        *,
        batch_bytes: int,
        request_bytes_max: int,
        seed: int,
        clock: Callable[[], int] | None = None,
        ignores_keys: bool = False,
        adaptive: bool = True,
    ) -> None:
        """Without a `clock` the time of a record is the machine's."""
        self.pool = pool
        self.batch_class = batch_class
        self.batch_bytes = batch_bytes
        self.request_bytes_max = request_bytes_max
        self.ignores_keys = ignores_keys
        self.adaptive = adaptive
        self.topics: dict[str, Topic] = {}
        self.is_plain = False
        self.is_closed = False  # nothing is taken any more: nobody would send it
        self.slow_send: Callable[..., RecordFuture | None] = _nobody
        self.wake: Callable[[], object] = _nobody
        self.refuse_waiting: Callable[[], object] = _nobody
        self.guard = guard()
        self._clock = clock
        self._state = seed & _MASK_64 or 1
        self._touched: list[PartitionQueue] = []
        self._is_noticed = False

    # Sending

    def send(
        self,
        topic: object,
        value: Any = None,
        key: Any = None,
        *,
        headers: object = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
        callback: object = None,
    ) -> RecordFuture | None:
        """The plain way: bytes for a topic that is known. Any: whether key and value are bytes is looked at here."""
        if self.is_plain and callback is None and headers == () and type(topic) is str:
            known = self.topics.get(topic)
            if known is not None and _is_bytes(key) and _is_bytes(value) and partition is None:
                timestamp = self.now_ms() if timestamp_ms is None else timestamp_ms
                future = self.append(known, self.place(known, key), timestamp, key, value, NO_HEADERS)
                if future is not None:
                    return future
        return self.slow_send(topic, value, key, headers, partition, timestamp_ms, callback)

    def append(
        self,
        topic: Topic,
        partition: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: bytes,
        taken_bytes: int = 0,
        callback: Callable[[RecordFuture], object] | None = None,
        opens: bool = True,
    ) -> RecordFuture | None:
        """NO_PARTITION: the sticky one. `taken_bytes` is memory that was waited for, which belongs to the accumulator
        from now on. None: there is no memory for a batch, the record is too large, or a batch would have to be begun
        and `opens` is False.
        """
        with self.guard:
            _, size = record_size(0, 0, key, value, headers)
            future = None
            if size + HEADER_SIZE <= self.request_bytes_max and timestamp >= -1 and not self.is_closed:
                queue = self._queue(topic, partition, size)
                if queue is not None:
                    future, taken_bytes = self._put(queue, timestamp, key, value, headers, size, taken_bytes, opens)
            if future is not None:
                topic.produced_bytes += size if partition < 0 else 0
                if callback is not None:
                    record_future.subscribe(future, callback)
        if taken_bytes:
            self.pool.give_back(taken_bytes)
        if self._touched and not self._is_noticed:
            self._notice()
        return future

    def _put(
        self,
        queue: PartitionQueue,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: bytes,
        size: int,
        taken_bytes: int,
        opens: bool,
    ) -> tuple[RecordFuture | None, int]:
        """The future, and what is left of the memory that was taken."""
        batch = queue.open
        if batch is None or not batch.put(timestamp, key, value, headers):
            if not opens:
                return None, taken_bytes
            needed = max(self.batch_bytes, size + HEADER_SIZE)
            if taken_bytes < needed and not self.pool.take(needed):
                return None, taken_bytes
            if taken_bytes >= needed:
                needed, taken_bytes = taken_bytes, 0
            batch = self.batch_class(queue, max(self.batch_bytes, size + HEADER_SIZE), needed)
            batch.put(timestamp, key, value, headers)
            self._touch(queue)  # in this order: whoever is interrupted leaves no batch that nobody would find
            queue.batches.append(batch)
            queue.open = batch
        if batch.is_full:
            queue.open = None
            self._touch(queue)
        sizes = (-1 if key is None else len(key)), (-1 if value is None else len(value))
        return RecordFuture(batch, batch.record_count - 1, timestamp, *sizes), taken_bytes

    def add_batch(self, queue: PartitionQueue, batch: GatheredBatch) -> bool:
        """A batch that is whole. False if the producer was closed."""
        with self.guard:
            if self.is_closed:
                return False
            queue.open = None
            queue.batches.append(batch)
            self._touch(queue)
        if not self._is_noticed:
            self._notice()
        return True

    def append_many(
        self,
        topic: Topic,
        values: Sequence[Any],
        keys: Sequence[Any] | None,
        first: int,
        partition: int,
        timestamp: int,
        spans: list[tuple[GatheredBatch, int, int]],
    ) -> int:
        """Appends from number `first` on, until there is no memory, or something is not bytes; where it stopped.
        `spans` gets (batch, number of the first record in it, how many of ours stand there side by side). Any: whether
        they are bytes is looked at here.
        """
        at = first
        while at < len(values):
            key, value = None if keys is None else keys[at], values[at]
            if not (_is_bytes(key) and _is_bytes(value)):
                break
            place = self.place(topic, key) if partition < 0 else partition
            future = self.append(topic, place, timestamp, key, value, NO_HEADERS)
            if future is None:
                break
            at += 1
            if spans and spans[-1][0] is future.batch and spans[-1][1] + spans[-1][2] == future.index:
                spans[-1] = (future.batch, spans[-1][1], spans[-1][2] + 1)
            else:
                spans.append((future.batch, future.index, 1))
        return at

    def now_ms(self) -> int:
        if self._clock is None:
            from odradek.client.host.clocks import wall_ms

            self._clock = wall_ms
        return self._clock()

    # Placing

    def place(self, topic: Topic, key: bytes | None) -> int:
        if key is None or self.ignores_keys or not topic.queues:
            return NO_PARTITION
        return positive_murmur2(key) % len(topic.queues)

    def places(self, topic: Topic, keys: Sequence[bytes | None]) -> list[int]:
        return [self.place(topic, key) for key in keys]

    def _queue(self, topic: Topic, partition: int, size: int) -> PartitionQueue | None:
        queues = topic.queues
        if partition >= 0:
            return queues[partition] if partition < len(queues) else None
        if not queues:
            return None
        if topic.sticky < 0 or topic.sticky >= len(queues) or self._may_switch(topic, queues[topic.sticky], size):
            self.next_sticky(topic)
        return queues[topic.sticky]

    def _may_switch(self, topic: Topic, queue: PartitionQueue, size: int) -> bool:
        """A batch's worth has gone there, and no batch is left half full."""
        if topic.produced_bytes + size < self.batch_bytes - HEADER_SIZE:
            return False
        return queue.open is None or queue.open.size_bytes + size > self.batch_bytes

    def next_sticky(self, topic: Topic) -> int:
        """Another one, by chance; with fewer batches in its queue it is more likely."""
        topic.produced_bytes = 0
        queues = topic.queues
        weights = self._weights(queues)
        total = sum(weights)
        if total == 0:
            topic.sticky = self._random(len(queues))
            return topic.sticky
        drawn = self._random(total)
        topic.sticky = 0
        while drawn >= weights[topic.sticky]:
            drawn -= weights[topic.sticky]
            topic.sticky += 1
        return topic.sticky

    def _weights(self, queues: list[PartitionQueue]) -> list[int]:
        if not self.adaptive:
            return [int(queue.leader_id >= 0) for queue in queues]
        longest = max(len(queue.batches) for queue in queues)
        return [
            longest + 1 - len(queue.batches) if queue.is_available and queue.leader_id >= 0 else 0 for queue in queues
        ]

    def _random(self, below: int) -> int:
        """xorshift64*: the same numbers in both executors."""
        state = self._state
        state ^= state >> 12
        state = (state ^ state << 25) & _MASK_64
        state ^= state >> 27
        self._state = state
        return ((state * 0x2545F4914F6CDD1D & _MASK_64) >> 33) % below

    # For the client's thread

    def set_topic(self, name: str, leaders: Sequence[int]) -> Topic:
        """The topic has so many partitions, with these leaders; -1: none is known."""
        with self.guard:
            topic = self.topics.get(name)
            if topic is None:
                topic = self.topics[name] = Topic(name)
            while len(topic.queues) < len(leaders):
                topic.queues.append(PartitionQueue(self, name, len(topic.queues)))
        for queue, leader_id in zip(topic.queues, leaders, strict=False):
            queue.leader_id = leader_id
        return topic

    def forget_topic(self, name: str) -> None:
        self.topics.pop(name, None)

    def take_touched(self) -> list[PartitionQueue]:
        """The queues in which something has begun or become full since the last call."""
        with self.guard:
            self._is_noticed = False
            touched, self._touched = self._touched, []
            for queue in touched:
                queue.is_touched = False
        return touched

    def put_back(self, queue: PartitionQueue, batch: GatheredBatch, at: int = 0) -> None:
        """Among those that wait, at that place: it has to go again."""
        with self.guard:
            queue.batches.insert(at, batch)

    def _touch(self, queue: PartitionQueue) -> None:
        if not queue.is_touched:
            queue.is_touched = True
            self._touched.append(queue)

    def _notice(self) -> None:
        self._is_noticed = True
        try:
            self.wake()
        except BaseException:  # a signal's: the record is there, and its sender must hear of it all the same
            self._is_noticed = False
            self.wake()
            raise


def _nobody(*_: object) -> None:
    """Until the producer has said whom to ask."""
