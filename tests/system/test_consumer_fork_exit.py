"""A consumer in programs that fork, and in programs that end without a word."""

import time

import pytest
from test_client_exit import SOON_SECONDS

from client_programs import runs_well, seconds_to_end
from odradek import AdminClient, KafkaProducer
from odradek.testing import Broker

CONSUMER = """
from odradek import KafkaConsumer
from odradek.client.host.errors import ForkedClientError

def consumer(group, **configs):
    return KafkaConsumer("orders", bootstrap_servers=BOOTSTRAP, group_id=group, auto_offset_reset="earliest", **configs)
"""


@pytest.fixture(scope="module")
def broker():
    with Broker(config={"group.initial.rebalance.delay.ms": 0}) as broker:
        broker.create_topic("orders", partitions=1)
        with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            producer.send_many("orders", [b"%d" % number for number in range(100)]).result(60)
        yield broker


def members(broker, group):
    with AdminClient(bootstrap_servers=broker.bootstrap) as admin:
        return len(admin.describe_groups([group])[group].members)


def test_a_consumer_that_has_a_place_in_a_group_cannot_be_in_two_processes(broker):
    runs_well(
        CONSUMER
        + """
reader = consumer("forked")
assert len(reader.poll(10)) == 100

def work():
    for call in (reader.poll, reader.commit, reader.group_metadata):
        try:
            call()
        except ForkedClientError:
            continue
        raise AssertionError(call)

ended_well(*[in_child(work) for _ in range(4)])
reader.commit()
assert reader.state == "stable", "the parent does not notice"
reader.close()
""",
        broker.bootstrap,
    )


def test_one_that_was_made_and_not_used_begins_in_the_child(broker):
    runs_well(
        CONSUMER
        + """
reader = consumer("made before")

def work():
    assert len(reader.poll(10)) == 100
    reader.close()

ended_well(in_child(work))
""",
        broker.bootstrap,
    )


@pytest.mark.contract("B96")
def test_a_program_that_never_closes_leaves_its_group(broker):
    text = CONSUMER + 'reader = consumer("unclosed"); assert reader.poll(10); print(time.monotonic(), flush=True)'
    done, seconds = seconds_to_end(text, broker.bootstrap)
    assert (done.returncode, done.stderr) == (0, "")
    assert seconds < SOON_SECONDS
    deadline = time.monotonic() + 10
    while members(broker, "unclosed"):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_one_that_was_dropped_is_closed_with_a_warning(broker):
    done, _ = seconds_to_end(
        CONSUMER
        + """
import gc
reader = consumer("dropped")
assert reader.poll(10)
del reader
gc.collect()
deadline = time.monotonic() + 10
while io_threads():
    assert time.monotonic() < deadline
    time.sleep(0.01)
print(time.monotonic(), flush=True)
""",
        broker.bootstrap,
        "-X",
        "dev",
    )
    assert done.returncode == 0 and "ResourceWarning" in done.stderr, done.stderr
    assert members(broker, "dropped") == 0
