"""Recovery of 1 GB in one partition after a crash, beside Apache Kafka on the same files in the same run.

Of both the time from the start command to the first answer is taken, with the partition in the log dir and without it,
in turn, several times; the least of each counts. The difference is the recovery: all else that a start does is in both.
The log is linked into each dir, so that everybody reads the same pages of the cache. It needs Java and Maven; without
them only ours is shown. The job by itself, in this process, is shown beside it.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "interop"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "kits"))

import kafka_tools

from bench.log import append
from odradek.log.config import LogConfig
from odradek.log.loading.load import load_log
from odradek.log.log import Log
from odradek.log.storage import Storage
from odradek.reactor.adapters import system_ports
from odradek.reactor.ports import Ports
from odradek.records.build import build

KAFKA = "3.3.2"
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
API_VERSIONS_REQUEST = bytes.fromhex("0000000a 0012 0000 00000001 ffff".replace(" ", ""))
ANSWER_SECONDS_MAX = 120
SIZE_BYTES = 1 << 30
ROUNDS = 3
GOAL = 1 / 3
PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
log.dirs={data}
log.segment.bytes=1073741824
log.retention.ms=-1
"""


class Starter:
    """A broker that is started on a copy of a dir that it once was started on."""

    name = ""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "data"
        self.used = root / "used"
        root.mkdir()
        self.prepare()
        self._start()
        self.data.rename(self.used)

    def prepare(self) -> None:
        """Once, before the first start."""

    def command(self, broker: int, controller: int) -> list[str]:
        raise NotImplementedError

    def seconds(self, partition: Path | None) -> float:
        """Of a start, with or without the partition."""
        shutil.copytree(self.used, self.data)
        if partition is not None:
            shutil.copytree(partition, self.data / partition.name, copy_function=os.link)
        try:
            return self._start()
        finally:
            shutil.rmtree(self.data)

    def _start(self) -> float:
        broker, controller = free_ports(2)
        command = self.command(broker, controller)
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for_answer(broker, process, self.name)
            return time.perf_counter() - started
        finally:
            process.kill()
            process.wait()


class Odradek(Starter):
    name = "ours"

    def command(self, broker: int, controller: int) -> list[str]:
        listen = f"127.0.0.1:{broker}"
        return [sys.executable, "-m", "odradek", "start", "--listen", listen, "--data", str(self.data)]


class Kafka(Starter):
    name = f"Kafka {KAFKA}"

    def prepare(self) -> None:
        kafka_tools.run(
            KAFKA, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", self._properties(9092, 9093)
        )

    def command(self, broker: int, controller: int) -> list[str]:
        classes = f"{kafka_tools.jars(KAFKA)}/*"
        return ["java", "-Xmx1g", "-Xms1g", "-cp", classes, "kafka.Kafka", str(self._properties(broker, controller))]

    def _properties(self, broker: int, controller: int) -> Path:
        path = self.root / "server.properties"
        path.write_text(PROPERTIES.format(broker=broker, controller=controller, data=self.data))
        return path


def wait_for_answer(port: int, process: "subprocess.Popen[bytes]", name: str) -> None:
    deadline = time.monotonic() + ANSWER_SECONDS_MAX
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS_MAX) as connection:
                connection.sendall(API_VERSIONS_REQUEST)
                if connection.recv(4):
                    return
        except ConnectionRefusedError:
            time.sleep(0.005)
    raise RuntimeError(f"{name} did not answer")


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


# The files, and the job by itself.


def run(job: Iterator[Any]) -> Any:
    while True:
        try:
            next(job)
        except StopIteration as end:
            return end.value


def load(ports: Ports, directory: Path, config: LogConfig) -> Log:
    now_ms = ports.clock.wall_ms()
    given = {"had_clean_shutdown": False, "recovery_point": 0, "log_start_offset": 0, "now_ms": now_ms}
    loaded = run(load_log(ports.disk, str(directory), directory.name, config, **given))
    return Log(Storage(ports.disk, ports.rng), loaded, config, now_ms)


def fill(ports: Ports, directory: Path, config: LogConfig) -> None:
    directory.mkdir(parents=True)
    log = load(ports, directory, config)
    now_ms = ports.clock.wall_ms()
    data = bytearray(build([bytes(1000)] * 16, default_timestamp=now_ms).data)
    while log.size < SIZE_BYTES:
        data[0:8] = bytes(8)
        append(log, data, now_ms)
    log.abandon()


def recover_here(ports: Ports, partition: Path, config: LogConfig) -> tuple[float, float]:
    """Wall and CPU seconds, the least of each."""
    taken = []
    for _ in range(ROUNDS):
        started, cpu = time.perf_counter(), time.process_time()
        load(ports, partition, config).abandon()
        taken.append((time.perf_counter() - started, time.process_time() - cpu))
    return min(wall for wall, _ in taken), min(cpu for _, cpu in taken)


def starters(root: Path) -> list[Starter]:
    found: list[Starter] = [Odradek(root / "odradek")]
    try:
        kafka_tools.jars(KAFKA)
        found.append(Kafka(root / "kafka"))
    except kafka_tools.Unavailable as reason:
        print(f"Kafka is not measured: {reason}")
    return found


def compare(contenders: list[Starter], partition: Path) -> None:
    taken: dict[tuple[str, bool], list[float]] = {}
    for _ in range(ROUNDS):
        for has_partition in (True, False):
            for each in contenders:
                seconds = each.seconds(partition if has_partition else None)
                taken.setdefault((each.name, has_partition), []).append(seconds)
    recoveries = []
    for each in contenders:
        full, empty = min(taken[each.name, True]), min(taken[each.name, False])
        recoveries.append(full - empty)
        print(f"{each.name:12} start with 1 GB to recover {full:6.2f} s, without {empty:5.2f} s: {full - empty:5.2f} s")
    if len(recoveries) > 1:
        print(f"recovery of 1 GB: {recoveries[0] / recoveries[1]:.2f} of Kafka's time   (goal {GOAL:.2f})")


def main() -> None:
    ports = system_ports(threads=1)
    config = LogConfig.default()
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as name:
        root = Path(name)
        partition = root / "big-0"
        print("writing 1 GB in batches of 16 KB", flush=True)
        fill(ports, partition, config)
        compare(starters(root), partition)
        wall, cpu = recover_here(ports, partition, config)
        print(f"the job by itself: {wall:.2f} s ({cpu:.2f} s of CPU)")
    ports.executor.close()


if __name__ == "__main__":
    main()
