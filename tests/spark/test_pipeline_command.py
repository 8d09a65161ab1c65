"""`odradek spark run` as a new user has it: in a process of its own, to the end of what is there, or to Ctrl-C."""

import json
import os
import signal
import sys
import urllib.request
from pathlib import Path

import deltalake
import pytest

import outside
import spark_kit
from odradek.spark.pipeline.loading import load
from odradek.spark.pipeline.running import start

ROOT = Path(__file__).resolve().parents[2]
SECONDS_MAX = 240
QUICK = {"_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"}


class Commands:
    """`odradek spark ...` with directories of its own, against one broker."""

    def __init__(self, broker, home):
        self.home = home
        (home / "run").mkdir()
        self.environment = {
            **os.environ,
            **QUICK,
            "BOOTSTRAP": broker.bootstrap,
            "PIPELINES": str(home),
            "XDG_RUNTIME_DIR": str(home / "run"),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        }

    def command(self, *words):
        return [sys.executable, "-m", "odradek", "spark", *map(str, words)]

    def run(self, *words, check=True):
        return outside.run(self.command(*words), env=self.environment, seconds=SECONDS_MAX, check=check)

    def once(self, file, *words):
        """What each batch told."""
        done = self.run("run", file, "--master", "local[2]", "--once", "--json", *words)
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def commands(broker, tmp_path, monkeypatch):
    """The same environment for what runs here and for processes."""
    made = Commands(broker, tmp_path)
    for name in ("BOOTSTRAP", "PIPELINES", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, made.environment[name])
    return made


def values(broker, topic):
    return [json.loads(record.value) for record in spark_kit.records_of(broker.bootstrap, topic)]


def send(broker, topic, *rows):
    spark_kit.produce(
        broker.bootstrap,
        topic,
        [{"value": row if isinstance(row, bytes) else json.dumps(row).encode()} for row in rows],
    )


@pytest.fixture(scope="module")
def topics(broker):
    for name in (
        "orders",
        "orders-dead",
        "orders-clean",
        "clicks",
        "sold",
        "bought",
        "clicks-per-page",
        "customers-changes",
        "events",
    ):
        broker.create_topic(name)


def run_here(file, spark):
    """In the session of the tests: a process of its own takes ten seconds to start."""
    running = start(load(str(ROOT / "examples" / file)), spark, once=True)
    try:
        assert running.wait(SECONDS_MAX)
    finally:
        running.stop()


def test_the_example_of_streaming_etl_by_the_command(commands, broker, topics):
    order = {"id": 1, "customer": " Anna ", "price": 2.5, "at": "2026-01-01T00:00:00Z"}
    send(broker, "orders", order, b"nonsense", {**order, "id": 2, "price": 0}, {"customer": "x"})
    told = commands.once(ROOT / "examples" / "streaming_etl.yaml")
    assert {view["query"] for view in told} == {"orders-dead-letters", "topic", "files"}
    assert [view["lag"] for view in told if view["query"] == "topic"][-1] == {"orders": 0}
    expected = {"id": 1, "customer": "anna", "cents": 250, "at": "2026-01-01T00:00:00.000Z"}
    assert values(broker, "orders-clean") == [expected]
    dead = spark_kit.records_of(broker.bootstrap, "orders-dead")
    assert [record.value for record in dead] == [b"nonsense", b'{"customer": "x"}']
    assert dict(dead[1].headers)["odradek.reason"] == b"the column id is missing"


def test_the_example_of_a_windowed_join(spark, commands, broker, topics):
    def at(minute):
        return f"2026-01-01T00:{minute:02}:00Z"

    clicks = [("anna", "lamp", 1), ("bert", "bed", 2), ("cara", "bed", 30)]
    send(broker, "clicks", *({"customer": who, "page": page, "clicked": at(when)} for who, page, when in clicks))
    orders = [(7, "anna", 8), (8, "bert", 20)]
    send(broker, "sold", *({"order_id": order, "buyer": who, "ordered": at(when)} for order, who, when in orders))
    run_here("windowed_join.sql", spark)
    assert [(row["order_id"], row["page"]) for row in values(broker, "bought")] == [(7, "lamp")]
    counted = {(row["since"], row["page"]): row["clicks"] for row in values(broker, "clicks-per-page")}
    assert counted == {("2026-01-01T00:00:00.000Z", "lamp"): 1, ("2026-01-01T00:00:00.000Z", "bed"): 1}


