"""A whole broker in one thread under simulated time: its clients, its crashes, and the same story for the same seed."""

import os
import sys
from errno import EIO
from pathlib import Path

import pytest

import outside
from broker_kit import SimBroker, SimClient
from log_kit import batch
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.protocol.messages.k20_delete_topics import DeleteTopicsRequest
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from odradek.protocol.messages.k37_create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.records.batch import batches
from odradek.sim.crash import KEEP_ALL
from odradek.sim.world import World

NOW = 1_700_000_000_000


def create(name, partitions=1, **configs):
    own = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=own)
    return CreateTopicsRequest(topics=[topic])


def produce(topic, *values, partition=0, acks=-1):
    data = PartitionProduceData(index=partition, records=bytes(batch(*values)))
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])


def fetch(topic, offset=0, partition=0, max_wait_ms=0):
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
    return FetchRequest(
        max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=1 << 20, topics=[FetchTopic(topic=topic, partitions=[wanted])]
    )


def fetched(response):
    """(error code, the values)."""
    partition = response.responses[0].partitions[0]
    values = [record.value for each in batches(bytes(partition.records or b"")) for record in each.records()]
    return partition.error_code, values


def appended(response):
    partition = response.responses[0].partition_responses[0]
    return partition.error_code, partition.base_offset


def make(client, name, **more):
    """Makes a topic and waits, as clients do, until its partitions are led."""
    assert client.ask(create(name, **more), 5).topics[0].error_code == 0
    for partition in range(more.get("partitions", 1)):
        client.ask_until(fetch(name, partition=partition), 12, lambda response: fetched(response)[0] == 0)


@pytest.fixture(params=["3.3", "4.3"])
def broker(request):
    return SimBroker(World(seed=3), release=request.param).wait_until_ready()


@pytest.fixture
def client(broker):
    return SimClient(broker.world, "client", broker.address)


def test_new_partitions_can_be_written_to_when_their_creation_is_answered(broker, client):
    assert client.ask(create("t", partitions=20), 5).topics[0].error_code == 0
    for partition in range(20):
        assert appended(client.ask(produce("t", b"one", partition=partition), 9))[0] == 0
    more = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="t", count=40, assignments=None)], timeout_ms=60_000
    )
    assert client.ask(more, 3).results[0].error_code == 0
    for partition in range(20, 40):
        assert appended(client.ask(produce("t", b"one", partition=partition), 9))[0] == 0


def test_a_topic_is_made_written_read_and_deleted(broker, client):
    make(client, "t")
    assert appended(client.ask(produce("t", b"one", b"two"), 9)) == (0, 0)
    assert appended(client.ask(produce("t", b"three"), 9)) == (0, 2)
    assert fetched(client.ask(fetch("t"), 12)) == (0, [b"one", b"two", b"three"])
    assert client.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 5).responses[0].error_code == 0
    assert fetched(client.ask(fetch("t"), 12))[0] == 3
    broker.world.run_for(120_000)
    assert not [name for name in broker.node.disk.list("/data") if name.startswith("t-")], "its files are gone, too"


def test_a_fetch_waits_for_what_comes(broker, client):
    make(client, "t")
    waiting = client.send(fetch("t", max_wait_ms=30_000), 12)
    other = SimClient(broker.world, "other", broker.address)
    broker.world.run_for(1000)
    assert not waiting.is_done
    other.ask(produce("t", b"news"), 9)
    assert fetched(client.wait(waiting, limit_ms=1000)) == (0, [b"news"])


def test_a_clean_stop_and_a_start_keep_everything(broker, client):
    make(client, "t", flush_messages="5")
    client.ask(produce("t", b"kept"), 9)
    broker.stop()
    assert broker.node.disk.exists("/data/.kafka_cleanshutdown")
    broker.restart()
    again = SimClient(broker.world, "again", broker.address)
    assert fetched(again.ask(fetch("t"), 12)) == (0, [b"kept"])
    assert appended(again.ask(produce("t", b"more"), 9)) == (0, 1)


def test_after_a_crash_it_registers_at_once(broker, client):
    make(client, "t", flush_messages="1")
    client.ask(produce("t", b"acknowledged"), 9)
    epoch = broker.server.broker.lifecycle.broker_epoch
    broker.crash()
    crashed_us = broker.world.now_us
    broker.restart()
    assert broker.world.now_us - crashed_us < 1_000_000
    assert broker.server.broker.lifecycle.broker_epoch > epoch
    again = SimClient(broker.world, "again", broker.address)
    assert fetched(again.ask(fetch("t"), 12)) == (0, [b"acknowledged"])


def test_producer_ids_are_never_issued_twice(broker, client):
    seen = []
    for number in range(3):
        one = SimClient(broker.world, f"client {number}", broker.address)
        for _ in range(1 if number else 1200):  # more than a block
            answer = one.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000), 1)
            assert answer.error_code == 0
            seen.append(answer.producer_id)
        broker.crash(KEEP_ALL)
        broker.restart()
    assert len(set(seen)) == len(seen)


