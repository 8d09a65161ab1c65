"""aiokafka's AIOKafkaProducer."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, Self

from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.producer.accumulator import RecordFuture
from odradek.client.producer.asyncio_producer import KafkaProducer as Producer
from odradek.compat.aiokafka import configs
from odradek.compat.aiokafka.errors import ProducerClosed
from odradek.compat.kafka_python.producer import asked_as_theirs
from odradek.compat.kafka_python.serializer import adapted
from odradek.compat.kafka_python.structs import Offsets, TopicPartition, offsets_of

CREATE_TIME = 0
BATCH_BYTES = 16384
RECORD_OVERHEAD_BYTES = 12  # about what a record takes beside its key and its value


class RecordMetadata(NamedTuple):
    topic: str
    partition: int
    topic_partition: TopicPartition
    offset: int
    timestamp: int
    timestamp_type: int
    log_start_offset: int | None


class BatchBuilder:
    """Records that are to be sent together."""

    def __init__(self, bytes_max: int) -> None:
        self.records: list[tuple[bytes | None, bytes | None, int | None, list[tuple[str, bytes]]]] = []
        self._bytes_max = bytes_max
        self._bytes = 0
        self._is_closed = False

    def append(
        self,
        *,
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Iterable[tuple[str, bytes]] = (),
    ) -> bool | None:
        """None if there is no room any more."""
        size = RECORD_OVERHEAD_BYTES + len(key or b"") + len(value or b"")
        if self._is_closed or (self.records and self._bytes + size > self._bytes_max):
            return None
        self._bytes += size
        self.records.append((key, value, timestamp, list(headers)))
        return True

    def close(self) -> None:
        self._is_closed = True

    def record_count(self) -> int:
        return len(self.records)

    def size(self) -> int:
        return self._bytes


class AIOKafkaProducer:
    # Any: configs are of the types that their names suggest, and keys and values of what the serializers take.

    def __init__(self, **given: Any) -> None:
        self._given = given
        self._producer: Producer[Any, Any] | None = None

    async def start(self) -> None:
        own = configs.adapted(self._given)
        await configs.reached(own)
        partitioner = own.pop("partitioner", None)
        names = ("key_serializer", "value_serializer")
        serializers = {name: adapted(own.pop(name, None), "serialize") for name in names}
        chosen = None if partitioner is None else asked_as_theirs(partitioner)
        self._producer = Producer(partitioner=chosen, **serializers, **own)
        if own.get("transactional_id") is not None:
            await self._producer.init_transactions()

    async def stop(self) -> None:
        if self._producer is not None:
            await self._producer.close()

    async def send(
        self,
        topic: str,
        value: object = None,
        key: object = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[tuple[str, bytes]] | None = None,
    ) -> "asyncio.Future[RecordMetadata]":
        """A future of asyncio: await it, gather it, wait for several."""
        sent = await self._at_work.send(
            topic, value, key, partition=partition, timestamp_ms=timestamp_ms, headers=list(headers or ())
        )
        future: asyncio.Future[RecordMetadata] = asyncio.get_running_loop().create_future()
        sent.add_done_callback(lambda done: _tell(future, done))
        return future

    async def send_and_wait(
        self, topic: str, value: object = None, key: object = None, **options: Any
    ) -> RecordMetadata:
        # Any: the options are those of `send`
        return await (await self.send(topic, value, key, **options))

    def create_batch(self) -> BatchBuilder:
        return BatchBuilder(self._given.get("max_batch_size", BATCH_BYTES))

    async def send_batch(
        self, batch: BatchBuilder, topic: str, *, partition: int
    ) -> "asyncio.Future[RecordMetadata] | None":
        """The outcome of its first record. Keys and values of a batch are bytes already."""
        batch.close()
        sent = [
            await self.send(topic, value, key, partition, timestamp, headers)
            for key, value, timestamp, headers in batch.records
        ]
        return sent[0] if sent else None

    async def flush(self) -> None:
        await self._at_work.flush()

    async def partitions_for(self, topic: str) -> set[int]:
        return {info.partition for info in await self._at_work.partitions_for(topic)}

    # Transactions

    async def begin_transaction(self) -> None:
        await self._at_work.begin_transaction()

    async def commit_transaction(self) -> None:
        await self._at_work.commit_transaction()

    async def abort_transaction(self) -> None:
        await self._at_work.abort_transaction()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Self]:
        async with self._at_work.transaction():
            yield self

    async def send_offsets_to_transaction(self, offsets: Offsets, group_id: str) -> None:
        await self._at_work.send_offsets_to_transaction(offsets_of(offsets), ConsumerGroupMetadata(group_id))

    @property
    def _at_work(self) -> "Producer[Any, Any]":
        if self._producer is None:
            raise ProducerClosed("the producer was not started: await its start() first")
        return self._producer

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


def _tell(future: "asyncio.Future[RecordMetadata]", done: RecordFuture) -> None:
    if future.done():  # whoever waited has given up
        return
    error = done.exception(0)
    if error is not None:
        future.set_exception(error)
        return
    found = done.result(0)
    place = TopicPartition(found.topic, found.partition)
    future.set_result(
        RecordMetadata(found.topic, found.partition, place, found.offset, found.timestamp, CREATE_TIME, None)
    )
