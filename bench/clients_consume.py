"""Consuming beside the other Python clients, from one broker of ours, in the same run: CPU time of the whole client
process per record, its threads included, and how fast it was.

    records     ours by `poll` of 500 records and `.value` of each, beside confluent-kafka (`consume(500)`, `.value()`),
                kafka-python (`poll`) and aiokafka (`getmany`)
    Arrow       ours by `poll_arrow`: tables, and no Python object per record

A client is a process of its own, its imports and its start are not counted. 100-byte values in batches of 16 KB, four
partitions. The best of the rounds counts. `python -m bench.clients_consume --help` has options.
"""

import argparse
import asyncio
import importlib.util
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from bench.wire_client import WireClient, create_topic
from odradek import KafkaConsumer
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.topic_partition import TopicPartition
from odradek.records.build import build
from odradek.testing.broker import Broker

TOPIC, PARTITIONS = "consumed", 4
TIMESTAMP = 1_700_000_000_000
PEERS = {"confluent": "confluent_kafka", "kafka-python": "kafka", "aiokafka": "aiokafka"}
SLOW = ("kafka-python", "aiokafka")  # read a tenth of the records
GATES = {"ours": 1 / 3, "ours Arrow": 1 / 5}  # of the CPU time of confluent-kafka


def main(arguments: list[str] | None = None) -> None:
    options = _options(arguments or [])
    if options.client:
        print(json.dumps(CLIENTS[options.client](options.bootstrap, options.records)))
        return
    with Broker() as broker:
        _fill(broker.port, options.records, options.value_bytes)
        names = [name for name in CLIENTS if name not in PEERS or importlib.util.find_spec(PEERS[name])]
        best: dict[str, tuple[float, float]] = {}
        for _ in range(options.rounds):
            for name in names:
                found = _run(name, broker.bootstrap, options)
                best[name] = min(best.get(name, found), found)
        _show(best)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.clients_consume", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of each client (3)")
    parser.add_argument("--records", type=int, default=1_000_000, help="that are read (1,000,000)")
    parser.add_argument("--value-bytes", type=int, default=100, help="of each record (100)")
    parser.add_argument("--client", choices=sorted(CLIENTS), help="run this one alone, against --bootstrap")
    parser.add_argument("--bootstrap", default="")
    return parser.parse_args(arguments)


