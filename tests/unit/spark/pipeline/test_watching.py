"""What people see of a running pipeline: views of Spark's progress, tables, lines, metrics, state files, failures."""

import io
import json
import os
import urllib.error
import urllib.request

import pytest

from odradek.spark.pipeline.failure_text import failure_line, java_reason
from odradek.spark.pipeline.progress_view import ENDED, RUNNING, lag_by_topic, view
from odradek.spark.pipeline.prometheus import MetricsServer, metrics_text
from odradek.spark.pipeline.state_files import PipelineState, StateFile, process_start, running
from odradek.spark.pipeline.watching import JsonLines, LiveTable, PlainLines, table_of

PROGRESS = {
    "batchId": 7,
    "timestamp": "2026-01-01T00:00:00.000Z",
    "numInputRows": 500,
    "inputRowsPerSecond": 250.04,
    "processedRowsPerSecond": 1000.0,
    "durationMs": {
        "latestOffset": 1,
        "getBatch": 2,
        "queryPlanning": 30,
        "addBatch": 400,
        "walCommit": 5,
        "commitOffsets": 6,
        "triggerExecution": 450,
    },
    "eventTime": {"watermark": "2025-12-31T23:50:00.000Z"},
    "stateOperators": [{"numRowsTotal": 10}, {"numRowsTotal": 5}],
    "sources": [
        {"endOffset": '{"a":{"0":10,"1":20}}', "latestOffset": '{"a":{"0":15,"1":20,"2":3}}'},
        {"endOffset": {"b": {"0": 1}}, "latestOffset": {"b": {"0": 101}}},
        {"endOffset": "5", "latestOffset": "no JSON"},
        {"endOffset": None, "latestOffset": None},
    ],
}
SEEN = view("out", RUNNING, PROGRESS, 1500)


def test_a_view_of_progress():
    assert (SEEN.batch, SEEN.input_rows, SEEN.input_rate, SEEN.processed_rate) == (7, 500, 250.0, 1000.0)
    assert SEEN.lag == {"a": 5, "b": 100}
    assert SEEN.batch_ms == 450
    assert SEEN.parts_ms == {"offsets": 3, "planning": 30, "work": 400, "checkpoint": 11}
    assert (SEEN.state_rows, SEEN.watermark, SEEN.total_rows) == (15, "2025-12-31T23:50:00.000Z", 1500)


def test_a_view_of_nothing_and_of_numbers_that_are_none():
    assert view("out", ENDED, None, 0).batch is None
    odd = view("out", RUNNING, {"batchId": 0, "inputRowsPerSecond": "NaN", "processedRowsPerSecond": float("inf")}, 0)
    assert (odd.input_rate, odd.processed_rate, odd.lag) == (0.0, 0.0, {})


def test_a_partition_that_is_not_read_yet_has_no_lag_to_tell():
    assert lag_by_topic([{"endOffset": '{"a":{"0":1}}', "latestOffset": '{"a":{"1":9}}'}]) == {"a": 0}


def test_lines_a_table_and_json():
    out, people = io.StringIO(), io.StringIO()
    JsonLines(out, people).batch(SEEN)
    assert json.loads(out.getvalue())["lag"] == {"a": 5, "b": 100}
    PlainLines(people).batch(SEEN)
    line = people.getvalue()
    assert line.startswith(
        "out: batch 7, 500 rows, in 250/s, done 1000/s, lag a=5,b=100, 450 ms (offsets 3 planning 30"
    )
    assert "state 15 rows, watermark 2025-12-31T23:50:00.000Z\n" in line
    heading, row = table_of([SEEN])
    assert heading.split()[:3] == ["QUERY", "STATE", "BATCH"]
    assert row.split()[:7] == ["out", "running", "7", "1500", "250", "1000", "a=5,b=100"]


def test_a_live_table_is_drawn_over_itself():
    terminal = io.StringIO()
    table = LiveTable(terminal, width=20)
    table.now([SEEN])
    table.now([SEEN])
    table.say("ending")
    first, second, third = terminal.getvalue().split("\x1b[2F\x1b[J")
    assert first == second and first.count("\n") == 2
    assert all(len(line) <= 20 for line in first.splitlines())
    assert third == "ending\n"


def test_metrics_for_prometheus():
    text = metrics_text('sh"op', [SEEN])
    assert 'odradek_pipeline_up{pipeline="sh\\"op",query="out"} 1' in text
    assert 'odradek_pipeline_lag{pipeline="sh\\"op",query="out",topic="b"} 100' in text
    assert 'odradek_pipeline_batch_part_milliseconds{pipeline="sh\\"op",query="out",part="work"} 400' in text
    families = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(families) == len(set(families)) == 9


def test_metrics_are_served_on_this_machine_alone():
    server = MetricsServer(0, lambda: "up 1\n")
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=30) as answer:
            assert answer.read() == b"up 1\n"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/other", timeout=30)
    finally:
        server.close()


def state(pid, start):
    return PipelineState(
        pipeline="shop", file="/shop.yaml", master="local[*]", pid=pid, process_start=start, started="t"
    )


def test_state_files_of_processes_that_live(tmp_path):
    place = str(tmp_path / "states")
    assert running(place) == []
    own = StateFile(place)
    own.write(state(os.getpid(), process_start(os.getpid())))
    assert [each.pipeline for each in running(place)] == ["shop"]
    own.write(state(os.getpid(), "another process had this number"))
    assert running(place) == [] and os.listdir(place) == []
    own.remove()


def test_state_files_that_make_no_sense_are_removed(tmp_path):
    (tmp_path / "1.json").write_text("{")
    (tmp_path / "2.json").write_text('{"pid": 1}')
    assert running(str(tmp_path)) == [] and os.listdir(tmp_path) == []


def test_the_start_of_a_process_that_is_not_there():
    assert process_start(2**30) is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "[STREAM_FAILED] Query [id = x] terminated with exception: [USER_RAISED_EXCEPTION] the source orders: "
            "topic orders partition 0 offset 3: the value is no JSON of the schema: nope SQLSTATE: P0001\n at org",
            "the source orders: topic orders partition 0 offset 3: the value is no JSON of the schema: nope",
        ),
        (
            "Traceback (most recent call last):\n  File x\nodradek.spark.errors.SourceError: topic a does not exist\n"
            "\n at org.apache",
            "SourceError: topic a does not exist",
        ),
        ("[STREAM_FAILED] The disk is full. SQLSTATE: XXKST\n at x", "The disk is full."),
        ("", "no reason was given"),
    ],
)
def test_the_line_of_a_failure(text, line):
    assert failure_line(text) == line


def test_the_reason_why_java_does_not_start():
    said = (
        "WARN Utils: Set SPARK_LOCAL_IP\n"
        'Exception in thread "main" org.apache.spark.SparkException: Master must either be yarn or start with spark\n'
        "\tat org.apache.spark.deploy.SparkSubmit.error(SparkSubmit.scala:1068)\n"
    )
    assert java_reason(said) == "SparkException: Master must either be yarn or start with spark"
    assert java_reason("starting\nnothing is wrong\n") is None
