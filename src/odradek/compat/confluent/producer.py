"""confluent-kafka's Producer. Delivery callbacks are called by `poll` and `flush`, in the program's own thread."""

import random
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from threading import Lock
from typing import Any

from odradek.channel.cluster import Cluster
from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.producer.errors import BufferExhausted
from odradek.client.producer.kafka_producer import KafkaProducer
from odradek.client.producer.record_metadata import RecordMetadata
from odradek.compat.confluent.configs import adapted, seconds
from odradek.compat.confluent.errors import KafkaError, raised
from odradek.compat.confluent.message import TIMESTAMP_CREATE_TIME, Message, TopicPartition
from odradek.compat.kafka_python.structs import offsets_of
from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicPartition as Place

ANY_PARTITION = -1
STEP_S = 0.01

Delivered = Callable[[KafkaError | None, Message], object]


class Producer:
    # Any: configs are of the types that their names suggest; serializers may be among them, and headers are a dict or
    # pairs, with text or bytes in them.

    def __init__(self, config: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        given = {**(config or {}), **{name.replace("_", "."): value for name, value in more.items()}}
        chosen = _PARTITIONERS.get(str(given.get("partitioner", "consistent_random")))
        if chosen is None and str(given.get("partitioner")) not in ("murmur2", "murmur2_random"):
            raise ValueError(f"partitioner={given.get('partitioner')} is not there")
        self._on_delivery: Delivered | None = given.get("on_delivery") or given.get("on.delivery")
        self._producer: KafkaProducer[Any, Any] = KafkaProducer(adapted(given), partitioner=chosen)
        self._told: deque[tuple[Delivered, KafkaError | None, Message]] = deque()
        self._under_way = 0
        self._lock = Lock()

    def produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        partition: int = ANY_PARTITION,
        on_delivery: Delivered | None = None,
        timestamp: int = 0,
        headers: Any = None,
        callback: Delivered | None = None,
    ) -> None:
        """BufferError if the buffer is full: `poll` and try again."""
        pairs = list(headers.items() if isinstance(headers, dict) else headers or ())
        told = on_delivery or callback or self._on_delivery
        data, name = _bytes(value), _bytes(key)
        self._count(1)
        try:
            self._producer.send(
                topic,
                data,
                name,
                headers=[(header, _bytes(each)) for header, each in pairs],
                partition=None if partition == ANY_PARTITION else partition,
                timestamp_ms=timestamp or None,
                callback=lambda found, error: self._done(told, topic, data, name, pairs, found, error),
            )
        except BufferExhausted as error:
            self._count(-1)
            raise BufferError("Local: Queue full") from error
        except errors.KafkaError as error:
            self._count(-1)
            raise raised(error) from error

    def _done(
        self,
        told: Delivered | None,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: list[tuple[str, Any]],
        found: RecordMetadata | None,
        error: errors.KafkaError | None,
    ) -> None:
        """In the client's thread."""
        if told is None:
            self._count(-1)
            return
        problem = None if error is None else KafkaError.of(error)
        where = {} if found is None else {"partition": found.partition, "offset": found.offset}
        stamp = (TIMESTAMP_CREATE_TIME, found.timestamp) if found is not None else (0, 0)
        message = Message(
            topic=topic, key=key, value=value, headers=headers or None, timestamp=stamp, error=problem, **where
        )
        self._told.append((told, problem, message))

    def poll(self, timeout: float | None = None) -> int:
        """Calls the callbacks that are due; waits for the first so long. How many."""
        wait = seconds(timeout)
        deadline = None if wait is None else time.monotonic() + wait
        while not self._told and self._under_way and (deadline is None or time.monotonic() < deadline):
            time.sleep(STEP_S)
        served = 0
        while (due := self._next_told()) is not None:
            told, problem, message = due
            self._count(-1)
            served += 1
            told(problem, message)
        return served

    def _next_told(self) -> tuple[Delivered, KafkaError | None, Message] | None:
        """Another thread may poll as well."""
        try:
            return self._told.popleft()
        except IndexError:
            return None

    def _count(self, change: int) -> None:
        """From the program's threads and from the client's."""
        with self._lock:
            self._under_way += change

    def flush(self, timeout: float | None = None) -> int:
        """How many messages are still under way when the time is up."""
        wait = seconds(timeout)
        with suppress(errors.RequestTimedOut):
            self._producer.flush(wait)
        self.poll(0)
        return len(self)

    def __len__(self) -> int:
        return self._under_way

    def __bool__(self) -> bool:
        return True

    def close(self, timeout: float | None = None) -> bool:
        self._producer.close(seconds(timeout))
        self.poll(0)
        return not self._under_way

    # Transactions

    def init_transactions(self, timeout: float | None = None) -> None:
        self._do(self._producer.init_transactions, seconds(timeout))

    def begin_transaction(self) -> None:
        self._do(self._producer.begin_transaction)

    def commit_transaction(self, timeout: float | None = None) -> None:
        self._do(self._producer.commit_transaction, seconds(timeout))

    def abort_transaction(self, timeout: float | None = None) -> None:
        self._do(self._producer.abort_transaction, seconds(timeout))

    def send_offsets_to_transaction(
        self, positions: Iterable[TopicPartition], group_metadata: ConsumerGroupMetadata, timeout: float | None = None
    ) -> None:
        offsets = offsets_of({Place(each.topic, each.partition): each.offset for each in positions})
        self._do(self._producer.send_offsets_to_transaction, offsets, group_metadata, seconds(timeout))

    def _do(self, call: Callable[..., object], *arguments: object) -> None:
        try:
            call(*arguments)
        except errors.KafkaError as error:
            raise raised(error) from error


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _partitions(cluster: Cluster, topic: str) -> list[int]:
    return sorted(info.partition for info in cluster.partitions(topic))


def _consistent_random(
    topic: str, key: object, key_bytes: bytes | None, value: object, data: bytes | None, cluster: Cluster
) -> int:
    """librdkafka's default: by the checksum of the key, at random without one. Kafka's own is another."""
    if not key_bytes:
        return _random(topic, key, key_bytes, value, data, cluster)
    return _consistent(topic, key, key_bytes, value, data, cluster)


def _consistent(
    topic: str, key: object, key_bytes: bytes | None, value: object, data: bytes | None, cluster: Cluster
) -> int:
    return zlib.crc32(key_bytes or b"") % max(1, len(_partitions(cluster, topic)))


def _random(
    topic: str, key: object, key_bytes: bytes | None, value: object, data: bytes | None, cluster: Cluster
) -> int:
    available = [info.partition for info in cluster.available_partitions(topic)]
    return random.choice(available or _partitions(cluster, topic) or [0])


_PARTITIONERS = {"consistent_random": _consistent_random, "consistent": _consistent, "random": _random}
