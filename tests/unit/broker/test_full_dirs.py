"""A disk without space: an operator hears of it, and of its end, whether or not anybody writes meanwhile."""

from errno import ENOSPC

import pytest

from broker_clients import produce_request
from broker_kit import SimBroker, SimClient
from log_kit import batch
from odradek.broker.full_dirs import LOOK_EVERY_MS, TOLD_EVERY_MS
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.sim.world import World

FULL = "There is no space left in the log dir /data: writes are refused until there is some again"
SPACE = "There is space again in the log dir /data: writes are taken"
STORAGE_ERROR = 56


@pytest.fixture
def broker():
    made = SimBroker(World(seed=6)).wait_until_ready()
    made.client = SimClient(made.world, "client", made.address)
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    assert made.client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7).topics[0].error_code == 0
    return made


def write(broker):
    answer = broker.client.ask(produce_request(("t", 0), bytes(batch(b"one")), -1), 9)
    return answer.responses[0].partition_responses[0].error_code


def fill(broker):
    disk = broker.node.disk
    disk.set_quota(sum(map(len, disk.snapshot().values())))
    assert write(broker) == STORAGE_ERROR


def told(broker):
    """What was said of space, in order."""
    return [line for known in broker.lines for line in (FULL, SPACE) if known.endswith(line)]


@pytest.mark.parametrize("idle_ms", [0, 120_000])
def test_space_is_told_of_when_there_is_some_again_though_nobody_writes(broker, idle_ms):
    """Also if nothing is left to be written: the checkpoints say all that there is to say."""
    broker.world.run_for(idle_ms)
    fill(broker)
    broker.world.run_for(3 * LOOK_EVERY_MS)
    assert told(broker) == [FULL]
    broker.node.disk.set_quota(None)
    broker.world.run_for(2 * LOOK_EVERY_MS)
    assert told(broker) == [FULL, SPACE]
    assert f"INFO [BrokerServer id=1] {SPACE}" in broker.lines
    broker.world.run_for(10 * LOOK_EVERY_MS)
    assert told(broker) == [FULL, SPACE], "once"
    fill(broker)
    assert told(broker) == [FULL, SPACE, FULL], "it is news again"


def test_as_long_as_writes_are_refused_there_is_no_space(broker):
    """What is small may find room where a batch does not."""
    fill(broker)
    broker.node.disk.set_quota(None)
    broker.node.disk.fail("write", ENOSPC, path="/data/t-0", times=None)
    for _ in range(30):
        assert write(broker) == STORAGE_ERROR
        broker.world.run_for(LOOK_EVERY_MS // 10)
    assert SPACE not in told(broker)
    broker.node.disk.heal()
    assert write(broker) == 0
    broker.world.run_for(3 * LOOK_EVERY_MS)
    assert told(broker)[-1] == SPACE


def test_as_long_as_writes_are_refused_it_is_told_again_and_not_for_each(broker):
    fill(broker)
    for _ in range(25):
        broker.world.run_for(TOLD_EVERY_MS // 10)
        assert write(broker) == STORAGE_ERROR
    assert told(broker) == [FULL, FULL, FULL], "at the first, and two times as long after it"


def test_after_a_stop_nothing_is_written_any_more(broker):
    fill(broker)
    broker.node.disk.set_quota(None)
    broker.stop()
    operations = broker.node.disk.operations
    broker.world.run_for(3 * LOOK_EVERY_MS)
    assert broker.node.disk.operations == operations
    assert broker.errors == []
