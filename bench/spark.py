"""Reading topics in Spark through our format and through Spark's own connector, from one broker of ours, in the same
run, one after the other and warmed: rows a second, and CPU seconds per million rows of everything together (the JVM,
Python's workers, the broker).

    1 x 100 B, 8 x 100 B, 8 x 1 KB      partitions and the size of a value; all columns are read and thrown away

Needs Spark, which `make spark` installs beside the rest, and Maven for the connector. `--help` has options.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.wire_client import WireClient, create_topic
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.records.build import build
from odradek.testing.broker import Broker

ROOT = Path(__file__).resolve().parents[1]
TIMESTAMP = 1_700_000_000_000
FORMATS = ("kafka", "odradek")
SHAPES = {"1 x 100 B": (1, 100), "8 x 100 B": (8, 100), "8 x 1 KB": (8, 1000)}
BYTES_OF_ROW = 40  # besides the value


def main(arguments: list[str] | None = None) -> None:
    if find_spec("pyspark") is None:
        _run_beside(arguments or [])
        return
    options = _options(arguments or [])
    with tempfile.TemporaryDirectory() as directory, Broker(config={"log.retention.ms": -1}) as broker:
        for number, (partitions, value_bytes) in enumerate(SHAPES.values()):
            _fill(broker.port, f"shape-{number}", partitions, options.megabytes * 1_000_000 // value_bytes, value_bytes)
        spark = _session(directory)
        for number, name in enumerate(SHAPES):
            _show(name, _measured(spark, broker.bootstrap, f"shape-{number}", options.rounds))
        spark.stop()


def _run_beside(arguments: list[str]) -> None:
    python = ROOT / ".venv-spark" / "bin" / "python"
    if not python.exists():
        print("skipped: Spark is not installed here; `make spark` installs it in .venv-spark")
        return
    subprocess.run([str(python), "-m", "bench.spark", *arguments], cwd=ROOT, check=True, timeout=1800)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of each format, after one to warm up (3)")
    parser.add_argument("--megabytes", type=int, default=200, help="of values in each topic (200)")
    return parser.parse_args(arguments)


def _fill(port: int, topic: str, partitions: int, records: int, value_bytes: int) -> None:
    create_topic(port, topic, partitions)
    with WireClient(port) as client:
        for partition in range(partitions):
            left = records // partitions
            while left:
                count = min(left, max(1, 800_000 // (value_bytes + BYTES_OF_ROW)))
                values = [b"%0*d" % (value_bytes, row) for row in range(count)]
                keys = [b"key-%08d" % row for row in range(count)]
                for batch in build(values, keys=keys, default_timestamp=TIMESTAMP):
                    data = [PartitionProduceData(index=partition, records=batch)]
                    topics = [TopicProduceData(name=topic, partition_data=data)]
                    client.ask(ProduceRequest(acks=1, timeout_ms=10_000, topic_data=topics), 9)
                left -= count


def _session(directory: str) -> Any:
    """Any: Spark's session."""
    sys.path[:0] = [str(ROOT / "tests" / each) for each in ("kits", "interop", "spark")]
    import connector

    from odradek.spark import session

    conf = {"spark.ui.enabled": "false", "spark.log.level": "ERROR", "spark.jars": ",".join(connector.jars())}
    return session("local[2]", "bench", **conf, **{"spark.sql.warehouse.dir": directory})


def _measured(spark: Any, bootstrap: str, topic: str, rounds: int) -> dict[str, tuple[float, float]]:
    """Seconds and CPU seconds per million rows, of the round with the least CPU. Any: Spark's session."""
    best: dict[str, tuple[float, float]] = {}
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic}
    frames = {kind: spark.read.format(kind).options(**options).load() for kind in FORMATS}
    rows = frames["odradek"].count()
    for round_number in range(rounds + 1):
        for kind, frame in frames.items():
            cpu, started = _cpu_seconds(), time.monotonic()
            frame.write.format("noop").mode("overwrite").save()
            found = (time.monotonic() - started) / rows * 1e6, (_cpu_seconds() - cpu) / rows * 1e6
            if round_number:
                best[kind] = min(best.get(kind, found), found, key=lambda each: each[1])
    return best


def _cpu_seconds() -> float:
    """Of this process and everything below it, those that have ended included."""
    stats = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        stats[int(path.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    below = {os.getpid()}
    while more := {pid for pid, (parent, _) in stats.items() if parent in below} - below:
        below |= more
    return sum(stats[pid][1] for pid in below if pid in stats) / os.sysconf("SC_CLK_TCK")


def _show(name: str, best: dict[str, tuple[float, float]]) -> None:
    for kind, (seconds, cpu) in best.items():
        print(f"{name:<10} {kind:<8} {1000 / seconds:8.0f} k rows/s   {cpu:6.2f} CPU s per million rows")
    (their_s, their_cpu), (our_s, our_cpu) = best["kafka"], best["odradek"]
    print(f"{name:<10} {their_s / our_s:.1f} x the connector's rate, {our_cpu / their_cpu:.2f} x its CPU", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
