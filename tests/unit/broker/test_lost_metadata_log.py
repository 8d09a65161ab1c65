"""A node whose metadata log is gone, though its directories are formatted: nothing is begun in its place."""

from errno import EACCES

import pytest

from broker_kit import SimBroker, SimClient
from odradek.broker.start_refused import StartRefused
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.sim.world import World

LOG = "/data/__cluster_metadata-0"


def without_log(release, *, has_topic):
    """A broker that was stopped, whose metadata log somebody has removed, and its files as they are now."""
    broker = SimBroker(World(seed=5), release=release).wait_until_ready()
    if has_topic:
        client = SimClient(broker.world, "client", broker.address)
        topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        assert client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7).topics[0].error_code == 0
    broker.stop()
    broker.node.crash(silent=False)
    disk = broker.node.disk
    remove(disk, LOG)
    return broker, disk


def remove(disk, directory):
    for name in disk.list(directory):
        disk.unlink(f"{directory}/{name}")
    disk.rmdir(directory)


def refused(broker):
    broker.boot()
    assert broker.world.run_until(lambda: broker.starting.is_done, 60_000)
    with pytest.raises(StartRefused) as caught:
        broker.starting.value()
    return str(caught.value)


@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_a_broker_that_had_one_is_told_what_is_missing(release):
    broker, disk = without_log(release, has_topic=True)
    before = disk.snapshot()
    line = refused(broker)
    assert line.startswith(f"The metadata log {LOG} is missing")
    assert "back from a copy" in line and "voters" not in line
    assert disk.snapshot() == before and not disk.exists(LOG)


def test_what_formatting_has_written_there_is_missed_too():
    broker, disk = without_log("4.3", has_topic=False)
    for name in disk.list("/data"):
        if name not in ("meta.properties", "bootstrap.checkpoint", ".lock"):
            disk.unlink(f"/data/{name}")
    line = refused(broker)
    assert line.startswith(f"The metadata log {LOG} is missing, and with it the voters")
    assert not disk.exists(LOG)


def test_a_3_3_that_was_formatted_and_never_started_has_none_yet():
    broker, disk = without_log("3.3", has_topic=False)
    for name in disk.list("/data"):
        if name not in ("meta.properties", "bootstrap.checkpoint", ".lock"):
            disk.unlink(f"/data/{name}")
    broker.boot()
    broker.wait_until_ready()
    assert disk.exists(LOG)


def test_a_dir_that_cannot_be_listed_is_told_as_that():
    broker, disk = without_log("4.3", has_topic=False)
    disk.fail("list", EACCES, path="/data", times=None)
    assert "The log dirs cannot be read: " in refused(broker)
