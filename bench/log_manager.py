"""Loading many partitions after a clean stop, beside reading the same files in a plain loop; what an idle one costs.

The partitions have a few records, a producer and a leader epoch each; the plain loop lists every directory and reads
every file whole, which is the least that a loader could do without knowing the formats. Memory is what the process
grows by, measured in a child of its own. Run with `python -m bench.log_manager [partitions] [log dirs]`.
"""

import gc
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from bench.log import append
from odradek.config.sources import BrokerLayers
from odradek.log import checkpoint, names
from odradek.log.manager.manager import LogManager
from odradek.reactor.adapters import system_ports
from odradek.reactor.loop import Loop
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch

PARTITIONS, DIRS = 10_000, 2
TOPIC_ID = bytes(range(16))
BROKER = {
    "process.roles": "broker",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "2@localhost:9093",
}


class Broker:
    def __init__(self, log_dirs: list[str]) -> None:
        self.ports = system_ports(threads=8)
        self.loop = Loop(self.ports)
        self.manager = LogManager(self.loop, BrokerLayers(BROKER), log_dirs=log_dirs)

    def start(self) -> None:
        self.loop.run_until(self.loop.spawn(self.manager.start()))

    def stop(self) -> None:
        self.loop.run_until(self.loop.spawn(self.manager.stop()))
        self.ports.executor.close()
        self.loop.close()


def make(root: Path, partitions: int, dirs: int) -> list[str]:
    """One partition that the manager has written and closed, copied."""
    template = root / "template"
    broker = Broker([str(template)])
    broker.start()
    log = broker.loop.run_until(broker.loop.spawn(broker.manager.get_or_create("bench", 0, TOPIC_ID)))
    now_ms = broker.ports.clock.wall_ms()
    records = [Record(number, b"key", bytes(100), now_ms) for number in range(10)]
    fields = BatchFields(producer_id=7, producer_epoch=0, base_sequence=0)
    append(log, bytearray(record_batch(records, fields)), now_ms)
    log.update_high_watermark(log.log_end_offset)
    broker.stop()
    log_dirs = [root / f"dir-{number}" for number in range(dirs)]
    for number, log_dir in enumerate(log_dirs):
        _copy(template, log_dir, range(number, partitions, dirs))
    return [str(log_dir) for log_dir in log_dirs]


def _copy(template: Path, log_dir: Path, numbers: range) -> None:
    log_dir.mkdir()
    for number in numbers:
        shutil.copytree(template / "bench-0", log_dir / f"bench-{number}")
    offsets = checkpoint.format_offsets({("bench", number): 10 for number in numbers})
    (log_dir / names.RECOVERY_POINTS).write_bytes(offsets)
    (log_dir / names.REPLICATION_OFFSETS).write_bytes(offsets)
    (log_dir / names.CLEAN_SHUTDOWN).write_bytes((template / names.CLEAN_SHUTDOWN).read_bytes())


def read_plainly(log_dirs: list[str]) -> int:
    total = 0
    for log_dir in log_dirs:
        for name in os.listdir(log_dir):
            directory = f"{log_dir}/{name}"
            if os.path.isdir(directory):
                for file in os.listdir(directory):
                    with open(f"{directory}/{file}", "rb") as opened:
                        total += len(opened.read())
    return total


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def measure(log_dirs: list[str], partitions: int) -> None:
    read_plainly(log_dirs)
    started = time.perf_counter()
    read_plainly(log_dirs)
    plain = time.perf_counter() - started
    broker = Broker(log_dirs)
    gc.collect()
    memory, files = resident_bytes(), open_files()
    started, busy = time.perf_counter(), time.process_time()
    broker.start()
    load, cpu = time.perf_counter() - started, time.process_time() - busy
    gc.collect()
    grown, opened = resident_bytes() - memory, open_files() - files
    assert len(broker.manager.current) == partitions
    slow_turns = broker.loop.slow_turns
    started = time.perf_counter()
    broker.stop()
    stop = time.perf_counter() - started
    print(
        f"load {partitions:,} partitions in {len(log_dirs)} dirs: {load:.2f} s, {cpu:.2f} s of CPU, "
        f"{load / plain:.1f}x a plain read   (goal < 5 s)"
    )
    print(f"slow turns (over 50 ms) while loading: {slow_turns}")
    print(f"memory per idle partition: {grown / partitions:,.0f} bytes   (goal < 4,096)")
    print(f"open files while idle: {opened} in all")
    print(f"clean stop: {stop:.2f} s")


def main(partitions: int = PARTITIONS, dirs: int = DIRS) -> None:
    with tempfile.TemporaryDirectory() as root:
        log_dirs = make(Path(root), partitions, dirs)
        child = os.fork()
        if not child:
            measure(log_dirs, partitions)
            sys.stdout.flush()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert status == 0, "the measuring child failed"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
