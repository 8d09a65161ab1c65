"""Options of format("odradek"): what is taken, what is refused and with which words. No Spark is needed."""

import pickle

import pytest

from odradek import TopicPartition
from odradek.spark import options as checked
from odradek.spark.errors import SparkOptionError
from odradek.spark.source.rules import EARLIEST, LATEST, AtOffsets, AtTime, AtTimes, Before, is_moving

BASE = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}


def batch(**more):
    return checked.source_options({**BASE, **more}, False)


def stream(**more):
    return checked.source_options({**BASE, **more}, True)


def refusal(options, is_streaming=True):
    with pytest.raises(SparkOptionError) as refused:
        checked.source_options(options, is_streaming)
    text = str(refused.value)
    assert "\n" not in text
    return text


def test_defaults_are_those_of_sparks_connector():
    found = stream()
    assert (found.starting, found.ending, found.fails_on_data_loss, found.includes_headers) == (
        LATEST,
        LATEST,
        True,
        False,
    )
    assert (found.max_offsets_per_trigger, found.max_trigger_delay_ms, found.poll_timeout_ms) == (
        None,
        900_000,
        120_000,
    )
    assert (found.fetch_offset_retries, found.fetch_offset_retry_ms, found.client_id) == (3, 1000, "spark-kafka-source")
    assert batch().starting == EARLIEST and batch().client_id == "spark-kafka-relation"
    assert stream().is_read_committed  # where the connector has read_uncommitted
    assert not stream(**{"kafka.isolation.level": "read_uncommitted"}).is_read_committed


def test_names_are_read_without_regard_to_case():
    given = {"KAFKA.BOOTSTRAP.SERVERS": "h:1", "SUBSCRIBE": "a, b,a", "MaxOffsetsPerTrigger": "5"}
    found = checked.source_options(given, True)
    assert found.topics == ("a", "b") and found.max_offsets_per_trigger == 5
    assert found.clients == {"bootstrap.servers": "h:1"}


def test_what_is_read_is_said_in_one_of_three_ways():
    assert "one of them has to say what to read" in refusal({"kafka.bootstrap.servers": "h:1"})
    assert "give only one of them" in refusal({**BASE, "subscribePattern": "o.*"})
    base = {"kafka.bootstrap.servers": "h:1"}
    assert checked.source_options({**base, "assign": '{"a":[0,2]}'}, True).assigned == (("a", 0), ("a", 2))
    assert checked.source_options({**base, "subscribePattern": "ord.*"}, True).topic_pattern == "ord.*"
    assert "host:port" in refusal({"subscribe": "a"})


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("earliest", EARLIEST),
        ("LATEST ", LATEST),
        ("-10m", Before(600_000)),
        ("-90s", Before(90_000)),
        ("-2d", Before(172_800_000)),
        ('{"orders":{"0":23,"1":-2}}', AtOffsets({TopicPartition("orders", 0): 23, TopicPartition("orders", 1): -2})),
    ],
)
def test_where_a_stream_begins(text, rule):
    assert stream(startingOffsets=text).starting == rule


def test_times_go_before_offsets():
    by_time = '{"orders":{"0":5}}'
    assert stream(startingOffsets="earliest", startingTimestamp="7").starting == AtTime(7, False)
    found = stream(startingOffsetsByTimestamp=by_time, startingOffsetsByTimestampStrategy="latest")
    assert found.starting == AtTimes({TopicPartition("orders", 0): 5}, True)
    assert batch(endingTimestamp="9", endingOffsetsByTimestamp=by_time).ending == AtTime(9, True)
    assert batch(endingOffsetsByTimestamp=by_time).ending == AtTimes({TopicPartition("orders", 0): 5}, True)


