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


def test_filters_bound_what_is_read(spark, read, broker, new_topic):
    topics = [new_topic(partitions=2) for _ in range(2)]
    for topic in topics:
        for partition in range(2):
            records = [{"value": b"%d" % n, "partition": partition, "timestamp_ms": 1000 * n} for n in range(100)]
            spark_kit.produce(broker.bootstrap, topic, records)
    frame = read(",".join(topics), pushdown="true").load()
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        found = frame.where(f"topic = '{topics[0]}' AND partition IN (1) AND offset >= 20 AND offset < 30")
        assert found.rdd.getNumPartitions() == 1  # of four: the others are not even opened
        assert sorted(int(row.value) for row in found.collect()) == list(range(20, 30))
        later = frame.where("timestamp >= TIMESTAMP '1970-01-01 00:01:30Z'")
        assert sorted(int(row.value) for row in later.collect()) == sorted([*range(90, 100)] * 4)
        assert frame.where("offset = 5 AND value = '5'").count() == 4
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    with pytest.raises(Exception, match="DATA_SOURCE_PUSHDOWN_DISABLED"):
        read(topics[0], pushdown="true").load().where("offset = 5").count()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"maxOffsetPerTrigger": "5"}, "did you mean maxOffsetsPerTrigger?"),
        ({"more": {"kafka.fetch.min.byte": "5"}}, "did you mean kafka.fetch.min.bytes?"),
        ({"commitOffsetsToGroup": "g"}, "not for a batch read"),
        ({"more": {"topic": "t"}}, "not for a batch read"),
    ],
)
def test_an_option_that_is_not_for_it_is_an_error(read, new_topic, options, said):
    with pytest.raises(Exception) as refused:
        read(new_topic(), **options).load().collect()
    assert said in str(refused.value)


@pytest.mark.parametrize("schema", ["value string", "colour binary", "offset int", "VALUE binary"])
def test_a_schema_that_a_topic_does_not_have_is_an_error(read, new_topic, schema):
    with pytest.raises(Exception, match="a topic has these columns"):
        read(new_topic()).schema(schema).load().collect()


def test_a_task_that_fails_is_named(read, broker, new_topic):
    topic = new_topic()
    spark_kit.produce_values(broker.bootstrap, topic, range(5))
    quick = {"kafkaConsumer.pollTimeoutMs": "100"}
    fault = broker.faults.on("Fetch", topic=topic).error("LEADER_NOT_AVAILABLE")
    with fault, pytest.raises(Exception, match=f"topic {topic} partition 0 offset 0: nothing came within"):
        read(topic, more=quick).load().collect()
    assert read(topic).load().count() == 5


def test_closed_segments_of_a_log_dir_are_read_in_place(read, broker, new_topic):
    topic = new_topic(partitions=2, internal_segment_bytes=8000)
    for partition in range(2):
        for first in range(0, 2000, 50):  # in batches, so that there are segments
            spark_kit.produce_values(broker.bootstrap, topic, range(first, first + 50), partition)
    order = ("partition", "offset")
    expected = read(topic).load().orderBy(*order).collect()
    with broker.faults.on("Fetch", topic=topic).delay(1) as fetches:
        found = read(topic, more={"odradek.log.dirs": broker.data}).load().orderBy(*order).collect()
        assert found == expected
        assert len(found) == 4000
        assert 0 < fetches.hits <= 6  # of each partition the tail alone


def test_a_restart_of_the_broker_between_two_reads(read, broker, new_topic):
    topic = new_topic()
    spark_kit.produce_values(broker.bootstrap, topic, range(5))
    assert read(topic).load().count() == 5
    broker.kill()
    broker.start()
    assert read(topic).load().count() == 5
