"""`odradek bench`: how fast a cluster takes and gives records, as this machine's client sees it."""

import argparse
import time
from typing import TYPE_CHECKING

from odradek.cli.client.command import Group
from odradek.cli.client.connection import admin_of, told_errors
from odradek.cli.client.consumer_client import consumer_of
from odradek.cli.client.lookup import partition_counts
from odradek.cli.client.producer_client import producer_of
from odradek.cli.client.table import show_fields
from odradek.cli.client.waiting import Status
from odradek.cli.failure import Failure
from odradek.cli.progress import SILENT_SECONDS
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.client.consumer.kafka_consumer import KafkaConsumer
    from odradek.client.producer.kafka_producer import KafkaProducer

HELP = "how fast a cluster takes and gives records: produce, consume"

AT_ONCE = 1000  # records that are sent between two looks at the clock

_NAMES = {
    "records": "records",
    "seconds": "seconds",
    "records_per_s": "records/s",
    "mb_per_s": "MB/s",
}
_LATENCIES = {"latency_avg_ms": "latency, average ms", "latency_p99_ms": "latency, p99 ms"}


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    group = Group(commands, "bench", HELP)
    produce = group.action(
        "produce",
        "write records of one size as fast as they are taken",
        _produce,
        """
        bench produce scratch --create # a million records of 100 bytes
        bench produce scratch -n 100000 --size 1000 -X acks=1 -X linger.ms=10
        """,
    )
    produce.add_argument("topic", metavar="TOPIC")
    produce.add_argument("-n", "--number", type=int, default=1_000_000, metavar="N", help="records (default: 1000000)")
    produce.add_argument("--size", type=int, default=100, metavar="BYTES", help="of each value (default: 100)")
    produce.add_argument("--create", action="store_true", help="create the topic if it is not there")
    consume = group.action(
        "consume",
        "read records from the start of a topic as fast as they come",
        _consume,
        """
        bench consume scratch # all that is there
        bench consume scratch -n 100000
        """,
    )
    consume.add_argument("topic", metavar="TOPIC")
    consume.add_argument("-n", "--number", type=int, metavar="N", help="records (default: all that are there)")


def _produce(options: argparse.Namespace) -> int:
    if options.number < 1 or options.size < 0:
        raise Failure("there has to be something to write: -n N above 0, --size BYTES not below")
    with told_errors():
        with admin_of(options) as admin:
            if options.create and options.topic not in admin.list_topics():
                admin.create_topic(options.topic)
            partition_counts(admin, [options.topic])
        with producer_of(options, {}) as producer:
            fields = _written(producer, options)
    show_fields(options, fields, {**_NAMES, **_LATENCIES})
    return 0


def _written(producer: "KafkaProducer[bytes, bytes]", options: argparse.Namespace) -> dict[str, object]:
    value, told = bytes(options.size), _Told("written", options.number)
    latencies: list[float] = []
    producer.send(options.topic, value).result()  # to be connected, and to know the topic, is no part of it
    began = time.perf_counter()
    for first in range(0, options.number, AT_ONCE):
        sent_at = time.perf_counter()
        for _ in range(min(AT_ONCE, options.number - first) - 1):
            producer.send(options.topic, value)
        producer.send(options.topic, value, callback=lambda *_, at=sent_at: latencies.append(time.perf_counter() - at))
        told.tell(first)
    producer.flush()
    seconds = time.perf_counter() - began
    told.clear()
    latencies.sort()
    return {
        **_rates(options.number, options.number * options.size, seconds),
        "latency_avg_ms": round(1000 * sum(latencies) / len(latencies), 1),
        "latency_p99_ms": round(1000 * latencies[int(0.99 * (len(latencies) - 1))], 1),
    }


def _consume(options: argparse.Namespace) -> int:
    from odradek.cli.client.positions import bounds_of

    with told_errors():
        with admin_of(options) as admin:
            count = partition_counts(admin, [options.topic])[options.topic]
            places = [TopicPartition(options.topic, number) for number in range(count)]
            bounds = bounds_of(admin, places)
        wanted = sum(each.end - each.start for each in bounds.values())
        number = wanted if options.number is None else min(wanted, options.number)
        if not number:
            raise Failure(f"{options.topic} is empty: odradek bench produce {options.topic} fills it")
        with consumer_of(options, {"enable.auto.commit": "false", "auto.offset.reset": "earliest"}) as consumer:
            consumer.assign(places)
            consumer.seek_to_beginning(places)
            fields = _read(consumer, number, {place: each.end for place, each in bounds.items()})
    show_fields(options, fields, _NAMES)
    return 0


def _read(consumer: "KafkaConsumer[bytes, bytes]", number: int, ends: dict[TopicPartition, int]) -> dict[str, object]:
    told = _Told("read", number)
    found = size = 0
    began = time.perf_counter()
    while found < number:
        records = consumer.poll(1.0)
        for record in records:
            size += len(record.value or b"") + len(record.key or b"")
        found += len(records)
        told.tell(found)
        if not records and all(consumer.position(place) >= end for place, end in ends.items()):
            break  # not every offset has a record
    seconds = time.perf_counter() - began
    told.clear()
    return _rates(found, size, seconds)


def _rates(records: int, size: int, seconds: float) -> dict[str, object]:
    return {
        "records": records,
        "seconds": round(seconds, 3),
        "records_per_s": round(records / seconds),
        "mb_per_s": round(size / seconds / 1e6, 1),
    }


class _Told:
    """How far it is, on a terminal, once it takes long."""

    def __init__(self, word: str, total: int) -> None:
        self._word = word
        self._total = total
        self._status = Status()
        self._next = time.monotonic() + SILENT_SECONDS

    def tell(self, done: int) -> None:
        if self._status.is_terminal and time.monotonic() >= self._next:
            self._next += 0.5
            self._status.show(f"{done} of {self._total} records {self._word}")

    def clear(self) -> None:
        self._status.clear()