def test_what_may_change_when_it_is_looked_up_again_is_pinned():
    assert [is_moving(rule) for rule in (EARLIEST, LATEST, Before(5), AtTime(1, True), AtTime(1, False))] == [
        False,
        True,
        True,
        True,
        False,
    ]
    assert is_moving(AtOffsets({TopicPartition("a", 0): -1})) and not is_moving(AtOffsets({TopicPartition("a", 0): 3}))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("startingOffsets", "yesterday", "must be earliest, latest"),
        ("startingOffsets", "-10", "must be earliest, latest"),
        ("startingOffsets", '{"orders":[1]}', "must be earliest, latest"),
        ("startingOffsets", '{"orders":{"0":-3}}', "must be earliest, latest"),
        ("startingTimestamp", "2026-01-01", "single whole number of milliseconds"),
        ("startingOffsetsByTimestamp", '{"orders":{"0":-1}}', "JSON such as"),
        ("startingOffsetsByTimestampStrategy", "guess", "must be error or latest"),
        ("failOnDataLoss", "maybe", "must be true or false"),
        ("maxOffsetsPerTrigger", "0", "whole number above zero"),
        ("minPartitions", "0", "must be positive"),
        ("maxTriggerDelay", "soon", "must be a time such as"),
        ("maxBytesPerTrigger", "lots", "must be a size"),
        ("subscribePattern", "(", "no regular expression"),
        ("assign", "[0]", "must be JSON such as"),
        ("assign", '{"a":["0"]}', "must be JSON such as"),
        ("groupIdPrefix", " ", "must not be empty"),
        ("kafka.bootstrap.servers", "", "host:port"),
        ("kafka.fetch.min.bytes", "many", "fetch.min.bytes"),
    ],
)
def test_a_bad_value_is_one_line_that_names_the_option(name, value, said):
    base = dict(BASE)
    if name in ("subscribePattern", "assign"):
        del base["subscribe"]
    text = refusal({**base, name: value})
    assert said in text and name in text


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("maxOffsetPerTrigger", "did you mean maxOffsetsPerTrigger?"),
        ("fetch.min.bytes", "did you mean kafka.fetch.min.bytes?"),
        ("kafka.fetch.min.byte", "did you mean kafka.fetch.min.bytes?"),
        ("colour", "docs/spark.md"),
    ],
)
def test_an_unknown_name_is_refused_with_a_suggestion(name, hint):
    assert hint in refusal({**BASE, name: "1"})
    if not name.startswith("kafka."):
        with pytest.raises(SparkOptionError, match="there is none of this name"):
            checked.includes_headers({**BASE, name: "1"})


@pytest.mark.parametrize("name", ["sasl.jaas.config", "kafka.sasl.jaas.confg", "kafka.ssl.key.passwort", "passwort"])
def test_the_value_of_an_unknown_name_is_not_told(name):
    assert "hunter2" not in refusal({**BASE, name: "hunter2"})


@pytest.mark.parametrize(
    "name", ["auto.offset.reset", "key.deserializer", "value.deserializer", "enable.auto.commit", "interceptor.classes"]
)
def test_what_the_format_sets_itself_is_refused(name):
    assert "the format sets it itself" in refusal({**BASE, f"kafka.{name}": "x"})


def test_a_batch_neither_begins_at_the_end_nor_has_limits_of_streams_and_a_stream_has_no_end():
    assert "cannot begin at the end" in refusal({**BASE, "startingOffsets": "latest"}, False)
    assert "cannot begin at the end" in refusal({**BASE, "startingOffsets": '{"orders":{"0":-1}}'}, False)
    assert "cannot end at earliest" in refusal({**BASE, "endingOffsets": '{"orders":{"0":-2}}'}, False)
    assert "not for a stream read" in refusal({**BASE, "endingOffsets": "latest"})
    assert "not for a stream read" in refusal({**BASE, "topic": "orders"})
    assert "not for a batch read" in refusal({**BASE, "commitOffsetsToGroup": "g"}, False)
    assert batch(maxOffsetsPerTrigger="5", minOffsetsPerTrigger="2", maxTriggerDelay="5s").topics == ("orders",)


def test_sizes_and_times():
    assert stream(maxBytesPerTrigger="64m").max_bytes_per_trigger == 64 << 20
    assert stream(maxBytesPerTrigger="10 kb").max_bytes_per_trigger == 10 << 10
    assert stream(maxTriggerDelay="90s").max_trigger_delay_ms == 90_000
    assert stream(maxTriggerDelay="250").max_trigger_delay_ms == 250


def test_options_of_the_sink():
    base = {"kafka.bootstrap.servers": "h:1"}
    found = checked.sink_options({**base, "topic": "out", "checkpointLocation": "/c", "kafka.acks": "all"}, True)
    assert (found.topic, found.guarantee, found.is_exactly_once) == ("out", "at-least-once", False)
    assert found.clients == {"bootstrap.servers": "h:1", "acks": "all"}
    exact = {"odradek.sink.guarantee": "exactly-once", "odradek.sink.transactional.id.prefix": "copy"}
    found = checked.sink_options({**base, **exact}, True)
    assert found.is_exactly_once and found.transactional_id_prefix == "copy"
    for name, value in {"subscribe": "a", "kafka.transactional.id": "t", "kafka.key.serializer": "x"}.items():
        with pytest.raises(SparkOptionError, match=name):
            checked.sink_options({**base, name: value}, True)
    with pytest.raises(SparkOptionError, match="at-least-once or exactly-once"):
        checked.sink_options({**base, "odradek.sink.guarantee": "twice"}, False)


def test_options_and_their_errors_travel_to_another_process():
    assert pickle.loads(pickle.dumps(stream(startingOffsets="-10m"))) == stream(startingOffsets="-10m")
    error = SparkOptionError("a", "b", "c")
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == "option a=b: c"


def test_an_admin_client_is_given_what_it_knows():
    found = stream(**{"kafka.security.protocol": "PLAINTEXT", "kafka.fetch.min.bytes": "5"})
    assert found.admin_configs() == {"bootstrap.servers": "localhost:9092", "security.protocol": "PLAINTEXT"}