@pytest.mark.contract("H37")
def test_a_dynamic_config_goes_all_the_way(broker, client):
    change = AlterableConfig(name="num.io.threads", config_operation=0, value="5")
    for_all = AlterConfigsResource(resource_type=4, resource_name="", configs=[change])
    answer = client.ask(IncrementalAlterConfigsRequest(resources=[for_all]), 1)
    assert answer.responses[0].error_code == 0, answer
    broker.world.run_until(lambda: broker.node.executor.workers == 5, 1000)
    assert broker.node.executor.workers == 5
    broker.restart()
    assert broker.node.executor.workers == 5, "it is in the metadata log"


@pytest.mark.contract("D52", "E46")
def test_a_failing_metadata_dir_ends_it_with_one_line(broker, client):
    make(client, "t")
    broker.node.disk.fail("fsync", EIO, path="__cluster_metadata")
    client.send(create("u"), 5)
    assert broker.world.run_until(lambda: broker.server.stopped.is_done, 30_000)
    assert "metadata log" in broker.fatal
    assert "\n" not in broker.fatal
    assert sum(line.startswith("FATAL") for line in broker.lines) == 1


def test_the_controller_learns_which_dir_holds_what():
    broker = SimBroker(World(seed=6), properties={"log.dirs": "/a,/b"}).wait_until_ready()
    client = SimClient(broker.world, "client", broker.address)
    make(client, "t", partitions=4)
    broker.world.run_for(2000)
    logs, cache = broker.server.broker.logs, broker.server.shared.cache
    of_dirs = broker.server.shared.dirs.directory_ids
    for index, state in cache.topic("t").partitions.items():
        assert state.directories == (of_dirs[logs.get("t", index).directory[:2]],)
    assert len({state.directories for state in cache.topic("t").partitions.values()}) == 2
    assert [image.directories for image in cache.image.cluster.brokers.values()] == [tuple(sorted(of_dirs.values()))]


def test_another_dir_may_fail_and_the_last_one_may_not():
    broker = SimBroker(World(seed=4), properties={"log.dirs": "/a,/b", "metadata.log.dir": "/meta"}).wait_until_ready()
    client = SimClient(broker.world, "client", broker.address)
    make(client, "t", partitions=2, flush_messages="1")
    dirs = {partition: broker.server.broker.logs.get("t", partition).directory[:2] for partition in (0, 1)}
    assert sorted(dirs.values()) == ["/a", "/b"]
    broker.node.disk.fail("fsync", EIO, path=dirs[0] + "/t-0")
    assert appended(client.ask(produce("t", b"lost", partition=0), 9))[0] == 56
    assert appended(client.ask(produce("t", b"kept", partition=1), 9)) == (0, 0)
    assert broker.server.is_ready
    broker.node.disk.fail("fsync", EIO, path=dirs[1] + "/t-1")
    client.send(produce("t", b"lost", partition=1), 9)
    assert broker.world.run_until(lambda: broker.server.stopped.is_done, 30_000)
    assert "all log dirs" in broker.fatal


def test_garbage_closes_the_connection_and_nothing_else(broker, client):
    hostile = SimClient(broker.world, "hostile", broker.address)
    hostile.send_bytes(b"\x00\x12\x7f\xff garbage that is no request")
    assert broker.world.run_until(lambda: hostile.is_closed, 5000)
    assert client.ask(ApiVersionsRequest(), 0).error_code == 0
    assert broker.errors == []


# The same seed


def story(seed):
    """Some of everything, with a crash in the middle; the hash of all that happened."""
    world = World(seed)
    broker = SimBroker(world).wait_until_ready()
    client = SimClient(world, "client", broker.address)
    make(client, "t", partitions=3, flush_messages="1")
    for number in range(10):
        client.ask(produce("t", b"%d" % number, partition=number % 3), 9)
    waiting = client.send(fetch("t", offset=4, max_wait_ms=500), 12)
    world.run_for(100)
    broker.crash()
    assert not waiting.is_done or waiting.response is not None
    broker.restart()
    again = SimClient(world, "again", broker.address)
    again.ask(fetch("t"), 12)
    broker.stop()
    return world.trace.digest()


def test_the_same_seed_is_the_same_story_and_another_one_is_not():
    assert story(11) == story(11)
    assert story(11) != story(12)


@pytest.mark.parametrize("hash_seed", ["0", "1", "4711"])
def test_the_order_of_hashes_does_not_matter(hash_seed):
    code = "import test_broker_sim; print(test_broker_sim.story(13))"
    here = Path(__file__).parent
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{here}:{here.parent / 'kits'}"}
    told = outside.run([sys.executable, "-c", code], env=environment, check=True)
    assert told.stdout.strip() == str(story(13))


def test_coordinators_are_never_told_of_an_older_image_after_a_newer_one(broker, client):
    """The files of a large topic take longer than those of a small one that was made after it. Was the large one told
    last, the small one would be gone for groups until something else changes.
    """
    groups = broker.server.broker.services.groups
    other = SimClient(broker.world, "other", broker.address)
    making = [client.send(create("large", partitions=200), 5)]
    broker.world.run_for(5)
    making.append(other.send(create("small"), 5))
    told = []

    def is_settled():
        told.append(groups.topics.offset)
        return all(each.is_done for each in making) and groups.topics.by_name("small") is not None

    assert broker.world.run_until(is_settled)
    until_us = broker.world.now_us + 300_000  # less than it takes until a no-op brings the next image
    broker.world.run_until(lambda: is_settled() and broker.world.now_us >= until_us)
    assert told == sorted(told)
