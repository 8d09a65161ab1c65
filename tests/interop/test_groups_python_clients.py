"""Consumer groups of kafka-python and aiokafka on a real broker process: members join, leave, crash and come back."""

import asyncio
import sys
import time

import pytest

import outside
from broker_process import BrokerProcess

kafka = pytest.importorskip("kafka", reason="pip install kafka-python")
aiokafka = pytest.importorskip("aiokafka", reason="pip install aiokafka")

from kafka import KafkaConsumer, KafkaProducer  # noqa: E402 - it may not be there
from kafka.admin import KafkaAdminClient, NewTopic  # noqa: E402

PARTITIONS = 4
RECORDS = 100
PATIENCE_S = 30
POLL_MS = 500  # kafka-python 3.0 loses a SyncGroup's answer that comes after its poll has timed out, and never goes on
OVERRIDES = ("group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=1000")


@pytest.fixture(scope="module", params=["3.3", "4.3"])
def bootstrap(request):
    overrides = [part for override in OVERRIDES for part in ("--override", override)]
    with BrokerProcess("--ephemeral", "--release-version", request.param, *overrides) as broker:
        yield broker.bootstrap
        assert broker.stop() == (0, "")


@pytest.fixture
def topic(bootstrap, request):
    name = request.node.originalname
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(name, num_partitions=PARTITIONS, replication_factor=1)])
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all")
    for number in range(RECORDS):
        producer.send(name, b"%d" % number, partition=number % PARTITIONS)
    producer.flush(timeout=PATIENCE_S)
    producer.close()
    yield name
    admin.close()


def member(bootstrap, topic, **options):
    return KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=f"group of {topic}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=3000,
        heartbeat_interval_ms=200,
        **options,
    )


def poll_until(consumers, is_reached):
    """Lets all of them poll; the values that they have read."""
    deadline_s = time.monotonic() + PATIENCE_S
    values = []
    while not is_reached(values):
        assert time.monotonic() < deadline_s, [sorted(consumer.assignment()) for consumer in consumers]
        for consumer in consumers:
            for records in consumer.poll(timeout_ms=POLL_MS).values():
                values += [record.value for record in records]
    return values


def shares(*consumers):
    return sorted(len(consumer.assignment()) for consumer in consumers)


def owned(*consumers):
    return sorted(partition.partition for consumer in consumers for partition in consumer.assignment())


def test_members_come_and_go(bootstrap, topic):
    first = member(bootstrap, topic)
    values = poll_until([first], lambda values: len(values) == RECORDS)
    assert sorted(map(int, values)) == list(range(RECORDS))
    first.commit()
    second = member(bootstrap, topic)
    poll_until([first, second], lambda _: shares(first, second) == [2, 2])
    assert owned(first, second) == list(range(PARTITIONS))
    second.close()
    poll_until([first], lambda _: shares(first) == [PARTITIONS])
    assert sum(first.committed(partition) for partition in first.assignment()) == RECORDS
    first.close()
    again = member(bootstrap, topic)
    poll_until([again], lambda _: shares(again) == [PARTITIONS])
    assert [again.position(partition) for partition in again.assignment()] == [RECORDS // PARTITIONS] * PARTITIONS
    again.close()


DOOMED = """
import sys
from kafka import KafkaConsumer
consumer = KafkaConsumer(sys.argv[2], bootstrap_servers=sys.argv[1], group_id=f"group of {sys.argv[2]}",
                         session_timeout_ms=3000, heartbeat_interval_ms=200)
while True:
    consumer.poll(timeout_ms=50)
"""


def test_a_member_that_is_killed_is_replaced(bootstrap, topic):
    first = member(bootstrap, topic)
    with outside.Program([sys.executable, "-c", DOOMED, bootstrap, topic]):
        poll_until([first], lambda _: shares(first) == [2])
    poll_until([first], lambda _: shares(first) == [PARTITIONS])
    first.close()


def test_a_static_member_comes_back_to_its_partitions(bootstrap, topic):
    first = member(bootstrap, topic, group_instance_id="one")
    second = member(bootstrap, topic, group_instance_id="two")
    poll_until([first, second], lambda _: shares(first, second) == [2, 2])
    before = owned(first)
    generation = first._coordinator.generation().generation_id
    first.close()
    back = member(bootstrap, topic, group_instance_id="one")
    poll_until([back, second], lambda _: shares(back) == [2])
    assert owned(back) == before
    assert back._coordinator.generation().generation_id == generation, "nobody else noticed"
    back.close()
    second.close()


def test_two_members_of_aiokafka_share_a_topic(bootstrap, topic):
    async def consume():
        options = {
            "bootstrap_servers": bootstrap,
            "group_id": "aio",
            "auto_offset_reset": "earliest",
            "session_timeout_ms": 3000,
            "heartbeat_interval_ms": 200,
        }
        consumers = [aiokafka.AIOKafkaConsumer(topic, **options) for _ in range(2)]
        values = []
        for consumer in consumers:
            await consumer.start()
        deadline_s = time.monotonic() + PATIENCE_S
        while len(set(values)) < RECORDS or shares(*consumers) != [2, 2]:
            assert time.monotonic() < deadline_s, (len(set(values)), shares(*consumers))
            for consumer in consumers:
                for records in (await consumer.getmany(timeout_ms=50)).values():
                    values += [record.value for record in records]
        for consumer in consumers:
            await consumer.stop()
        return values

    values = asyncio.run(consume())
    assert {int(value) for value in values} == set(range(RECORDS))
