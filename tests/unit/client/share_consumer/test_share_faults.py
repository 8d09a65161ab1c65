"""A broker that misbehaves, on every API that a share consumer uses: once the fault is over it goes on, every record is
processed, and each acknowledgement has an outcome that the program is told.
"""

import itertools
import time

import pytest

from odradek import AdminClient, KafkaProducer, ShareConsumer, TopicPartition, errors
from odradek.admin import ConfigChange, ConfigResource
from odradek.testing import Broker

SECONDS_MAX = 60
RECORDS = 10
CONFIGS = {
    "group.share.min.heartbeat.interval.ms": 50,
    "group.share.heartbeat.interval.ms": 100,
    "group.share.assignment.interval.ms": 0,
    "group.share.min.assignment.interval.ms": 0,
    "group.share.min.record.lock.duration.ms": 1000,
}
ELSEWHERE = ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"]
FAULTS = [
    *itertools.product(["FindCoordinator"], ["COORDINATOR_NOT_AVAILABLE", "disconnect"]),
    *itertools.product(
        ["ShareGroupHeartbeat"], [*ELSEWHERE, "FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID", "disconnect", "drop"]
    ),
    *itertools.product(
        ["ShareFetch"],
        [
            "SHARE_SESSION_NOT_FOUND",
            "INVALID_SHARE_SESSION_EPOCH",
            "SHARE_SESSION_LIMIT_REACHED",
            "NOT_LEADER_OR_FOLLOWER",
            "disconnect",
            "drop",
        ],
    ),
    *itertools.product(["ShareAcknowledge"], ["SHARE_SESSION_NOT_FOUND", "disconnect", "drop"]),
    *itertools.product(["Metadata"], ["disconnect", "drop"]),
]


@pytest.fixture(scope="module")
def broker():
    with Broker(config=CONFIGS) as broker:
        broker.create_topic("t", partitions=2)
        with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            for partition in range(2):
                for number in range(RECORDS):  # a batch each
                    producer.send("t", b"%d" % number, partition=partition).result(SECONDS_MAX)
        yield broker


@pytest.fixture
def group(broker, request):
    name = request.node.name
    configs = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": "2000"}
    configs["share.delivery.count.limit"] = "10"
    with AdminClient(bootstrap_servers=broker.bootstrap) as admin:
        changes = [ConfigChange(*each) for each in configs.items()]
        admin.incremental_alter_configs({ConfigResource.group(name): changes})[ConfigResource.group(name)]
    return name


def consumer_of(broker, group, **configs):
    given = {
        "retry_backoff_ms": 20,
        "retry_backoff_max_ms": 50,
        "reconnect_backoff_ms": 20,
        "fetch_max_wait_ms": 50,
        "max_poll_records": 3,
    }
    return ShareConsumer("t", bootstrap_servers=broker.bootstrap, group_id=group, **{**given, **configs})


def install(faults, api, what):
    found = faults.on(api)
    if what == "disconnect":
        return found.disconnect(times=2)
    return found.drop_response(times=1, hang_ms=100) if what == "drop" else found.error(what, times=2)


def first_of(consumer):
    """The one record that the first poll with any returns."""
    deadline = time.monotonic() + SECONDS_MAX
    while not (found := consumer.poll(0.5)):
        assert time.monotonic() < deadline, consumer.state
    (record,) = found
    return record


@pytest.mark.parametrize("mode", ["implicit", "explicit"])
@pytest.mark.parametrize(("api", "what"), FAULTS)
def test_it_goes_on(broker, group, mode, api, what):
    said, told, failed = [], [], []

    def callback(offsets, error):
        keys = [(place.partition, offset) for place, found in offsets.items() for offset in found]
        (told if error is None else failed).extend(keys)

    consumer = consumer_of(
        broker, group, share_acknowledgement_mode=mode, acknowledgement_commit_callback=callback, client_id=group[:200]
    )
    wanted = set(itertools.product(range(2), range(RECORDS)))
    deadline = time.monotonic() + SECONDS_MAX
    with install(broker.faults, api, what) as fault, consumer:
        while not (wanted <= set(told + failed if what == "drop" else told) and fault.hits):  # a lost answer: who knows
            assert time.monotonic() < deadline, (len(told), len(failed), fault.hits, consumer.state)
            for record in consumer.poll(0.2):
                said.append((record.partition, record.offset))
                if mode == "explicit":
                    consumer.acknowledge(record)
            if api == "ShareAcknowledge":
                consumer.commit_async()
    assert sorted(told + failed) == sorted(said), "each has one outcome"


def test_what_was_said_when_the_connection_broke_is_told_and_the_records_come_again(broker, group):
    with consumer_of(broker, group, share_acknowledgement_mode="explicit", max_poll_records=1) as consumer:
        record = first_of(consumer)
        consumer.acknowledge(record)
        with broker.faults.on("ShareAcknowledge").disconnect(times=1):
            outcomes = consumer.commit_sync()
        (error,) = outcomes.values()
        assert isinstance(error, errors.KafkaError)
        again = set()
        deadline = time.monotonic() + SECONDS_MAX
        while (record.partition, record.offset) not in again:
            assert time.monotonic() < deadline
            for each in consumer.poll(0.2):
                consumer.acknowledge(each)
                again.add((each.partition, each.offset))


def test_without_a_callback_a_refusal_is_logged(broker, group, caplog):
    with consumer_of(broker, group, share_acknowledgement_mode="explicit", max_poll_records=1) as consumer:
        record = first_of(consumer)
        consumer.acknowledge(record)
        deadline = time.monotonic() + SECONDS_MAX
        with broker.faults.on("ShareAcknowledge").error("SHARE_SESSION_NOT_FOUND", times=1) as fault:
            consumer.commit_async()
            while not fault.hits or "may be delivered again" not in caplog.text:
                assert time.monotonic() < deadline, caplog.text
                time.sleep(0.02)
    assert f"t-{record.partition}: what was said of 1 records was not taken" in caplog.text


def test_a_close_tells_of_what_could_not_be_said(broker, group):
    told = []
    consumer = consumer_of(broker, group, share_acknowledgement_mode="explicit", max_poll_records=1)
    consumer.set_acknowledgement_commit_callback(lambda offsets, error: told.append((offsets, type(error))))
    record = first_of(consumer)
    consumer.acknowledge(record)
    with broker.faults.on("ShareAcknowledge").delay(SECONDS_MAX * 1000):
        consumer.close(timeout=0.2)
    assert told == [({TopicPartition("t", record.partition): {record.offset}}, errors.RequestTimedOut)]
