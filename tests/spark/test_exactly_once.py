"""Exactly once, wherever a query is interrupted: nothing of a batch is seen before its end, and nothing twice."""

import json
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import outside
import sink_kit
import spark_kit
from odradek.spark.errors import SinkError
from odradek.spark.options import sink_options
from odradek.spark.sink import clients, exactly_once
from odradek.spark.sink.sending import Sending
from odradek.testing import Broker

ROWS = 300
WIDE_ROWS = 5000
JOB_SECONDS_MAX = 180


@pytest.fixture
def numbers(broker):
    """The numbers that readers of committed rows find, with how often."""

    def numbers(topic, isolation_level="read_committed"):
        return sorted(int(each.value) for each in spark_kit.records_of(broker.bootstrap, topic, isolation_level))

    return numbers


@pytest.fixture
def run(spark, broker, tmp_path):
    """One batch of a query whose batches are always the same, from the checkpoint of this test."""

    def run(topic, frame=None):
        frame = sink_kit.numbered(spark, ROWS, 2) if frame is None else frame
        sink_kit.run_batch(frame, broker.bootstrap, topic, tmp_path, **sink_kit.EXACTLY_ONCE)

    return run


def open_transactions(admin):
    return {
        name for name, each in admin.list_transactions(states=["Ongoing"]).items() if "spark" in each.transactional_id
    }


def test_a_write_is_seen_when_all_of_it_is_there(spark, broker, admin, new_topic, numbers):
    topic = new_topic(partitions=2)
    frame = spark.range(1000).selectExpr("cast(id as string) as value").repartition(2)
    sink_kit.write(frame, broker.bootstrap, topic, **sink_kit.EXACTLY_ONCE)
    assert numbers(topic) == list(range(1000))
    assert open_transactions(admin) == set()


def test_an_upstream_that_fails_midway_leaves_nothing_to_be_seen(spark, broker, new_topic, numbers):
    """The rows of a task simply end when what feeds it fails: it must not take that for the end of its work."""
    topic = new_topic()
    frame = sink_kit.wide(spark.range(WIDE_ROWS).selectExpr("cast(id as string) as value").coalesce(1))
    frame = frame.mapInArrow(sink_kit.failing(broker.bootstrap, topic, attempts=9), "value string, key string")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "1000")
    try:
        with pytest.raises(Exception, match="on purpose"):
            sink_kit.write(frame, broker.bootstrap, topic, **sink_kit.EXACTLY_ONCE)
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert numbers(topic) == []
    assert numbers(topic, "read_uncommitted"), "something was written, and is not seen"


def test_a_batch_that_is_replayed_writes_nothing_twice(run, new_topic, numbers, tmp_path):
    """The driver dies after the last EndTxn and before Spark has noted the batch."""
    topic = new_topic(partitions=3)
    for _ in range(2):
        run(topic)
    sink_kit.forget_commit(tmp_path, 1)
    run(topic)
    assert numbers(topic) == list(range(3 * ROWS))


@pytest.mark.parametrize("is_ended", [True, False], ids=["aborted by the driver", "left open"])
def test_a_driver_that_dies_between_two_ends(run, broker, new_topic, numbers, is_ended):
    """One task's transaction is committed and the other's is not: the replay writes the second one alone. If the driver
    lives long enough it aborts what it could not commit; if not, the next attempt does.
    """
    topic = new_topic(partitions=3)
    passes = broker.faults.on("EndTxn").delay(1, times=1)
    refused = broker.faults.on("EndTxn").error("PRODUCER_FENCED", times=1 if is_ended else None)
    with passes, refused, pytest.raises(Exception, match="batch 0: 1 transactions could not be committed") as raised:
        run(topic)
    assert "kafka.transaction.timeout.ms=900000, which has to be more than a batch takes" in str(raised.value)
    assert len(numbers(topic)) == ROWS // 2, "the first of the two was committed"
    run(topic)
    assert numbers(topic) == list(range(2 * ROWS))


def test_tasks_without_rows_are_replayed_as_well(spark, run, new_topic, numbers, tmp_path):
    topic = new_topic()
    frame = sink_kit.numbered(spark, 10, 2).where("cast(value as int) % 10 < 5")  # all in one of the two tasks, or both
    run(topic, frame)
    sink_kit.forget_commit(tmp_path, 0)
    run(topic, frame.where("cast(value as int) >= 10"))  # now the first batch has none at all
    assert numbers(topic) == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]


def test_a_checkpoint_that_is_older_than_the_topic_is_refused(run, new_topic, numbers, tmp_path):
    topic = new_topic()
    for _ in range(3):
        run(topic)
    for what, batch in (("commits", 2), ("offsets", 2), ("commits", 1)):
        sink_kit.forget(tmp_path, what, batch)
    with pytest.raises(Exception, match="the checkpoint is older than what is in the topic"):
        run(topic)
    assert numbers(topic) == list(range(3 * ROWS))


