"""What is measured of a running broker, and what ours must reach beside Kafka.

A figure is the rate (higher is better), the broker's CPU time per unit and the median latency (lower is better), as far
as the row has them. A gate is a ratio, ours to Kafka's, for each of them: at least for the rate, at most for the rest.
"""

import itertools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.contenders import Contender
from bench.generators import Generators
from bench.wire_client import create_topic, delete_topic

RATE, CPU, P50 = "rate", "cpu", "p50"
TOUCHED = Path("/dev/shm/odradek-bench-touched")
TOUCHED_BYTES_MAX = 4 << 30
_numbers = itertools.count(1)

Figures = dict[str, float]


class Row(NamedTuple):
    name: str
    title: str
    units: dict[str, str]  # of each figure
    gates: dict[str, float]
    measure: Callable[["Bench", Contender, float], Figures]
    generator: str
    is_heavy: bool = False  # moves gigabytes: wants memory that the machine has touched before


class Bench:
    """The generators, and a topic for each measurement."""

    def __init__(self, generators: Generators) -> None:
        self.generators = generators

    @contextmanager
    def topic(self, contender: Contender, partitions: int) -> Iterator[str]:
        name = f"bench-{os.getpid()}-{next(_numbers)}"
        create_topic(contender.port, name, partitions)
        yield name
        delete_topic(contender.port, name)

    def storm(
        self, contender: Contender, topic: str, load: "Storm", seconds: float, requests_max: int = 0
    ) -> dict[str, float]:
        partitions = min(load.connections, PARTITIONS_MAX)
        shape = (partitions, load.connections, load.depth, load.records, load.value_bytes, load.acks)
        return self.generators.run("storm", contender.port, topic, *shape, seconds, requests_max)


PARTITIONS_MAX = 4


class Storm(NamedTuple):
    connections: int
    depth: int
    records: int
    value_bytes: int
    acks: int = 1


def tiny(load: Storm) -> Callable[[Bench, Contender, float], Figures]:
    def measure(bench: Bench, contender: Contender, seconds: float) -> Figures:
        with bench.topic(contender, min(load.connections, PARTITIONS_MAX)) as topic:
            bench.storm(contender, topic, load, 0.5)
            before = contender.cpu_seconds()
            result = bench.storm(contender, topic, load, seconds)
            cpu = contender.cpu_seconds() - before
        requests = result["requests"]
        return {RATE: requests / result["seconds"], CPU: cpu / requests * 1e6, P50: result["p50_us"]}

    return measure


def large(load: Storm) -> Callable[[Bench, Contender, float], Figures]:
    def measure(bench: Bench, contender: Contender, seconds: float) -> Figures:
        with bench.topic(contender, min(load.connections, PARTITIONS_MAX)) as topic:
            bench.storm(contender, topic, load, 0.3)
            return _per_gb(contender, lambda: bench.storm(contender, topic, load, seconds))

    return measure


FILL = Storm(connections=1, depth=8, records=15, value_bytes=1000)


def fetch(bytes_max: int) -> Callable[[Bench, Contender, float], Figures]:
    def measure(bench: Bench, contender: Contender, seconds: float) -> Figures:
        run = bench.generators.run
        with bench.topic(contender, 1) as topic:
            bench.storm(contender, topic, FILL, 10, requests_max=20_000)
            run("fetch", contender.port, topic, bytes_max, 0.5)
            return _per_gb(contender, lambda: run("fetch", contender.port, topic, bytes_max, seconds))

    return measure


def end_to_end(bench: Bench, contender: Contender, seconds: float) -> Figures:
    with bench.topic(contender, 1) as topic:
        bench.generators.run("end_to_end", contender.port, topic, 1000, 1)
        result = bench.generators.run("end_to_end", contender.port, topic, 1000, seconds)
    return {P50: result["p50_us"]}


def rdkafka_end_to_end(bench: Bench, contender: Contender, seconds: float) -> Figures:
    with bench.topic(contender, 1) as topic:
        result = bench.generators.run("rdkafka", "end_to_end", contender.port, topic, int(1000 * seconds), 1000)
    return {P50: result["p50_us"]}


