"""Producing beside the other Python clients, to one broker of ours, in the same run: how fast each is, and CPU time of
the whole client process per record, its threads included.

    send        ours by `send` for each record, beside confluent-kafka (`produce`), kafka-python and aiokafka (`send`)
    many        ours by `send_many`, lists of ten thousand
    Arrow       ours by `send_arrow`, tables of ten thousand rows
    call        what a call of `send` alone costs, without a broker

A client is a process of its own, its imports and its start are not counted. Four partitions, acks=all, idempotence,
batches of 16 KB and a linger of 5 ms for everybody, which are Kafka's defaults. The best of the rounds counts.
`python -m bench.clients_produce --help` has options.
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

from bench.wire_client import create_topic
from odradek import KafkaProducer
from odradek.testing.broker import Broker

TOPIC, PARTITIONS = "produced", 4
PEERS = {"confluent": "confluent_kafka", "kafka-python": "kafka", "aiokafka": "aiokafka"}
SLOW = ("kafka-python", "aiokafka")  # send a tenth of the records
RATE_GATES = {"ours": 2.0, "ours many": 4.0, "ours Arrow": 4.0}  # of the rate of confluent-kafka
CPU_GATES = {"ours": 1 / 3}  # of its CPU time
CALL_NS_GATE = 100
AT_ONCE = 10_000

Figures = tuple[float, float]  # nanoseconds of CPU time and of time per record


def main(arguments: list[str] | None = None) -> None:
    options = _options(arguments or [])
    if options.client:
        print(json.dumps(CLIENTS[options.client](options.bootstrap, options.records, options.value_bytes)))
        return
    _show_call()
    with Broker() as broker:
        create_topic(broker.port, TOPIC, PARTITIONS)
        names = [name for name in CLIENTS if name not in PEERS or importlib.util.find_spec(PEERS[name])]
        for value_bytes in options.sizes:
            best: dict[str, Figures] = {}
            for _ in range(options.rounds):
                for name in names:
                    found = _run(name, broker.bootstrap, options.records * 100 // value_bytes, value_bytes)
                    best[name] = min(best.get(name, found), found)
            _show(value_bytes, best)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.clients_produce", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of each client (3)")
    parser.add_argument("--records", type=int, default=500_000, help="of 100 bytes that are sent, or as many bytes")
    parser.add_argument("--sizes", type=int, nargs="*", default=[100, 1000], help="bytes of a value (100 1000)")
    parser.add_argument("--client", choices=sorted(CLIENTS), help="run this one alone, against --bootstrap")
    parser.add_argument("--bootstrap", default="")
    parser.add_argument("--value-bytes", type=int, default=100)
    return parser.parse_args(arguments)


def _run(name: str, bootstrap: str, records: int, value_bytes: int) -> Figures:
    records = records // 10 if name in SLOW else records
    command = [sys.executable, "-m", "bench.clients_produce", "--client", name, "--bootstrap", bootstrap]
    command += ["--records", str(records), "--value-bytes", str(value_bytes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    cpu_ns, wall_ns = json.loads(done.stdout)
    return cpu_ns, wall_ns


def _show(value_bytes: int, best: dict[str, Figures]) -> None:
    beside = best.get("confluent")
    for name, (cpu_ns, wall_ns) in best.items():
        line = f"{value_bytes:5} B  {name:14} {cpu_ns:8.0f} ns CPU per record, {wall_ns:8.0f} ns in all"
        if beside is not None:
            line += f"   {beside[1] / wall_ns:5.2f} x its rate{_gate(RATE_GATES, name)}"
            line += f", {cpu_ns / beside[0]:.2f} of its CPU{_gate(CPU_GATES, name)}"
        print(line)


def _gate(gates: dict[str, float], name: str) -> str:
    return f" (gate {gates[name]:.2f})" if name in gates else ""


def _show_call() -> None:
    """`send` into batches that nobody takes away: placement, record, future."""
    from odradek.client.producer.accumulator import Accumulator, GatheredBatch
    from odradek.client.producer.buffer_pool import BufferPool

    best = float("inf")
    for _ in range(20):
        pool = BufferPool(1 << 40, 16384)
        made = Accumulator(pool, GatheredBatch, batch_bytes=16384, request_bytes_max=1 << 20, seed=1)
        made.set_topic(TOPIC, [1] * PARTITIONS)
        made.is_plain = True
        send, value = made.send, bytes(100)
        began = time.process_time()
        for _ in range(20_000):
            send(TOPIC, value)
        best = min(best, (time.process_time() - began) / 20_000)
    print(f"a call of send: {best * 1e9:.0f} ns with the step of a loop (gate {CALL_NS_GATE})")


class _Stopwatch:
    def __init__(self, records: int) -> None:
        self._records = records
        self._began = (_cpu_s(), time.perf_counter())

    def figures(self) -> Figures:
        cpu, wall = self._began
        return (_cpu_s() - cpu) * 1e9 / self._records, (time.perf_counter() - wall) * 1e9 / self._records


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _our_producer(bootstrap: str) -> KafkaProducer[Any, Any]:
    producer: KafkaProducer[Any, Any] = KafkaProducer(bootstrap_servers=bootstrap)
    producer.send(TOPIC, b"first").result(30)
    return producer


def _ours(bootstrap: str, records: int, value_bytes: int) -> Figures:
    with _our_producer(bootstrap) as producer:
        send, value = producer.send, bytes(value_bytes)
        watch = _Stopwatch(records)
        for _ in range(records):
            send(TOPIC, value)
        producer.flush(100)
        return watch.figures()


def _ours_many(bootstrap: str, records: int, value_bytes: int) -> Figures:
    with _our_producer(bootstrap) as producer:
        values = [bytes(value_bytes)] * AT_ONCE
        watch = _Stopwatch(records)
        for _ in range(records // AT_ONCE):
            producer.send_many(TOPIC, values)
        producer.flush(100)
        return watch.figures()


def _ours_arrow(bootstrap: str, records: int, value_bytes: int) -> Figures:
    import pyarrow as pa

    table = pa.table({"value": [bytes(value_bytes)] * AT_ONCE})
    with _our_producer(bootstrap) as producer:
        watch = _Stopwatch(records)
        for _ in range(records // AT_ONCE):
            producer.send_arrow(TOPIC, table)
        producer.flush(100)
        return watch.figures()


def _confluent(bootstrap: str, records: int, value_bytes: int) -> Figures:
    from confluent_kafka import Producer

    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 5,
            "batch.size": 16384,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    producer.produce(TOPIC, b"first")
    producer.flush(30)
    value = bytes(value_bytes)
    watch = _Stopwatch(records)
    for number in range(records):
        while True:
            try:
                producer.produce(TOPIC, value)
                break
            except BufferError:
                producer.poll(0.05)
        if number % 1000 == 0:
            producer.poll(0)
    producer.flush(100)
    return watch.figures()


def _kafka_python(bootstrap: str, records: int, value_bytes: int) -> Figures:
    from kafka import KafkaProducer as Theirs

    producer = Theirs(bootstrap_servers=bootstrap, linger_ms=5, acks="all", enable_idempotence=True)
    producer.send(TOPIC, b"first").get(30)
    value = bytes(value_bytes)
    watch = _Stopwatch(records)
    for _ in range(records):
        producer.send(TOPIC, value)
    producer.flush(100)
    figures = watch.figures()
    producer.close()
    return figures


def _aiokafka(bootstrap: str, records: int, value_bytes: int) -> Figures:
    from aiokafka import AIOKafkaProducer

    async def run() -> Figures:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=5, enable_idempotence=True)
        await producer.start()
        await producer.send_and_wait(TOPIC, b"first")
        value = bytes(value_bytes)
        watch = _Stopwatch(records)
        for _ in range(records):
            await producer.send(TOPIC, value)
        await producer.flush()
        figures = watch.figures()
        await producer.stop()
        return figures

    return asyncio.run(run())


CLIENTS: dict[str, Callable[[str, int, int], Figures]] = {
    "ours": _ours,
    "ours many": _ours_many,
    "ours Arrow": _ours_arrow,
    "confluent": _confluent,
    "kafka-python": _kafka_python,
    "aiokafka": _aiokafka,
}

if __name__ == "__main__":
    main(sys.argv[1:])
