"""A consumer that subscribes anew, or is given a topic that it has not heard of, reads on soon: nothing waits for the
next metadata, which is five minutes away by default, and nothing that it keeps is held.
"""

import re
import time

import pytest

from odradek import KafkaConsumer, KafkaProducer
from odradek.testing import Broker

SECONDS_MAX = 60
PROTOCOLS = ["classic", "consumer"]
GROUP_CONFIGS = {
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": 200,
    "group.consumer.assignment.interval.ms": 0,
}


@pytest.fixture(scope="module")
def broker():
    with Broker(config=GROUP_CONFIGS) as broker:
        yield broker


@pytest.fixture
def prefix(broker, request):
    """What the names of a test's topics and groups begin with."""
    return re.sub(r"\W", "-", request.node.name)


@pytest.fixture
def send(broker):
    with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        yield lambda topic, value: producer.send(topic, value).result(SECONDS_MAX)


def consumer_of(broker, group, protocol):
    return KafkaConsumer(
        bootstrap_servers=broker.bootstrap, group_id=group, group_protocol=protocol, auto_offset_reset="earliest"
    )


def poll_until(consumer, is_so, values=None):
    """Adds the values that come meanwhile to `values`."""
    deadline = time.monotonic() + SECONDS_MAX
    while not is_so():
        assert time.monotonic() < deadline, (consumer.state, consumer.assignment())
        records = consumer.poll(0.1)
        if values is not None:
            values += [record.value for record in records]


def read(consumer, value):
    """Polls until this record has come."""
    values = []
    poll_until(consumer, lambda: value in values, values)


def topics_of(consumer):
    return {place.topic for place in consumer.assignment()}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_subscribed_to_again_before_it_was_given_up_is_read_on(broker, prefix, send, protocol):
    kept, again = f"{prefix}-kept", f"{prefix}-again"
    for topic in (kept, again):
        broker.create_topic(topic)
    with consumer_of(broker, prefix, protocol) as consumer:
        consumer.subscribe([kept, again])
        poll_until(consumer, lambda: topics_of(consumer) == {kept, again})
        consumer.subscribe([kept])
        consumer.subscribe([kept, again])
        send(again, b"after all")
        read(consumer, b"after all")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_another_pattern_is_looked_up_soon(broker, prefix, send, protocol):
    for topic in (f"{prefix}-one", f"{prefix}-two"):
        broker.create_topic(topic)
    with consumer_of(broker, prefix, protocol) as consumer:
        consumer.subscribe(re.compile(f"{prefix}-one.*"))
        poll_until(consumer, lambda: topics_of(consumer) == {f"{prefix}-one"})
        consumer.subscribe(re.compile(f"{prefix}-two.*"))
        poll_until(consumer, lambda: topics_of(consumer) == {f"{prefix}-two"})


def test_a_topic_that_is_assigned_by_an_id_that_nobody_has_told_is_looked_up_soon(broker, prefix, send):
    """It is made between the metadata that the consumer has and its join: the coordinator knows it, the member not."""
    with consumer_of(broker, prefix, "consumer") as consumer:
        consumer.subscribe(re.compile(f"{prefix}.*"))
        with broker.faults.on("ConsumerGroupHeartbeat").error("COORDINATOR_LOAD_IN_PROGRESS") as fault:
            poll_until(consumer, lambda: fault.hits)
            broker.create_topic(prefix)
            send(prefix, b"first")
        read(consumer, b"first")
