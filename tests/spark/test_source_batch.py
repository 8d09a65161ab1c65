"""Batch reads through a real Spark of a real broker."""

import pytest

import spark_kit


@pytest.fixture
def read(spark, broker):
    def read(topic=None, **options):
        return spark_kit.reader(spark, broker.bootstrap, topic, **options)

    return read


def test_the_rows_of_a_topic_are_those_that_were_produced(read, broker, new_topic):
    topic = new_topic(partitions=2)
    spark_kit.produce(
        broker.bootstrap,
        topic,
        [
            {"key": b"a", "value": b"1", "partition": 0, "timestamp_ms": 1_700_000_000_001},
            {"key": None, "value": b"", "partition": 0, "timestamp_ms": 1_700_000_000_002},
            {"key": b"c", "value": None, "partition": 1, "timestamp_ms": 1_700_000_000_003, "headers": [("h", b"x")]},
        ],
    )
    rows = read(topic, includeHeaders="true").load().orderBy("partition", "offset").collect()
    found = [(row.key, row.value, row.topic, row.partition, row.offset, row.timestampType) for row in rows]
    assert found == [(b"a", b"1", topic, 0, 0, 0), (None, b"", topic, 0, 1, 0), (b"c", None, topic, 1, 0, 0)]
    assert [row.headers and [tuple(each) for each in row.headers] for row in rows] == [None, None, [("h", b"x")]]
    assert [int(row.timestamp.timestamp() * 1000) for row in rows] == [1_700_000_000_001 + at for at in range(3)]


def test_a_schema_of_fewer_columns_is_all_that_is_read(read, broker, new_topic):
    topic = new_topic()
    spark_kit.produce_values(broker.bootstrap, topic, range(100))
    frame = read(topic).schema("offset bigint, value binary").load()
    assert frame.columns == ["offset", "value"]
    assert [tuple(row) for row in frame.orderBy("offset").collect()] == [(n, str(n).encode()) for n in range(100)]


def test_an_empty_topic_has_no_rows(read, new_topic):
    assert read(new_topic(partitions=3)).load().count() == 0


def test_tasks_are_cut_as_the_options_say(read, broker, new_topic):
    topic = new_topic()
    spark_kit.produce_values(broker.bootstrap, topic, range(1000))
    frame = read(topic, minPartitions="4").load()
    assert frame.rdd.getNumPartitions() == 4
    assert [row.offset for row in frame.select("offset").orderBy("offset").collect()] == list(range(1000))
