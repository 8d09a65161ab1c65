"""Recovery of 1 GB in one partition after a crash, beside Apache Kafka on a copy of the same files in the same run.

Kafka's time is from its start command to its first answer, less the same with an empty directory. It needs Java and
Maven; without them only ours is shown.
"""

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "interop"))

import kafka_tools

from odradek.log.config import LogConfig
from odradek.log.load import load_log
from odradek.log.log import Log
from odradek.log.storage import Storage
from odradek.reactor.adapters import system_ports
from odradek.records.build import build

KAFKA = "3.3.2"
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
API_VERSIONS_REQUEST = bytes.fromhex("0000000a 0012 0000 00000001 ffff".replace(" ", ""))
ANSWER_SECONDS_MAX = 120
SIZE_BYTES = 1 << 30
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


def run(job):
    while True:
        try:
            next(job)
        except StopIteration as end:
            return end.value


def load(ports, directory, config):
    job = load_log(
        *(ports.disk, str(directory), "big-0", config),
        had_clean_shutdown=False,
        recovery_point=0,
        log_start_offset=0,
        now_ms=ports.clock.wall_ms(),
    )
    return Log(Storage(ports.disk, ports.rng), run(job), config, ports.clock.wall_ms())


def fill(ports, directory, config):
    directory.mkdir(parents=True)
    log = load(ports, directory, config)
    now_ms = ports.clock.wall_ms()
    data = bytearray(build([bytes(1000)] * 16, default_timestamp=now_ms).data)
    while log.size < SIZE_BYTES:
        data[0:8] = bytes(8)
        log.append_as_leader(data, 0, now_ms)
    log.abandon()


def kafka_seconds(root, partition):
    """From the start command to the first answer, on a directory of its own, with or without the partition."""
    data = root / "kafka-data"
    ports = free_ports(2)
    properties = root / "server.properties"
    properties.write_text(PROPERTIES.format(broker=ports[0], controller=ports[1], data=data))
    kafka_tools.run(KAFKA, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", properties)
    if partition is not None:
        shutil.copytree(partition, data / "big-0")
    command = ["java", "-Xmx1g", "-Xms1g", "-cp", f"{kafka_tools.jars(KAFKA)}/*", "kafka.Kafka", str(properties)]
    started = time.perf_counter()
    broker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_answer(ports[0], broker)
        return time.perf_counter() - started
    finally:
        broker.kill()
        broker.wait()
        shutil.rmtree(data)


def wait_for_answer(port, broker):
    deadline = time.monotonic() + ANSWER_SECONDS_MAX
    while broker.poll() is None and time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS_MAX) as connection:
                connection.sendall(API_VERSIONS_REQUEST)
                if connection.recv(4):
                    return
        except ConnectionRefusedError:
            time.sleep(0.02)
    raise RuntimeError(f"Kafka {KAFKA} did not answer")


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def main():
    ports = system_ports(threads=1)
    config = LogConfig.default()
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as name:
        root = Path(name)
        partition = root / "ours" / "big-0"
        print("writing 1 GB in batches of 16 KB", flush=True)
        fill(ports, partition, config)
        theirs = None
        try:
            theirs = kafka_seconds(root, partition) - kafka_seconds(root, None)
        except kafka_tools.Unavailable as reason:
            print(f"Kafka is not measured: {reason}")
        started, cpu = time.perf_counter(), time.process_time()
        load(ports, partition, config).abandon()
        ours, cpu = time.perf_counter() - started, time.process_time() - cpu
        print(f"recovery of 1 GB: ours {ours:.2f} s ({cpu:.2f} s of CPU)", end="")
        print("" if theirs is None else f", Kafka {KAFKA} {theirs:.2f} s: {ours / theirs:.2f} of it   (goal 0.33)")
    ports.executor.close()


if __name__ == "__main__":
    main()
