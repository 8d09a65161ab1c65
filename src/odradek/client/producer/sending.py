"""What is done with a record before it is appended, where that is more than the plain way of the accumulator.

    interceptors -> serializers -> partitioner -> headers, sizes, time -> a record that can be appended

None of it waits: for metadata and memory its front end does, a thread or a task.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from odradek.channel.cluster import Cluster
from odradek.client.host.session import logger
from odradek.client.producer import record_future
from odradek.client.producer.accumulator import NO_HEADERS, RecordFuture
from odradek.client.producer.partitioners import Partitioner
from odradek.client.producer.prepared import Prepared
from odradek.client.producer.producer_record import HeaderList, ProducerRecord, Record
from odradek.client.producer.pure_accumulator import record_size, zigzag
from odradek.client.producer.record_metadata import RecordMetadata
from odradek.client.producer.session import ProducerSession
from odradek.client.serializers import Headers, Serialize, not_bytes
from odradek.protocol.errors import InvalidTimestamp, KafkaError, MessageTooLarge
from odradek.records import fields
from odradek.records.layout import HEADER_SIZE

UserCallback = Callable[[RecordMetadata | None, KafkaError | None], object]


class Preparing:
    """The plugins of a producer, and what they do to a record."""

    def __init__(
        self,
        key_serializer: Serialize | None,
        value_serializer: Serialize | None,
        partitioner: Partitioner | None,
        interceptors: Sequence[object],
    ) -> None:
        self.key_serializer = key_serializer
        self.value_serializer = value_serializer
        self.partitioner = partitioner
        self._on_send = [each.on_send for each in interceptors if hasattr(each, "on_send")]
        self._on_ack = [each.on_acknowledgement for each in interceptors if hasattr(each, "on_acknowledgement")]
        self.interceptors = interceptors

    @property
    def is_plain(self) -> bool:
        """Bytes, and nobody looks at them."""
        plugins = self.key_serializer or self.value_serializer or self.partitioner or self.interceptors
        return not plugins

    def intercepted(self, record: Record) -> Record:
        """What the chain makes of it. One that fails is left out, and told of in the log."""
        for on_send in self._on_send:
            try:
                record = on_send(record)
            except Exception:  # noqa: BLE001 - the program's own
                logger.exception(
                    "an interceptor has failed on a record for topic %s, partition %s", record.topic, record.partition
                )
        return record

    def prepared(self, record: Record, session: ProducerSession) -> Prepared:
        """Of a record whose topic is known. Raises SerializationError, MessageTooLarge and the like."""
        headers = record.headers
        key = _serialized(self.key_serializer, record.topic, headers, record.key, is_key=True)
        value = _serialized(self.value_serializer, record.topic, headers, record.value, is_key=False)
        partition = self._partition(record, key, value, session)
        encoded = encoded_headers(headers)
        needed = _checked_size(session, key, value, encoded)
        if record.timestamp_ms is not None and record.timestamp_ms < 0:
            raise InvalidTimestamp(
                f"The timestamp {record.timestamp_ms} is before 1970: it is milliseconds since then."
            )
        return Prepared(record.topic, partition, key, value, encoded, record.timestamp_ms, needed)

    def again(self, record: Record, prepared: Prepared, session: ProducerSession) -> Prepared:
        """A batch would have to be begun: a partitioner that wants to know is told, and asked once more."""
        cluster = session.metadata.cluster
        told: Any = self.partitioner  # Any: that it has the method, `asks_again` has seen
        told.on_new_batch(record.topic, cluster, prepared.partition)
        return prepared._replace(partition=self._partition(record, prepared.key, prepared.value, session))

    def asks_again(self, record: Record) -> bool:
        return record.partition is None and hasattr(self.partitioner, "on_new_batch")

    def _partition(self, record: Record, key: bytes | None, value: bytes | None, session: ProducerSession) -> int:
        if record.partition is not None:
            return record.partition
        accumulator = session.accumulator
        if self.partitioner is None:
            return accumulator.place(accumulator.topics[record.topic], key)
        cluster: Cluster = session.metadata.cluster
        chosen = self.partitioner.partition(record.topic, record.key, key, record.value, value, cluster)
        count = len(accumulator.topics[record.topic].queues)
        if not 0 <= chosen < count:
            raise ValueError(f"the partitioner chose partition {chosen} of topic {record.topic}, which has {count}")
        return chosen

    def places(
        self, topic: str, keys: Sequence[bytes | None], values: Sequence[bytes | None], session: ProducerSession
    ) -> list[int]:
        """The partitions that the program's own partitioner chooses for bytes, row by row."""
        records = [ProducerRecord(topic, value, key) for key, value in zip(keys, values, strict=True)]
        if records and self.asks_again(records[0]):
            told: Any = self.partitioner  # Any: as in `again`
            before = self._partition(records[0], records[0].key, records[0].value, session)
            told.on_new_batch(topic, session.metadata.cluster, before)
        return [self._partition(record, record.key, record.value, session) for record in records]

    def told(self, callback: UserCallback | None) -> Callable[[RecordFuture], object] | None:
        """What is called when the record has its outcome: first the interceptors, then the program's callback."""
        if not self._on_ack and callback is None:
            return None
        return _Told(self._on_ack, callback)


