"""Hostile peers, and what honest clients notice of them: 1,000 requests a second, before and during.

    python -m bench hostile                    every attack, then many partitions
    python -m bench.hostile flood              these
    python -m bench.hostile memory [flood]     what memory each leaves behind, against a broker of its own

Attackers take CPU themselves, from the same cores that broker and honest clients run on. So the yardstick is not only
the row *quiet* but also the row *spinner*: the same honest clients beside a process that does nothing but burn one CPU.
Everything is measured twice, with attackers as important as everybody else and with attackers at niceness 19; nothing
is subtracted, and what attackers and broker took is told. An attack goes on until its time is over, again and again.

The broker's data lies in memory (/dev/shm) where there is such a thing: what is measured is who gets the reactor's
thread, not who else uses the disk. Figures of a machine that others use as well say little: look at *quiet* first.
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

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "kits"))

import broker_process
import hostile_peers as hostile
from broker_process import BrokerProcess
from honest_client import HonestClient
from hostile_peers import MB

Address = tuple[str, int]
Attack = Callable[[Address], Any]

FLOODERS = 300
SECONDS = 3
NICENESSES = (0, 19)
SETTLE_SECONDS = 12  # without a fall: the broker gives memory back when it looks at it, and once more after a while
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
    is_about_memory = names is not None and names[:1] == ["memory"]
    names = names[1:] if names is not None and is_about_memory else names
    unknown = [name for name in names or () if name not in ATTACKS]
    if unknown:
        sys.exit(f"no attack is called {unknown[0]}; there are {', '.join(ATTACKS)}")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    broker_process.STOP_SECONDS_MAX = broker_process.START_SECONDS_MAX = 120
    if is_about_memory:
        memory_of_each(names or list(ATTACKS))
        return
    with in_memory() as directory:
        attack_all(Path(directory), names or list(ATTACKS))
    if not names:
        for topics, partitions in PARTITIONS:
            with tempfile.TemporaryDirectory() as directory:
                many_partitions(Path(directory), topics, partitions)


def in_memory() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


def attack_all(directory: Path, names: list[str]) -> None:
    log = directory / "server.log"
    with BrokerProcess("--data", str(directory / "data"), "--log", str(log)) as broker:
        baseline = warmed_up(broker, names)
        with HonestClient(broker.address, "honest") as honest:
            for niceness in NICENESSES:
                Measurement(broker, honest, niceness).run(names)
        print(f"resident: {baseline // MB} MB before all attacks, {settled(broker) // MB} MB after")
        broker.stop()
    text = log.read_text()
    print(f"slow turns {text.count('A turn of the reactor')}, tracebacks {text.count('Traceback')}")


def warmed_up(broker: BrokerProcess, names: list[str]) -> int:
    """With the topics that are attacked; what is resident then."""
    for topic in ("honest", "t", "long"):
        hostile.create_topic(broker.address, topic)
    hostile.fill(broker.address, "long", 120 * MB if "deaf" in names else 1)
    hostile.garbage_bodies(broker.address)  # so that every handler has been imported
    return int(broker.resident_bytes())


def memory_of_each(names: list[str]) -> None:
    print(f"{'resident, MB':<14} {'before':>7} {'at its end':>11} {'settled':>8}")
    for name in names:
        with in_memory() as directory:
            arguments = ("--data", str(Path(directory) / "data"), "--log", str(Path(directory) / "server.log"))
            with BrokerProcess(*arguments) as broker:
                before = warmed_up(broker, [name])
                in_child(lambda: again_and_again(ATTACKS[name], broker.address), 0)  # noqa: B023 - called at once
                at_end = broker.resident_bytes()
                told = f"{name:<14} {before / MB:7.1f} {at_end / MB:11.1f} {settled(broker) / MB:8.1f}"
                print(told, flush=True)
                broker.stop()


def settled(broker: BrokerProcess) -> int:
    """What is resident when that has not fallen for a while."""
    least = broker.resident_bytes()
    until = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < until:
        time.sleep(0.5)
        now = broker.resident_bytes()
        if now < least - MB // 4:
            least, until = now, time.monotonic() + SETTLE_SECONDS
    return int(broker.resident_bytes())


class Measurement:
    """All attacks at one niceness, and what they are compared with."""

    def __init__(self, broker: BrokerProcess, honest: HonestClient, niceness: int) -> None:
        self._broker = broker
        self._honest = honest
        self._niceness = niceness
        self._quiet_ms = self._spinner_ms = float("nan")

    def run(self, names: list[str]) -> None:
        print(f"attackers at niceness {self._niceness}")
        print(f"{'':<14} {'p50':>7} {'p99':>7} {'max':>7} ms   p99: x quiet, x spinner   CPU: attackers, broker")
        self._quiet_ms = self._row("quiet", lambda: time.sleep(SECONDS))
        self._spinner_ms = self._row("spinner", spin)
        for name in names:
            self._row(name, lambda name=name: again_and_again(ATTACKS[name], self._broker.address))
        if "flood" in names:
            self._row("flood, stuck", lambda: stuck_flood(self._broker.address))
        self._row("quiet again", lambda: time.sleep(SECONDS))

    def _row(self, name: str, work: Callable[[], object]) -> float:
        """What honest clients saw while a process of its own did this; the 99th percentile."""
        broker_before, started = cpu_seconds(self._broker), time.monotonic()
        latency, attackers = self._honest.during(lambda: in_child(work, self._niceness))
        seconds = time.monotonic() - started
        broker = cpu_seconds(self._broker) - broker_before
        p99 = latency.at(0.99)
        fds = len(os.listdir(f"/proc/{self._broker.process.pid}/fd"))
        print(
            f"{name:<14} {latency.at(0.5):7.2f} {p99:7.2f} {latency.at(1):7.1f}      "
            f"{p99 / self._quiet_ms:6.1f} {p99 / self._spinner_ms:9.1f}            "
            f"{attackers / seconds:7.0%} {broker / seconds:7.0%}   {len(latency.values)} requests, "
            f"{self._broker.resident_bytes() // MB} MB, {fds} fds",
            flush=True,
        )
        return p99


def in_child(work: Callable[[], object], niceness: int) -> float:
    """Does it in a process of its own; the CPU seconds that it took."""
    child = os.fork()
    if not child:
        status = 1
        try:
            os.nice(niceness)
            work()
            status = 0
        finally:
            os._exit(status)
    _, _, usage = os.wait4(child, 0)
    return usage.ru_utime + usage.ru_stime


def again_and_again(attack: Attack, address: Address) -> None:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        attack(address)


def spin() -> None:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        pass


def stuck_flood(address: Address) -> None:
    """The flooders are still there, with more to send and answers that they do not read."""
    with ExitStack() as stack:
        hostile.flood(stack, address, hostile.API_VERSIONS_0 * 1000, FLOODERS, 10**9)
        time.sleep(SECONDS)


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
