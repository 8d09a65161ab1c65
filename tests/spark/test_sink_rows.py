"""Frames and streams written to topics of a real broker: what a reader finds is what the columns say."""

import pytest

import sink_kit
import spark_kit
from odradek import KafkaProducer

ROWS = 20_000


@pytest.fixture
def write(broker):
    def write(frame, topic=None, **options):
        sink_kit.write(frame, broker.bootstrap, topic, **options)

    return write


@pytest.fixture
def read(broker):
    return lambda topic: spark_kit.records_of(broker.bootstrap, topic)


def test_the_columns_become_the_fields_of_records(spark, write, read, new_topic):
    topic = new_topic(partitions=3)
    rows = [
        (b"k", b"v", 2, [("h", b"1"), ("h", None)]),
        (None, b"", 0, []),
        (b"", None, 1, None),
    ]
    schema = "key binary, value binary, partition int, headers array<struct<key string, value binary>>"
    write(spark.createDataFrame(rows, schema), topic)
    found = {each.partition: (each.key, each.value, list(each.headers)) for each in read(topic)}
    assert found == {2: (b"k", b"v", [("h", b"1"), ("h", None)]), 0: (None, b"", []), 1: (b"", None, [])}


def test_strings_are_written_as_utf_8_also_in_arrows_large_types(spark, write, read, new_topic):
    topic = new_topic()
    frame = spark.createDataFrame([("ключ", "große Ware")], "key string, value string")
    write(frame, topic)
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        write(frame, topic)
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
    assert [(each.key.decode(), each.value.decode()) for each in read(topic)] == [("ключ", "große Ware")] * 2


def test_rows_name_their_topics_unless_the_option_does(spark, write, read, new_topic):
    one, other, option = new_topic(), new_topic(), new_topic()
    frame = spark.createDataFrame([(one, "1"), (other, "2"), (one, "3")], "topic string, value string").coalesce(1)
    write(frame)
    assert [each.value for each in read(one)] == [b"1", b"3"]
    assert [each.value for each in read(other)] == [b"2"]
    write(frame, option)
    assert sorted(each.value for each in read(option)) == [b"1", b"2", b"3"]


def test_rows_go_where_the_producer_sends_their_keys(spark, broker, write, read, new_topic):
    topic, beside = new_topic(partitions=5), new_topic(partitions=5)
    keys = [f"key-{number}" for number in range(200)]
    schema = "key string, value string, partition int"
    write(spark.createDataFrame([(key, "v", None) for key in keys], schema), topic)
    with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        for key in keys:
            producer.send(beside, b"v", key.encode())
    placed = {each.key: each.partition for each in read(topic)}
    assert placed == {each.key: each.partition for each in read(beside)}
    assert len(placed) == 200


def test_a_config_of_the_producer_is_heard(spark, write, read, new_topic):
    topic = new_topic(partitions=2)
    frame = spark.range(8).selectExpr("'same' as key", "cast(id as string) as value").coalesce(1)
    round_robin = "org.apache.kafka.clients.producer.RoundRobinPartitioner"
    write(frame, topic, **{"kafka.partitioner.class": round_robin, "kafka.compression.type": "lz4"})
    assert [each.partition for each in read(topic)] == [0] * 4 + [1] * 4


def test_the_rows_of_a_task_keep_their_order_over_many_batches(spark, write, read, new_topic):
    topic = new_topic(partitions=2)
    frame = spark.range(ROWS).selectExpr("cast(id % 7 as string) as key", "cast(id as string) as value").coalesce(1)
    write(frame, topic)
    found = read(topic)
    assert sorted(int(each.value) for each in found) == list(range(ROWS))
    for key in {each.key for each in found}:
        mine = [int(each.value) for each in found if each.key == key]
        assert mine == sorted(mine)


def test_what_was_read_is_written_as_it_is(spark, broker, write, read, new_topic):
    source, target = new_topic(partitions=2), new_topic(partitions=2)
    spark_kit.produce(
        broker.bootstrap, source, [{"value": b"v", "key": b"k", "headers": [("h", b"x")], "partition": 1}]
    )
    frame = spark_kit.reader(spark, broker.bootstrap, source, includeHeaders="true").load()
    write(frame, target)
    (copy,) = read(target)
    assert (copy.key, copy.value, list(copy.headers), copy.partition) == (b"k", b"v", [("h", b"x")], 1)


def test_a_frame_without_rows_writes_nothing(spark, write, read, new_topic):
    topic = new_topic()
    frame = spark.range(10).selectExpr("cast(id as string) as value").where("value = 'x'")
    write(frame, topic)
    write(frame, topic, **sink_kit.EXACTLY_ONCE)
    assert read(topic) == []


@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_a_stream_writes_every_batch(spark, broker, read, new_topic, tmp_path, guarantee):
    topic = new_topic(partitions=3)
    frame = sink_kit.numbered(spark, rows=500)
    for _ in range(3):
        sink_kit.run_batch(frame, broker.bootstrap, topic, tmp_path, **{"odradek.sink.guarantee": guarantee})
    assert sorted(int(each.value) for each in read(topic)) == list(range(1500))


def test_a_stream_of_changing_results(spark, broker, read, new_topic, tmp_path):
    """Each batch adds what it has: the mode complete has all rows of the result in every batch."""
    topic = new_topic()
    counted = sink_kit.numbered(spark, rows=100).groupBy().count().selectExpr("cast(count as string) as value")
    for _ in range(2):
        sink_kit.run_batch(counted, broker.bootstrap, topic, tmp_path, mode="complete")
    assert [each.value for each in read(topic)] == [b"100", b"200"]
