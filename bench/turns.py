"""How long the reactor's turns take while much happens at once: thousands of partitions, and a log that is not cached.

    python -m bench turns              everything
    python -m bench.turns cold         these: topics, request, wide, many, cold

A turn is the time between two polls; nobody else is served meanwhile. Its wall time counts who else uses the machine,
its CPU time is the broker's own. `--root DIR` says where the data goes: it should be a real disk.
"""

import argparse
import ctypes
import json
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "kits"))

import broker_process
import hostile_peers as hostile
from bench.hostile import all_writable
from broker_process import BrokerProcess
from honest_client import HonestClient
from hostile_peers import KB, MB, CreatableTopic

TOPICS = 1000
WIDE = 9000
COLD_BYTES = 1024 * MB
NOTED_MS = 5


# The broker, with its turns noted. It runs in a process of its own.


def serve(path: str, arguments: list[str]) -> int:
    """`odradek start`, writing (wall ms, CPU ms) of every turn over NOTED_MS to a file."""
    from odradek.cli.main import main as odradek
    from odradek.reactor.adapters.poller import SystemPoller

    out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    poll = SystemPoller.poll
    began: list[float] = []

    def noted(self: Any, *wanted: Any) -> Any:
        if began:
            wall, cpu = time.monotonic() - began[0], time.thread_time() - began[1]
            if wall * 1000 > NOTED_MS:
                os.write(out, f"{json.dumps([wall * 1000, cpu * 1000])}\n".encode())
        events = poll(self, *wanted)
        began[:] = time.monotonic(), time.thread_time()
        return events

    SystemPoller.poll = noted  # type: ignore[method-assign]
    return odradek(["start", *arguments])


class Broker(BrokerProcess):  # type: ignore[misc]
    def __init__(self, root: Path) -> None:
        self.root = root
        self.turns = root / "turns"
        arguments = ["--data", str(root / "data"), "--listen", "127.0.0.1:0", "--log", str(root / "server.log")]
        command = [sys.executable, "-m", "bench.turns", "--serve", str(self.turns), *arguments]
        self.started = time.monotonic()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.ready_seconds = None
        self._seen = self.turns.stat().st_size if self.turns.exists() else 0

    def row(self, name: str, took: float, more: str = "") -> None:
        """What has been noted since the last row."""
        with self.turns.open("rb") as file:
            file.seek(self._seen)
            turns = [json.loads(line) for line in file]
            self._seen = file.tell()
        wall = max((turn[0] for turn in turns), default=0)
        cpu = max((turn[1] for turn in turns), default=0)
        over = sum(turn[0] > 50 for turn in turns)
        print(f"{name:<34} {took:6.2f} s   longest turn {wall:4.0f} ms, of CPU {cpu:3.0f} ms, {over} over 50 ms {more}")
        sys.stdout.flush()


# What happens meanwhile


def create(broker: Broker, names: list[str], partitions: int, per_request: int) -> None:
    for at in range(0, len(names), per_request):
        some = names[at : at + per_request]
        new = [CreatableTopic(name=name, num_partitions=partitions, replication_factor=1) for name in some]
        assert hostile.creation(broker.address, new) == {0}
    hostile.until(lambda: all_writable(broker.address, names, partitions), 120)


def delete(broker: Broker, names: list[str], partitions: int, per_request: int) -> None:
    for at in range(0, len(names), per_request):
        assert hostile.delete_topics(broker.address, names[at : at + per_request]) == {0}
    hostile.until(lambda: not [name for name in os.listdir(broker.data) if name.endswith("-0")][1:], 120)


def come_and_go(what: str, topics: int, partitions: int, per_request: int) -> Callable[[Path], None]:
    def measure(root: Path) -> None:
        names = [f"{what}-{number}" for number in range(topics)]
        with Broker(root) as broker:
            broker.row("start", broker.ready_seconds)
            for verb, work in (("create", create), ("delete", delete)):
                began = time.monotonic()
                work(broker, names, partitions, per_request)
                title = f"{verb} {topics} x {partitions}, {per_request} a request"
                broker.row(title, time.monotonic() - began)
            broker.stop()

    return measure


