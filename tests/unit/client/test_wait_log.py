"""What a client says when it has to wait: a program that only polls would never hear of it."""

import logging
import socket
import time

import pytest

from odradek import KafkaConsumer, KafkaProducer, TopicPartition, errors
from odradek.client.wait_log import TELL_AFTER_MS, TELL_AGAIN_MS, WaitLog
from odradek.testing import Broker
from patience import Patience

SECONDS_MAX = 30


@pytest.fixture
def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.fixture(scope="module")
def broker():
    with Broker() as running:
        running.create_topic("t", partitions=4)
        yield running


def until_told(consumer, caplog, text):
    deadline = time.monotonic() + SECONDS_MAX
    while text not in caplog.text:
        assert time.monotonic() < deadline, caplog.text
        assert not consumer.poll(0.2)


class TestLines:
    @pytest.fixture
    def clock(self):
        return [0]

    @pytest.fixture
    def log(self, clock, caplog):
        caplog.set_level(logging.WARNING)
        return WaitLog(lambda: clock[0])

    def test_what_is_over_soon_is_not_told(self, log, clock, caplog):
        log.waits("x", "no x")
        clock[0] = TELL_AFTER_MS - 1
        log.waits("x", "no x")
        log.over("x")
        clock[0] = TELL_AFTER_MS
        log.waits("x", "no x")
        assert caplog.text == ""

    def test_what_lasts_is_told_once_and_again_after_a_minute(self, log, clock, caplog):
        for clock[0] in range(0, TELL_AFTER_MS + TELL_AGAIN_MS, 100):
            log.waits("x", "no x")
        assert caplog.messages == ["no x"]
        clock[0] += 100
        log.waits("x", "no x")
        assert caplog.messages == ["no x", "no x"]

    def test_who_has_waited_before_is_told_at_once(self, log, clock, caplog):
        clock[0] = 10_000
        log.waits("x", "no x", since_ms=0)
        assert caplog.messages == ["no x"]


def test_a_consumer_without_a_broker_says_which_and_why(closed_port, caplog):
    with KafkaConsumer("t", bootstrap_servers=f"127.0.0.1:{closed_port}", group_id="g") as consumer:
        until_told(consumer, caplog, f"127.0.0.1:{closed_port}")
    assert "Connection refused; it is tried again" in caplog.text


def test_a_topic_that_is_not_there_is_told(broker, caplog):
    configs = {"group_id": "g", "allow_auto_create_topics": False}
    with KafkaConsumer("nowhere", bootstrap_servers=broker.bootstrap, **configs) as consumer:
        until_told(consumer, caplog, "topic nowhere is not there; it is waited for")


def test_a_partition_that_is_not_there_is_told(broker, caplog):
    with KafkaConsumer(bootstrap_servers=broker.bootstrap) as consumer:
        consumer.assign([TopicPartition("t", 99)])
        until_told(consumer, caplog, "t has 4 partitions, there is no partition 99; it is waited for")


def test_errors_of_who_waits_for_a_broker_name_the_cause():
    with Broker() as running:
        running.create_topic("t", partitions=1)
        where = running.bootstrap
        consumer = KafkaConsumer("t", bootstrap_servers=where, group_id="g", enable_auto_commit=False)
        producer = KafkaProducer(
            bootstrap_servers=where, buffer_memory=40_000, max_block_ms=500, linger_ms=0, delivery_timeout_ms=40_000
        )
        producer.send("t", b"1").result(SECONDS_MAX)
        in_time = Patience()
        while in_time() and not consumer.assignment():
            consumer.poll(0.1)
        running.kill()
        with pytest.raises(errors.RequestTimedOut, match=f"not committed within 0.5 s: .*{where}"):
            consumer.commit_sync({TopicPartition("t", 0): 1}, timeout=0.5)
        producer.send("t", b"2")
        with pytest.raises(errors.RequestTimedOut, match=f"1 records were not delivered .*{where}"):
            producer.flush(0.5)
        with pytest.raises(errors.RequestTimedOut, match=f"buffer.memory=40000 is full .*{where}"):
            for _ in range(10):
                producer.send("t", bytes(10_000))
        consumer.close(0)
        producer.close(0)