def test_the_example_of_changes_into_delta(spark, commands, broker, topics):
    first = {"op": "c", "id": 1, "name": " Anna ", "city": "Rome"}
    send(broker, "customers-changes", first, {**first, "id": 2}, {**first, "op": "u", "city": "Oslo"})
    run_here("cdc_to_delta.py", spark)
    send(broker, "customers-changes", {"op": "d", "id": 2}, {**first, "op": "c", "id": 3})
    run_here("cdc_to_delta.py", spark)
    table = deltalake.DeltaTable(str(commands.home / "cdc_to_delta" / "customers")).to_pyarrow_table()
    rows = sorted((row["id"], row["name"], row["city"]) for row in table.to_pylist())
    assert rows == [(1, "Anna", "Oslo"), (3, "Anna", "Rome")]


def test_the_example_of_a_backfill(spark, commands, broker, topics):
    for values_sent in (["a", "b"], ["c"]):
        spark_kit.produce(
            broker.bootstrap, "events", [{"value": each.encode(), "timestamp_ms": 86_400_000} for each in values_sent]
        )
        run_here("backfill.yaml", spark)
    rows = spark.read.parquet(str(commands.home / "backfill" / "events")).orderBy("offset").collect()
    assert [(row.value, row.offset, str(row.day)) for row in rows] == [
        ("a", 0, "1970-01-02"),
        ("b", 1, "1970-01-02"),
        ("c", 2, "1970-01-02"),
    ]


def test_a_pipeline_is_watched_and_ends_after_its_batch(commands, broker, new_topic, tmp_path):
    topic = new_topic()
    send(broker, topic, {"id": 1})
    file = tmp_path / "watched.yaml"
    file.write_text(
        "checkpoint: ${PIPELINES}/ck\n"
        "options: {kafka.bootstrap.servers: '${BOOTSTRAP}'}\n"
        "sources:\n"
        f"  orders: {{topic: {topic}, decode: json, schema: id INT, options: {{startingOffsets: earliest}}}}\n"
        "sinks: {shown: {from: orders, console: true}}\n"
    )
    command = commands.command("run", file, "--master", "local[2]", "--metrics-port", "0")
    with outside.Program(
        command, env=commands.environment, seconds=SECONDS_MAX, stderr=outside.PIPE, stdout=outside.DEVNULL, text=True
    ) as process:
        told = iter(process.stderr)
        address = next(line for line in told if line.startswith("metrics: ")).split()[1]
        assert any("shown: batch 0, 1 rows" in line for line in told)
        with urllib.request.urlopen(address, timeout=30) as answer:
            assert b'odradek_pipeline_input_rows_total{pipeline="watched",query="shown"} 1' in answer.read()

        def is_listed():
            listed = commands.run("status").stdout
            return "watched" in listed and "shown" in listed

        assert spark_kit.eventually(is_listed, "the pipeline in the status")
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS_MAX) == 0
    assert commands.run("status").stdout == "no pipeline runs here\n"


def test_a_failure_is_one_line(commands, broker, new_topic, tmp_path):
    topic = new_topic()
    send(broker, topic, b"nonsense")
    file = tmp_path / "failing.yaml"
    file.write_text(
        "checkpoint: ${PIPELINES}/ck\n"
        "options: {kafka.bootstrap.servers: '${BOOTSTRAP}'}\n"
        "sources:\n"
        f"  orders: {{topic: {topic}, decode: json, schema: id INT, options: {{startingOffsets: earliest}}}}\n"
        "sinks: {shown: {from: orders, console: true}}\n"
    )
    done = commands.run("run", file, "--master", "local[2]", "--once", check=False)
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if line.startswith("odradek: ")]
    assert said == [
        f"odradek: query shown failed: the source orders: topic {topic} partition 0 offset 0: "
        "the value is no JSON of the schema: nonsense"
    ]
    assert "Traceback" not in done.stderr and "\tat " not in done.stderr