def many(root: Path) -> None:
    names = [f"many-{number}" for number in range(TOPICS)]
    with Broker(root) as broker:
        broker.row("start", broker.ready_seconds)
        resident = broker.resident_bytes()
        began = time.monotonic()
        create(broker, names, 10, 50)
        each = (broker.resident_bytes() - resident) / TOPICS / 10 / KB
        broker.row("10,000 partitions made and writable", time.monotonic() - began, f"({each:.1f} KB each)")
        stop(broker)
    with Broker(root) as broker:
        broker.row("restarted", broker.ready_seconds)
        began = time.monotonic()
        delete(broker, names, 10, TOPICS)
        broker.row("all deleted in one request", time.monotonic() - began)
        stop(broker)


def stop(broker: Broker) -> None:
    began = time.monotonic()
    status, error = broker.stop()
    assert status == 0, error
    broker.row("stopped", time.monotonic() - began)


def cold(root: Path) -> None:
    from test_latency import read_all

    with Broker(root) as broker:
        broker.row("start", broker.ready_seconds)
        for topic in ("honest", "cold"):
            hostile.create_topic(broker.address, topic)
        began = time.monotonic()
        hostile.fill(broker.address, "cold", COLD_BYTES, 400 * KB)
        broker.row("1 GB written", time.monotonic() - began)
        with HonestClient(broker.address, "honest") as honest:
            before = honest.during(seconds=5)
            warm, _ = honest.during(lambda: read_all(broker.address, "cold"))
            broker.row("read while it is cached", 0)
            drop(Path(broker.data) / "cold-0")
            share = cached_share(Path(broker.data) / "cold-0")
            began = time.monotonic()
            during, size = honest.during(lambda: read_all(broker.address, "cold"))
            broker.row("read while it is not", time.monotonic() - began, f"({size // MB} MB, {share:.0%} in memory)")
        for name, latency in (("alone", before), ("beside a reader", warm), ("beside a cold reader", during)):
            print(f"  1,000 small produce requests/s, {name:<21} {latency}")
        broker.stop()


def drop(directory: Path) -> None:
    """Out of the page cache. As root the whole cache goes: some file systems ignore the advice about one file."""
    os.sync()
    for path in directory.glob("*.log"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if os.geteuid() == 0 and cached_share(directory) > 0.01:
        Path("/proc/sys/vm/drop_caches").write_text("1\n")


def cached_share(directory: Path) -> float:
    """How much of the segments is in memory, as mincore says."""
    pages = resident = 0
    libc = ctypes.CDLL(None, use_errno=True)
    for path in directory.glob("*.log"):
        size = path.stat().st_size
        if not size:
            continue
        with path.open("r+b") as file, mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ | mmap.PROT_WRITE) as mapped:
            vector = (ctypes.c_ubyte * (-(-size // mmap.PAGESIZE)))()
            address = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
            if libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), vector):
                raise OSError(ctypes.get_errno(), "mincore")
            pages += len(vector)
            resident += sum(page & 1 for page in vector)
    return resident / pages if pages else 0.0


PARTS: dict[str, Callable[[Path], None]] = {
    "topics": come_and_go("topics", TOPICS, 1, 1),
    "request": come_and_go("request", TOPICS, 1, TOPICS),
    "wide": come_and_go("wide", 1, WIDE, 1),
    "many": many,
    "cold": cold,
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.turns", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--root", help="where the data goes (the temporary directory)")
    options = parser.parse_args(arguments or [])
    broker_process.START_SECONDS_MAX = broker_process.STOP_SECONDS_MAX = 120
    hostile.SECONDS_MAX = 120
    for name in options.parts or list(PARTS):
        with tempfile.TemporaryDirectory(dir=options.root) as directory:
            PARTS[name](Path(directory))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.exit(serve(sys.argv[2], sys.argv[3:]))
    main(sys.argv[1:])
