"""What cannot be written is said in one line, before anything is written where that can be known."""

import pytest

import sink_kit
import spark_kit


@pytest.fixture
def refused(broker):
    """What a write is refused with: the line that our side says."""

    def refused(frame, topic=None, **options):
        with pytest.raises(Exception) as raised:
            sink_kit.write(frame, broker.bootstrap, topic, **options)
        return str(raised.value)

    return refused


@pytest.fixture
def frame(spark):
    return spark.createDataFrame([("a", "k"), ("b", "k")], "value string, key string").coalesce(1)


def test_columns_and_options_are_looked_at_before_anything_is_written(broker, frame, refused, new_topic):
    topic = new_topic()
    assert "SinkColumnError: there is no column value" in refused(frame.selectExpr("key"), topic)
    assert "SinkColumnError: column key is of type int" in refused(frame.selectExpr("value", "1 as key"), topic)
    assert "SinkColumnError: nothing says where to write" in refused(frame)
    assert "odradek.sink.guarantee=twice" in refused(frame, topic, **{"odradek.sink.guarantee": "twice"})
    assert "kafka.transactional.id" in refused(frame, topic, **{"kafka.transactional.id": "mine"})
    assert "option kafka.acks: Invalid value some" in refused(frame, topic, **{"kafka.acks": "some"})
    assert spark_kit.records_of(broker.bootstrap, topic) == []


def test_a_topic_is_only_added_to(broker, frame, refused, new_topic):
    topic = new_topic()
    assert "option mode=overwrite: a topic is only added to: use append" in refused(frame, topic, mode="overwrite")
    assert '"Ignore" mode' in refused(frame, topic, mode="ignore")
    assert '"Append"' in refused(frame, topic, mode="errorifexists"), "Spark's own words: it has it for no such format"
    assert spark_kit.records_of(broker.bootstrap, topic) == []


def test_a_stream_is_refused_as_a_frame_is(spark, broker, new_topic, tmp_path):
    frame = sink_kit.numbered(spark, rows=1).selectExpr("value as key")
    with pytest.raises(Exception, match="SinkColumnError: there is no column value"):
        sink_kit.run_batch(frame, broker.bootstrap, new_topic(), tmp_path)


def test_a_row_without_a_topic(spark, refused):
    frame = spark.createDataFrame([(None, "a")], "topic string, value string")
    assert "SinkError: a row has a null topic" in refused(frame)


def test_a_topic_and_a_partition_that_are_not_there(frame, refused, new_topic):
    topic = new_topic(partitions=2)
    soon = {"kafka.max.block.ms": "1500"}
    assert "SinkError: Topic missing was not known within" in refused(frame, "missing", **soon)
    elsewhere = frame.selectExpr("value", "9 as partition")
    assert f"SinkError: Partition 9 of topic {topic} was not known" in refused(elsewhere, topic, **soon)
    below = frame.selectExpr("value", "-1 as partition")
    assert f"SinkError: topic {topic}: partition -1 is less than 0" in refused(below, topic)


def test_a_header_that_is_null(spark, refused, new_topic):
    frame = spark.createDataFrame([("a", [None])], "value string, headers array<struct<key string, value binary>>")
    assert "a header is null" in refused(frame, new_topic())


@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_a_record_that_is_refused_fails_the_write_with_its_partition(spark, broker, refused, new_topic, guarantee):
    topic = new_topic(partitions=2, max_message_bytes="1000")
    frame = spark.range(4).selectExpr("if(id = 3, repeat('x', 5000), 'small') as value", "1 as partition").coalesce(1)
    said = refused(frame, topic, **{"odradek.sink.guarantee": guarantee})
    assert f"SinkError: topic {topic} partition 1: a record was not written" in said
    if guarantee == "exactly-once":
        assert spark_kit.records_of(broker.bootstrap, topic) == []


def test_no_broker(frame, broker, refused):
    said = refused(frame, "t", **{"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.max.block.ms": "1500"})
    assert "No broker could be asked about topic t" in said
