"""A broker that misbehaves, on every API that a consumer in a group uses: once the fault is over it goes on, whatever
it was, nothing is left out, and what it has read is committed (trap 9 of the clients).
"""

import itertools
import time

import pytest

from odradek import AdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from odradek.testing import Broker

SECONDS_MAX = 20
RECORDS = 20
GROUP_CONFIGS = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 500,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": 200,
    "group.consumer.assignment.interval.ms": 0,
}
ELSEWHERE = ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"]
CLASSIC = [
    *itertools.product(["FindCoordinator"], ["COORDINATOR_NOT_AVAILABLE", "disconnect", "drop"]),
    *itertools.product(["JoinGroup", "OffsetFetch", "OffsetCommit"], [*ELSEWHERE, "disconnect", "drop"]),
    *itertools.product(["SyncGroup"], ["NOT_COORDINATOR", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "drop"]),
    *itertools.product(["Heartbeat"], ["NOT_COORDINATOR", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "drop"]),
    *itertools.product(["ListOffsets", "Fetch"], ["NOT_LEADER_OR_FOLLOWER", "disconnect", "drop"]),
    *itertools.product(["Metadata"], ["disconnect", "drop"]),
]
NEWER = [
    *itertools.product(["ConsumerGroupHeartbeat"], [*ELSEWHERE, "FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID", "drop"]),
    *itertools.product(["OffsetCommit"], ["STALE_MEMBER_EPOCH", "drop"]),
]


@pytest.fixture(scope="module")
def broker():
    with Broker(config=GROUP_CONFIGS) as broker:
        broker.create_topic("t", partitions=2)
        with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            for partition in range(2):
                producer.send_many("t", [b"%d" % n for n in range(RECORDS)], partition=partition).result(60)
        yield broker


def install(faults, api, what):
    found = faults.on(api)
    if what == "disconnect":
        return found.disconnect(times=2)
    return found.drop_response(times=1, hang_ms=100) if what == "drop" else found.error(what, times=2)


def at_the_end(consumer):
    """What was lost and given again is read again from what was committed."""
    return all(consumer.position(place) == RECORDS for place in consumer.assignment())


@pytest.mark.contract("B104")
@pytest.mark.parametrize(
    ("protocol", "api", "what"), [("classic", *each) for each in CLASSIC] + [("consumer", *each) for each in NEWER]
)
def test_it_goes_on(broker, protocol, api, what):
    group = f"{protocol}-{api}-{what}"
    configs = {"session_timeout_ms": 1000, "heartbeat_interval_ms": 100} if protocol == "classic" else {}
    consumer = KafkaConsumer(
        "t",
        bootstrap_servers=broker.bootstrap,
        group_id=group,
        group_protocol=protocol,
        auto_offset_reset="earliest",
        auto_commit_interval_ms=50,
        retry_backoff_ms=20,
        retry_backoff_max_ms=50,
        fetch_max_wait_ms=50,
        max_poll_records=3,
        **configs,
    )
    with install(broker.faults, api, what) as fault, consumer:
        seen = set()
        deadline = time.monotonic() + SECONDS_MAX
        while len(seen) < 2 * RECORDS or not fault.hits or consumer.state != "stable" or not at_the_end(consumer):
            assert time.monotonic() < deadline, (len(seen), fault.hits, consumer.state, consumer.state.error)
            seen |= {(each.partition, each.offset) for each in consumer.poll(0.1)}
    with AdminClient(bootstrap_servers=broker.bootstrap) as admin:
        committed = admin.list_group_offsets(group)[group]
    assert {place: committed[place].offset for place in committed} == {
        TopicPartition("t", 0): RECORDS,
        TopicPartition("t", 1): RECORDS,
    }
