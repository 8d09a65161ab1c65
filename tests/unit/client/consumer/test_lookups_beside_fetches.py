"""A fetch of an idle topic is held by its broker: what else the consumer asks of that broker does not wait for it."""

import time

import pytest

from odradek import KafkaConsumer, KafkaProducer, TopicPartition
from odradek.testing import Broker

PLACE = TopicPartition("idle", 0)
SECONDS_MAX = 30
HELD_MS = 4 * SECONDS_MAX * 1000  # so long that whoever waits behind the fetch is late
SENT_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def broker():
    with Broker(config={"log.retention.ms": -1}) as broker:  # the records are years old
        broker.create_topic(PLACE.topic)
        with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            for number in range(3):
                producer.send(PLACE.topic, b"%d" % number, timestamp_ms=SENT_MS + number).result(SECONDS_MAX)
        yield broker


@pytest.fixture
def consumer(broker):
    """One that stands at the end, whose fetch has come to the broker and is held there."""
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap,
        auto_offset_reset="latest",
        fetch_max_wait_ms=HELD_MS,
        request_timeout_ms=2 * HELD_MS,
        default_api_timeout_ms=2 * HELD_MS,
    )
    with consumer, broker.faults.on("Fetch").delay(1) as seen:
        consumer.assign([PLACE])
        deadline = time.monotonic() + SECONDS_MAX
        while not seen.hits:
            assert time.monotonic() < deadline, "nothing was fetched"
            assert not consumer.poll(0.05)
        yield consumer
        assert seen.hits == 1, "the fetch was not held"


@pytest.mark.parametrize(
    ("look_up", "found"),
    [
        (lambda consumer: consumer.end_offsets([PLACE], timeout=SECONDS_MAX)[PLACE], 3),
        (lambda consumer: consumer.beginning_offsets([PLACE], timeout=SECONDS_MAX)[PLACE], 0),
        (lambda consumer: consumer.offsets_for_times({PLACE: SENT_MS + 1}, timeout=SECONDS_MAX)[PLACE].offset, 1),
    ],
    ids=["end", "beginning", "time"],
)
def test_an_offset_is_looked_up_while_a_fetch_is_held(consumer, look_up, found):
    assert look_up(consumer) == found


def test_a_position_is_found_while_a_fetch_is_held(consumer):
    consumer.seek_to_time(SENT_MS + 2, PLACE)
    assert consumer.position(PLACE, timeout=SECONDS_MAX) == 2
