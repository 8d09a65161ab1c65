"""Lines of standard input become records, as Kafka's console producer makes them."""

import io

import pytest

from odradek import KafkaConsumer, TopicPartition
from odradek.cli.kafka import console_producer
from odradek.cli.kafka.console_producer import OPTIONS, _configs
from odradek.testing import Broker

SECONDS_MAX = 30


@pytest.fixture(scope="module")
def broker():
    with Broker() as running:
        yield running


@pytest.fixture
def produce(broker, monkeypatch):
    def run(topic, lines, *arguments):
        monkeypatch.setattr("sys.stdin", io.StringIO(lines))
        return console_producer.main(["--bootstrap-server", broker.bootstrap, "--topic", topic, *arguments])

    return run


def read(broker, topic, count):
    found = []
    with KafkaConsumer(bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        while len(found) < count:
            records = consumer.poll(SECONDS_MAX)
            assert records, found
            found += [(record.key, record.value) for record in records]
    return found


@pytest.mark.contract("A154", "A156")
def test_every_line_is_a_record_until_there_is_none(broker, produce):
    broker.create_topic("lines", partitions=1)
    assert produce("lines", "one\ntwo\n\nfour") == 0
    assert read(broker, "lines", 4) == [(None, b"one"), (None, b"two"), (None, b""), (None, b"four")]


@pytest.mark.contract("A154")
def test_the_reader_has_properties(broker, produce):
    broker.create_topic("keys", partitions=1)
    given = ["--reader-property", "parse.key=true", "--reader-property", "key.separator=:"]
    assert produce("keys", "a:1\nb:2\n", *given) == 0
    assert read(broker, "keys", 2) == [(b"a", b"1"), (b"b", b"2")]


@pytest.mark.contract("A157")
@pytest.mark.parametrize("mode", [[], ["--sync"]])
def test_a_record_that_cannot_be_written_is_told_and_the_next_one_sent(broker, produce, capsys, mode):
    topic = f"failing-{len(mode)}"
    broker.create_topic(topic, partitions=1)
    refusals = broker.faults.on("Produce", topic=topic).error("INVALID_RECORD", times=1)
    with refusals:
        assert produce(topic, "one\n", *mode) == 1
    assert "Error when sending message to topic" in capsys.readouterr().err
    assert produce(topic, "two\n", *mode) == 0
    assert read(broker, topic, 1) == [(None, b"two")]


@pytest.mark.contract("A158")
def test_options_are_configs_of_the_producer():
    base = ["--bootstrap-server", "h:1", "--topic", "t"]
    plain = _configs(OPTIONS.parse(base))
    assert (plain["client.id"], plain["acks"], plain["linger.ms"], plain["batch.size"]) == (
        "console-producer",
        "-1",
        "1000",
        "16384",
    )
    given = {
        "--timeout": "7",
        "--request-required-acks": "1",
        "--request-timeout-ms": "8",
        "--message-send-max-retries": "9",
        "--retry-backoff-ms": "10",
        "--socket-buffer-size": "11",
        "--max-memory-bytes": "12",
        "--batch-size": "13",
        "--metadata-expiry-ms": "14",
        "--max-block-ms": "15",
    }
    configs = _configs(OPTIONS.parse([*base, *(word for pair in given.items() for word in pair)]))
    names = ["linger.ms", "acks", "request.timeout.ms", "retries", "retry.backoff.ms", "send.buffer.bytes"]
    names += ["buffer.memory", "batch.size", "metadata.max.age.ms", "max.block.ms"]
    assert [configs[name] for name in names] == list(given.values())
    assert _configs(OPTIONS.parse([*base, "--max-partition-memory-bytes", "99"]))["batch.size"] == "99"