# Two attempts of one task, without Spark in between


def attempt(broker, part, numbers, topic, **more):
    """As far as a task goes; what it prepares, or None if there was nothing to do."""
    given = {"kafka.bootstrap.servers": broker.bootstrap, "topic": topic, **sink_kit.EXACTLY_ONCE, **more}
    options = sink_options(given, True)
    configs = exactly_once.with_timeout(options.clients)
    producer = clients.transactional_producer(configs, part.transactional_id)
    if not exactly_once.begun(producer, configs, part):
        return configs, None
    sending = Sending(producer, ["value"], topic)
    sending.send(pa.record_batch({"value": [str(number).encode() for number in numbers]}))
    return configs, exactly_once.prepared(producer, part, sending)


@pytest.fixture
def part(new_topic):
    yield exactly_once.part_of("spark", new_topic(), 0, 7)
    clients.drop_all()


def test_the_name_of_a_part():
    assert exactly_once.part_of(None, "query", 3, 7) == ("odradek-spark-query-3", 7)
    assert exactly_once.part_of("mine", "query", 0, None) == ("mine-query-0", None)


def test_a_worker_keeps_the_producers_of_the_last_few_parts(broker, new_topic, part):
    """Closed or not, what they have prepared can be committed."""
    topic = new_topic()
    parts = [part._replace(transactional_id=f"{part.transactional_id}-{number}") for number in range(6)]
    told = [attempt(broker, each, [number], topic) for number, each in enumerate(parts)]
    assert len(clients._producers) == clients.KEPT_MAX
    exactly_once.commit(told[0][0], [prepared for _, prepared in told], "batch 7")
    assert len(spark_kit.records_of(broker.bootstrap, topic)) == 6


def test_a_zombie_is_fenced(broker, new_topic, part, numbers):
    """An attempt that was given up, and goes on: whatever it has written is aborted when the next one begins."""
    topic = new_topic()
    configs, of_zombie = attempt(broker, part, range(10), topic)
    configs, of_second = attempt(broker, part, range(10), topic)
    with pytest.raises(SinkError, match=f"that of {part.transactional_id}: "):
        exactly_once.commit(configs, [of_zombie], "batch 7")
    exactly_once.commit(configs, [of_second], "batch 7")
    assert numbers(topic) == list(range(10))
    assert attempt(broker, part, range(10), topic)[1] is None, "its batch is there"
    assert numbers(topic) == list(range(10))


def test_a_zombie_that_still_writes_is_told(broker, new_topic, part, numbers):
    topic = new_topic()
    options = sink_options({"kafka.bootstrap.servers": broker.bootstrap, "topic": topic, **sink_kit.EXACTLY_ONCE}, True)
    configs = exactly_once.with_timeout(options.clients)
    zombie = clients.transactional_producer({**configs, "client.id": "zombie"}, part.transactional_id)
    assert exactly_once.begun(zombie, configs, part)
    sending = Sending(zombie, ["value"], topic)
    sending.send(pa.record_batch({"value": ["1"]}))
    sending.finish()
    _, of_second = attempt(broker, part, [2], topic)
    sending.send(pa.record_batch({"value": ["3"]}))
    with pytest.raises(SinkError, match=f"topic {topic} partition 0: a record was not written"):
        exactly_once.prepared(zombie, part, sending)
    exactly_once.commit(configs, [of_second], "batch 7")
    assert numbers(topic) == [2]


def test_a_transaction_that_took_too_long_cannot_be_committed(part):
    config = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 100}
    with Broker(config=config) as broker, spark_kit.admin(broker.bootstrap) as admin:
        broker.create_topic("slow")
        configs, slow = attempt(broker, part, [1], "slow", **{"kafka.transaction.timeout.ms": "1000"})
        spark_kit.eventually(lambda: not open_transactions(admin), "the end of its time")
        with pytest.raises(SinkError, match=r"kafka\.transaction\.timeout\.ms=1000"):
            exactly_once.commit(configs, [slow], "batch 7")
        assert spark_kit.records_of(broker.bootstrap, "slow") == []
        clients.drop_all()


def test_a_task_that_is_tried_again_writes_nothing_twice(broker, new_topic, numbers, tmp_path):
    """In a Spark of its own, which tries a task four times: the first attempt of each fails after its last row."""
    topic = new_topic(partitions=2)
    given = {"bootstrap": broker.bootstrap, "topic": topic, "checkpoint": str(tmp_path / "checkpoint"), "batches": 2}
    job = Path(__file__).with_name("retried_job.py")
    done = outside.run([sys.executable, str(job), json.dumps(given)], seconds=JOB_SECONDS_MAX, check=True)
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["failed_attempts"] >= 4
    assert numbers(topic) == list(range(told["rows"]))
    assert len(numbers(topic, "read_uncommitted")) > told["rows"], "what the first attempts wrote is there, unseen"