class _Told:
    __slots__ = ("_callback", "_on_ack")

    def __init__(self, on_ack: Iterable[Callable[..., object]], callback: UserCallback | None) -> None:
        self._on_ack = on_ack
        self._callback = callback

    def __call__(self, future: RecordFuture) -> None:
        error = future.exception(0)
        metadata = None if error is not None else record_future.metadata(future)
        if self._on_ack:
            self._tell_interceptors(metadata or _nowhere(future), error)
        if self._callback is not None:
            self._callback(metadata, error)

    def _tell_interceptors(self, metadata: RecordMetadata, error: KafkaError | None) -> None:
        for on_ack in self._on_ack:
            try:
                on_ack(metadata, error)
            except Exception:  # noqa: BLE001 - the program's own
                logger.exception("an interceptor has failed on what became of a record")

    def __repr__(self) -> str:
        return repr(self._callback or self._on_ack)


def _nowhere(future: RecordFuture) -> RecordMetadata:
    return RecordMetadata(*future.batch.queue.place, -1, future.timestamp, future.key_size, future.value_size)


def _serialized(
    serialize: Serialize | None, topic: str, headers: Headers, value: object, *, is_key: bool
) -> bytes | None:
    if serialize is not None:
        return serialize(topic, headers, value)
    if value is None or type(value) is bytes:
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise not_bytes(value, is_key=is_key)


def encoded_headers(headers: Iterable[object]) -> bytes:
    """Frozen: the bytes that stand in the record."""
    pairs = fields.header_list(headers)
    if not pairs:
        return NO_HEADERS
    out = bytearray(_varint(len(pairs)))
    for pair in pairs:
        key, value = fields.header_pair(pair)
        out += _varint(len(key)) + key
        out += b"\1" if value is None else _varint(len(value)) + value
    return bytes(out)


def _varint(value: int) -> bytes:
    raw = zigzag(value)
    out = bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)


def _checked_size(session: ProducerSession, key: bytes | None, value: bytes | None, headers: bytes) -> int:
    """The memory of a batch with this record first; MessageTooLarge if nobody could take that."""
    size = record_size(0, 0, key, value, headers)[1] + HEADER_SIZE
    limit = session.settings.sender.request_bytes_max
    if size > limit:
        raise MessageTooLarge(f"The record takes {size} bytes, which is more than max.request.size: {limit}.")
    if size > session.settings.buffer_memory:
        raise MessageTooLarge(
            f"The record takes {size} bytes, which is more than buffer.memory: {session.settings.buffer_memory}."
        )
    return max(size, session.accumulator.batch_bytes)


def as_record(
    topic: str | Record,
    value: object,
    key: object,
    headers: HeaderList | None,
    partition: int | None,
    timestamp_ms: int | None,
) -> Record:
    if isinstance(topic, ProducerRecord):
        return topic
    if not isinstance(topic, str):
        raise TypeError(f"a topic is a str or a ProducerRecord, not {type(topic).__name__}")
    if partition is not None and partition < 0:
        raise ValueError(f"partition {partition} is less than 0")
    return ProducerRecord(topic, value, key, headers=headers, partition=partition, timestamp_ms=timestamp_ms)
