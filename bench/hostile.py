"""Hostile peers, and what honest clients notice of them: 1,000 requests a second, before and during.

    python -m bench hostile            every attack, then many partitions
    python -m bench.hostile flood      these

The broker's data lies in memory (/dev/shm) where there is such a thing: what is measured is who gets the reactor's
thread, not who else uses the disk. Figures of a machine that others use as well say little: look at the row *before*.
"""

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "system"))

import broker_process
import hostile_peers as hostile
from broker_process import BrokerProcess
from honest_client import HonestClient, Latency
from hostile_peers import MB

Address = tuple[str, int]
Attack = Callable[[Address], Any]

FLOODERS = 300
SECONDS = 2
PARTITIONS = ((1000, 10), (100, 100))

ATTACKS: dict[str, Attack] = {
    "lengths": hostile.impossible_lengths,
    "garbage": hostile.garbage,
    "bodies": hostile.garbage_bodies,
    "arrays": hostile.array_of_millions,
    "half-frames": hostile.half_frames,
    "connections": hostile.many_connections,
    "come-and-go": hostile.connect_and_leave,
    "pipelined": hostile.pipelined,
    "flood": lambda address: hostile.pipelined(address, 10**8, FLOODERS),
    "deaf": lambda address: hostile.deaf_fetchers(address, "long"),
    "abandoned": lambda address: hostile.abandoned_long_polls(address, "t"),
    "bomb": lambda address: hostile.compression_bomb(address, "t"),
    "produce": hostile.produce_everywhere,
    "metadata": hostile.giant_metadata,
    "fetch": lambda address: hostile.giant_fetch(address, "t"),
    "fetch-50k": lambda address: hostile.giant_fetch(address, "t", 50_000),
    "partitions": hostile.giant_topic,
    "topics": hostile.many_topics,
}


def main(names: list[str] | None = None) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    broker_process.STOP_SECONDS_MAX = broker_process.START_SECONDS_MAX = 120
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as directory:
        attack_all(Path(directory), names or list(ATTACKS))
    if not names:
        for topics, partitions in PARTITIONS:
            with tempfile.TemporaryDirectory() as directory:
                many_partitions(Path(directory), topics, partitions)


def attack_all(directory: Path, names: list[str]) -> None:
    log = directory / "server.log"
    with BrokerProcess("--data", str(directory / "data"), "--log", str(log)) as broker:
        for topic in ("honest", "t", "long"):
            hostile.create_topic(broker.address, topic)
        if "deaf" in names:
            hostile.fill(broker.address, "long", 120 * MB)
        with HonestClient(broker.address, "honest") as honest:
            row("before", honest.during(seconds=SECONDS), broker)
            for name in names:
                started = time.monotonic()
                latency, _ = honest.during(lambda name=name: ATTACKS[name](broker.address))
                row(name, latency, broker, time.monotonic() - started)
            if "flood" in names:
                row("flood, stuck", beside_stuck_flood(broker.address, honest), broker)
            row("after", honest.during(seconds=SECONDS), broker)
        broker.stop()
    text = log.read_text()
    print(f"slow turns {text.count('A turn of the reactor')}, tracebacks {text.count('Traceback')}")


def beside_stuck_flood(address: Address, honest: HonestClient) -> Latency:
    """The flooders are still there, with more to send and answers that they do not read."""
    with ExitStack() as stack:
        hostile.flood(stack, address, hostile.API_VERSIONS_0 * 1000, FLOODERS, 10**9)
        return honest.during(seconds=SECONDS)


def row(name: str, latency: Latency, broker: BrokerProcess, seconds: float | None = None) -> None:
    took = "" if seconds is None else f"{seconds:.2f} s"
    fds = len(os.listdir(f"/proc/{broker.process.pid}/fd"))
    print(f"{name:<14} {took:>8}  {latency}  {broker.resident_bytes() // MB} MB, {fds} fds", flush=True)


def many_partitions(directory: Path, topics: int, partitions: int) -> None:
    arguments = ("--data", str(directory / "data"), "--log", str(directory / "server.log"))
    with BrokerProcess(*arguments) as broker:
        resident = broker.resident_bytes()
        started = time.monotonic()
        names = [f"many-{number}" for number in range(topics)]
        for at in range(0, topics, 50):
            new = [
                hostile.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
                for name in names[at : at + 50]
            ]
            assert hostile.creation(broker.address, new) == {0}
        hostile.until(lambda: all_writable(broker.address, names, partitions), 120)
        took = time.monotonic() - started
        each = (broker.resident_bytes() - resident) / topics / partitions / 1024
        used = cpu_seconds(broker)
        stopping = time.monotonic()
        broker.stop()
        stopped = time.monotonic() - stopping
    with BrokerProcess(*arguments) as broker:
        print(
            f"{topics} topics of {partitions}: writable in {took:.1f} s ({used:.1f} s of CPU), {each:.1f} KB each, "
            f"stopped in {stopped:.1f} s, "
            f"ready again in {broker.ready_seconds:.1f} s ({cpu_seconds(broker):.1f} s of CPU)",
            flush=True,
        )
        broker.stop()


def all_writable(address: Address, names: list[str], partitions: int) -> bool:
    last = (
        hostile.ask(address, hostile.produce_request(name, hostile.batch(b"x"), partition=partitions - 1), 9)
        for name in names
    )
    return all(answer.responses[0].partition_responses[0].error_code == 0 for answer in last)


def cpu_seconds(broker: BrokerProcess) -> float:
    fields = Path(f"/proc/{broker.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))


if __name__ == "__main__":
    main(sys.argv[1:])
