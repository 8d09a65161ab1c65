"""Streams through a real Spark of a real broker."""

import json

import pytest

import spark_kit


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
