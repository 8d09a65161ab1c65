"""The brokers that are compared: ours, and Apache Kafka from Maven, each a process with a port and a directory."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "interop"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "kits"))

import kafka_tools

from bench.wire_client import wait_until_readable, wait_until_ready

KAFKA = "4.3.0"
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
STOP_SECONDS_MAX = 60
HEAP = ("-Xmx1G", "-Xms1G")  # what Kafka's start script gives a broker, with its choice of collector
JVM = ("-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35")
PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{broker}
controller.listener.names=CONTROLLER
log.dirs={data}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""
_TICKS = os.sysconf("SC_CLK_TCK")


class Contender:
    """`warm_seconds` of load before the first figure: a JVM compiles what it runs often."""

    name = ""
    warm_seconds = 1.0

    def __init__(self, root: Path, port: int, configs: dict[str, str] | None = None) -> None:
        self.root = root
        self.port = port
        self.configs = configs or {}
        self._process: subprocess.Popen[bytes] | None = None
        root.mkdir(parents=True, exist_ok=True)
        self.prepare()

    def prepare(self) -> None:
        """Once, before the first start."""

    def command(self) -> list[str]:
        raise NotImplementedError

    def start(self, readable: str | None = None) -> float:
        """Seconds from the start command to the first answer; with `readable` to the end offset of that topic."""
        started = time.perf_counter()
        with open(self.root / "output.txt", "ab") as output:
            self._process = subprocess.Popen(self.command(), stdout=output, stderr=output)
        wait_until_ready(self.port, self.is_alive)
        if readable is not None:
            wait_until_readable(self.port, readable)
        return time.perf_counter() - started

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self, *, is_clean: bool = True) -> None:
        if self._process is None:
            return
        if is_clean:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self._process.kill()
        else:
            self._process.kill()
        self._process.wait()
        self._process = None

    def remove(self) -> None:
        self.stop(is_clean=False)
        shutil.rmtree(self.root, ignore_errors=True)

    def cpu_seconds(self) -> float:
        fields = self._proc("stat").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def resident_mb(self) -> float:
        line = next(line for line in self._proc("status").splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def _proc(self, name: str) -> str:
        assert self._process is not None
        return Path(f"/proc/{self._process.pid}/{name}").read_text()


class Odradek(Contender):
    name = "odradek"

    def command(self) -> list[str]:
        listen = f"127.0.0.1:{self.port}"
        command = [sys.executable, "-m", "odradek", "start", "--listen", listen, "--data", str(self.root / "data")]
        for name, value in self.configs.items():
            command += ["--override", f"{name}={value}"]
        return command


class Kafka(Contender):
    name = f"Kafka {KAFKA}"
    warm_seconds = 8.0

    def prepare(self) -> None:
        self._properties = self.root / "server.properties"
        text = PROPERTIES.format(broker=self.port, controller=self.port + 500, data=self.root / "data")
        self._properties.write_text(text + "".join(f"{name}={value}\n" for name, value in self.configs.items()))
        kafka_tools.run(KAFKA, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", self._properties)

    def command(self) -> list[str]:
        classes = f"{kafka_tools.jars(KAFKA)}/*"
        return ["java", *HEAP, *JVM, "-cp", classes, "kafka.Kafka", str(self._properties)]


def kafka_is_there() -> str | None:
    """Fetches it if need be; why not, if it cannot be."""
    try:
        kafka_tools.jars(KAFKA)
    except kafka_tools.Unavailable as reason:
        return str(reason)
    return None
