"""Streams through a real Spark of a real broker."""

import json
import time

import pytest

import spark_kit
from odradek.spark import commit_offsets_to_groups


@pytest.fixture
def stream(spark, broker, tmp_path):
    """Runs a stream over everything that is there, and returns (offset, value) of what it brought, and the query."""

    def run(topic, checkpoint="checkpoint", **options):
        frame = spark_kit.stream_reader(spark, broker.bootstrap, topic, **options).load()
        found = []
        query = (
            frame.writeStream.foreachBatch(lambda batch, number: found.append((number, batch.collect())))
            .option("checkpointLocation", str(tmp_path / checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        with spark_kit.stopped_after(query):
            assert query.awaitTermination(spark_kit.WAIT_S_MAX)
        return found, query

    return run


def values(found):
    return sorted(int(row.value) for _, rows in found for row in rows)


def test_each_run_goes_on_where_the_last_one_ended(stream, broker, new_topic):
    topic = new_topic(partitions=2)
    spark_kit.produce_values(broker.bootstrap, topic, range(50), partition=0)
    spark_kit.produce_values(broker.bootstrap, topic, range(50, 80), partition=1)
    found, _ = stream(topic, startingOffsets="earliest")
    assert values(found) == list(range(80))
    spark_kit.produce_values(broker.bootstrap, topic, range(80, 100), partition=1)
    found, query = stream(topic, startingOffsets="earliest")
    assert values(found) == list(range(80, 100))
    assert json.loads(query.lastProgress["sources"][0]["endOffset"]) == {topic: {"0": 50, "1": 50}}


def test_a_stream_from_latest_begins_with_what_comes_after_it(stream, broker, new_topic):
    topic = new_topic()
    spark_kit.produce_values(broker.bootstrap, topic, range(10))
    assert values(stream(topic)[0]) == []
    spark_kit.produce_values(broker.bootstrap, topic, range(10, 15))
    assert values(stream(topic)[0]) == list(range(10, 15))


def test_a_micro_batch_takes_of_each_partition_by_what_it_has(stream, broker, new_topic):
    topic = new_topic(partitions=2)
    spark_kit.produce_values(broker.bootstrap, topic, range(90), partition=0)
    spark_kit.produce_values(broker.bootstrap, topic, range(90, 100), partition=1)
    found, _ = stream(topic, startingOffsets="earliest", maxOffsetsPerTrigger="20")
    first = [row.partition for row in found[0][1]]
    assert (first.count(0), first.count(1)) == (18, 2)
    assert values(found) == list(range(100))


def test_a_stream_from_minutes_ago(stream, broker, new_topic):
    topic = new_topic()
    now_ms = int(time.time() * 1000)
    records = [{"value": b"%d" % n, "timestamp_ms": now_ms - 60_000 * (30 - n)} for n in range(30)]
    spark_kit.produce(broker.bootstrap, topic, records)
    found = values(stream(topic, startingOffsets="-10m")[0])
    assert found == list(range(found[0], 30)) and found[0] >= 20  # the clock has gone on since


def test_a_group_shows_where_a_stream_is_after_its_last_batch(stream, broker, admin, new_topic):
    topic = new_topic(partitions=2)
    spark_kit.produce_values(broker.bootstrap, topic, range(40), partition=1)
    group = f"group-of-{topic}"
    stream(topic, startingOffsets="earliest", maxOffsetsPerTrigger="15", commitOffsetsToGroup=group)
    committed = admin.list_group_offsets(group)[group]
    assert {place.partition: each.offset for place, each in committed.items()} == {0: 0, 1: 40}


def test_a_listener_commits_as_soon_as_a_batch_is_done(spark, broker, admin, new_topic, tmp_path):
    topic, group = new_topic(), "told-by-a-listener"
    options = {"kafka.bootstrap.servers": broker.bootstrap}
    listener = commit_offsets_to_groups(spark, {"listened": group}, options)
    frame = spark_kit.stream_reader(spark, broker.bootstrap, topic, startingOffsets="earliest").load()
    query = (
        frame.writeStream.format("noop")
        .queryName("listened")
        .option("checkpointLocation", str(tmp_path / "listened"))
        .trigger(processingTime="1 hour")
        .start()
    )
    spark_kit.produce_values(broker.bootstrap, topic, range(3))
    try:
        with spark_kit.stopped_after(query):
            spark_kit.eventually(lambda: query.lastProgress, "the first batch")
            end = json.loads(query.lastProgress["sources"][0]["endOffset"])[topic]["0"]

            def is_told():
                committed = admin.list_group_offsets(group).values_ok.get(group, {})
                return [each.offset for each in committed.values()] == [end]

            spark_kit.eventually(is_told, f"the group's offset {end}")
    finally:
        spark.streams.removeListener(listener)


def test_a_running_stream_follows_new_records_and_new_partitions(spark, broker, admin, new_topic, tmp_path):
    topic = new_topic()
    rows = []
    frame = spark_kit.stream_reader(spark, broker.bootstrap, topic, startingOffsets="earliest").load()
    query = (
        frame.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
        .option("checkpointLocation", str(tmp_path / "running"))
        .start()
    )
    with spark_kit.stopped_after(query):
        for first, partition in ((0, 0), (10, 0), (20, 1)):
            if partition:
                admin.create_partitions({topic: 2}).raise_any()
            spark_kit.produce_values(broker.bootstrap, topic, range(first, first + 10), partition=partition)
            spark_kit.eventually(lambda count=first + 10: len(rows) >= count or query.exception(), f"{first + 10} rows")
            assert query.exception() is None
            assert sorted(int(row.value) for row in rows) == list(range(first + 10))
        at_end = {topic: {"0": 20, "1": 10}}
        spark_kit.eventually(
            lambda: json.loads(query.lastProgress["sources"][0]["latestOffset"]) == at_end, "the report of the end"
        )