def _fill(port: int, records: int, value_bytes: int) -> None:
    create_topic(port, TOPIC, PARTITIONS)
    with WireClient(port) as client:
        for partition in range(PARTITIONS):
            left = records // PARTITIONS
            while left:
                count = min(left, max(1, 900_000 // value_bytes))
                values = [b"%0*d" % (value_bytes, row) for row in range(count)]
                for batch in build(values, default_timestamp=TIMESTAMP):
                    data = [PartitionProduceData(index=partition, records=batch)]
                    topics = [TopicProduceData(name=TOPIC, partition_data=data)]
                    client.ask(ProduceRequest(acks=1, timeout_ms=10_000, topic_data=topics), 9)
                left -= count


def _run(name: str, bootstrap: str, options: argparse.Namespace) -> tuple[float, float]:
    """Nanoseconds of CPU time and of time per record."""
    records = options.records // 10 if name in SLOW else options.records
    command = [sys.executable, "-m", "bench.clients_consume", "--client", name]
    command += ["--bootstrap", bootstrap, "--records", str(records)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    cpu_ns, wall_ns = json.loads(done.stdout)
    return cpu_ns, wall_ns


def _show(best: dict[str, tuple[float, float]]) -> None:
    beside = best.get("confluent", (0.0, 0.0))[0]
    for name, (cpu_ns, wall_ns) in best.items():
        ratio = f"{cpu_ns / beside:.2f} of confluent-kafka's CPU" if beside else ""
        gate = f" (gate {GATES[name]:.2f})" if name in GATES and beside else ""
        print(f"{name:14} {cpu_ns:8.0f} ns CPU per record, {wall_ns:8.0f} ns in all   {ratio}{gate}")


class _Stopwatch:
    """From the first records on: what comes before them is the start of a client."""

    def __init__(self, records: int) -> None:
        self.left = records
        self._counted = 0
        self._began: tuple[float, float] | None = None

    def got(self, count: int) -> bool:
        """Whether more are to be read."""
        if self._began is None:
            self._began = (_cpu_s(), time.perf_counter())
        else:
            self._counted += count
        self.left -= count
        return self.left > 0

    def figures(self) -> tuple[float, float]:
        cpu, wall = self._began or (0.0, 0.0)
        return (
            (_cpu_s() - cpu) * 1e9 / max(1, self._counted),
            (time.perf_counter() - wall) * 1e9 / max(1, self._counted),
        )


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _ours(bootstrap: str, records: int) -> tuple[float, float]:
    with _our_consumer(bootstrap) as consumer:
        watch = _Stopwatch(records)
        more = True
        while more:
            found = consumer.poll(1.0)
            for record in found:
                record.value  # noqa: B018 - as a program would
            more = watch.got(len(found)) if found else True
        return watch.figures()


def _ours_arrow(bootstrap: str, records: int) -> tuple[float, float]:
    import pyarrow  # noqa: F401 - its import is no part of it

    with _our_consumer(bootstrap) as consumer:
        watch = _Stopwatch(records)
        more = True
        while more:
            table = consumer.poll_arrow(1.0, max_bytes=1 << 20)
            more = watch.got(table.num_rows) if table.num_rows else True
        return watch.figures()


def _our_consumer(bootstrap: str) -> KafkaConsumer[Any, Any]:
    consumer: KafkaConsumer[Any, Any] = KafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)
    places = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
    consumer.assign(places)
    for place in places:
        consumer.seek(place, 0)
    return consumer


def _confluent(bootstrap: str, records: int) -> tuple[float, float]:
    from confluent_kafka import Consumer
    from confluent_kafka import TopicPartition as Place

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False})
    consumer.assign([Place(TOPIC, number, 0) for number in range(PARTITIONS)])
    watch = _Stopwatch(records)
    more = True
    while more:
        found = consumer.consume(500, 1.0)
        for message in found:
            message.value()
        more = watch.got(len(found)) if found else True
    figures = watch.figures()
    consumer.close()
    return figures


def _kafka_python(bootstrap: str, records: int) -> tuple[float, float]:
    from kafka import KafkaConsumer
    from kafka import TopicPartition as Place

    consumer = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", enable_auto_commit=False)
    consumer.assign([Place(TOPIC, number) for number in range(PARTITIONS)])
    watch = _Stopwatch(records)
    more = True
    while more:
        found = [record for some in consumer.poll(1000, max_records=500).values() for record in some]
        for record in found:
            record.value  # noqa: B018 - as a program would
        more = watch.got(len(found)) if found else True
    figures = watch.figures()
    consumer.close()
    return figures


def _aiokafka(bootstrap: str, records: int) -> tuple[float, float]:
    async def read() -> tuple[float, float]:
        from aiokafka import AIOKafkaConsumer
        from aiokafka import TopicPartition as Place

        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", enable_auto_commit=False)
        await consumer.start()
        consumer.assign([Place(TOPIC, number) for number in range(PARTITIONS)])
        watch = _Stopwatch(records)
        more = True
        while more:
            some = await consumer.getmany(timeout_ms=1000, max_records=500)
            found = [record for each in some.values() for record in each]
            for record in found:
                record.value  # noqa: B018 - as a program would
            more = watch.got(len(found)) if found else True
        figures = watch.figures()
        await consumer.stop()
        return figures

    return asyncio.run(read())


CLIENTS: dict[str, Callable[[str, int], tuple[float, float]]] = {
    "ours": _ours,
    "ours Arrow": _ours_arrow,
    "confluent": _confluent,
    "kafka-python": _kafka_python,
    "aiokafka": _aiokafka,
}

if __name__ == "__main__":
    main(sys.argv[1:])