def rdkafka(mode: str, records: int, value_bytes: int) -> Callable[[Bench, Contender, float], Figures]:
    def measure(bench: Bench, contender: Contender, seconds: float) -> Figures:
        count = int(records * seconds)
        with bench.topic(contender, 1) as topic:

            def run(mode: str) -> dict[str, float]:
                return bench.generators.run("rdkafka", mode, contender.port, topic, count, value_bytes)

            if mode == "consume":
                run("produce")
            return _per_gb(contender, lambda: run(mode))

    return measure


def _per_gb(contender: Contender, run: Callable[[], dict[str, float]]) -> Figures:
    before = contender.cpu_seconds()
    result = run()
    cpu = contender.cpu_seconds() - before
    return {RATE: result["mb"] / result["seconds"], CPU: cpu / result["mb"] * 1000}


@contextmanager
def touched_memory(is_wanted: bool) -> Iterator[None]:
    """Pages that a virtual machine's guest uses for the first time cost it ten times as much as others. So the page
    cache of a heavy row takes pages that were written to a moment ago.
    """
    if is_wanted and TOUCHED.parent.is_dir():
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        piece = bytes(16 << 20)
        with open(TOUCHED, "wb", buffering=0) as file:
            for _ in range(min(TOUCHED_BYTES_MAX, free // 3) // len(piece)):
                file.write(piece)
        TOUCHED.unlink()
    yield
    time.sleep(0.2)  # what the broker does behind its answers belongs to nobody's figures


_REQUESTS = {RATE: "req/s", CPU: "µs CPU", P50: "µs p50"}
_BYTES = {RATE: "MB/s", CPU: "CPU s/GB"}
_TIME = {P50: "µs p50"}

ROWS = (
    Row("tiny_4x32", "1 record of 100 B per request, 4 connections x 32 in flight", _REQUESTS,
        {RATE: 3, CPU: 1 / 3}, tiny(Storm(4, 32, 1, 100)), "storm"),
    Row("tiny_1x1", "the same, 1 x 1", _REQUESTS, {RATE: 1.25, CPU: 0.6}, tiny(Storm(1, 1, 1, 100)), "storm"),
    Row("tiny_100x1", "the same, 100 x 1", _REQUESTS, {RATE: 0.9, CPU: 0.7}, tiny(Storm(100, 1, 1, 100)), "storm"),
    Row("p16k", "produce batches of 16 KB, 4 x 8", _BYTES, {RATE: 1.8, CPU: 0.4}, large(Storm(4, 8, 15, 1000)),
        "storm", True),
    Row("p1m", "produce batches of 1 MB, 2 x 4", _BYTES, {RATE: 1.1, CPU: 0.55}, large(Storm(2, 4, 970, 1000)),
        "storm", True),
    Row("f16k", "fetch 16 KB", _BYTES, {RATE: 1.3, CPU: 0.55}, fetch(16 * 1024), "fetch", True),
    Row("f64k", "fetch 64 KB", _BYTES, {RATE: 1.2, CPU: 0.6}, fetch(64 * 1024), "fetch", True),
    Row("f1m", "fetch 1 MB", _BYTES, {RATE: 1.7, CPU: 0.6}, fetch(1024 * 1024), "fetch", True),
    Row("e2e", "end to end, 1,000/s, raw", _TIME, {P50: 0.6}, end_to_end, "end_to_end"),
    Row("e2e_rd", "end to end, 1,000/s, librdkafka", _TIME, {P50: 0.7}, rdkafka_end_to_end, "rdkafka"),
    Row("rd_p100", "librdkafka produces 100 B", _BYTES, {RATE: 1.0, CPU: 0.5}, rdkafka("produce", 1_000_000, 100),
        "rdkafka", True),
    Row("rd_p1k", "librdkafka produces 1 KB", _BYTES, {RATE: 1.5, CPU: 0.5}, rdkafka("produce", 500_000, 1000),
        "rdkafka", True),
    Row("rd_c100", "librdkafka consumes 100 B", _BYTES, {RATE: 0.75, CPU: 0.5}, rdkafka("consume", 1_000_000, 100),
        "rdkafka", True),
    Row("rd_c1k", "librdkafka consumes 1 KB", _BYTES, {RATE: 1.4, CPU: 0.5}, rdkafka("consume", 500_000, 1000),
        "rdkafka", True),
)  # fmt: skip
