"""A whole broker whose disks fail, fill up, or are slow: what its clients are answered, and what is left."""

from errno import EIO

import pytest
from test_broker_sim import appended, fetch, fetched, make, produce

from broker_kit import SimBroker, SimClient
from odradek.sim.crash import KEEP_ALL
from odradek.sim.world import World

STORAGE_ERROR = 56


def two_dirs(seed=4):
    """A broker with a topic of two partitions, each in a dir of its own and with a record; (broker, client, dirs)."""
    broker = SimBroker(World(seed), properties={"log.dirs": "/a,/b", "metadata.log.dir": "/meta"}).wait_until_ready()
    client = SimClient(broker.world, "client", broker.address)
    make(client, "t", partitions=2, flush_messages="1")
    for partition in (0, 1):
        assert appended(client.ask(produce("t", b"first", partition=partition), 9)) == (0, 0)
    return broker, client, [broker.server.broker.logs.get("t", partition).directory[:2] for partition in (0, 1)]


@pytest.mark.parametrize("kind", ["write", "read", "fsync"])
def test_an_error_of_a_disk_is_answered_and_the_other_dir_goes_on(kind):
    broker, client, dirs = two_dirs()
    broker.node.disk.fail(kind, EIO, path=dirs[0] + "/t-0", times=None)
    broker.node.disk.evict()
    if kind == "read":
        assert fetched(client.ask(fetch("t"), 12)) == (STORAGE_ERROR, [])
    assert appended(client.ask(produce("t", b"lost"), 9))[0] == STORAGE_ERROR
    assert [each.path for each in broker.server.broker.logs.dirs.offline] == [dirs[0]]
    assert appended(client.ask(produce("t", b"second", partition=1), 9)) == (0, 1)
    assert fetched(client.ask(fetch("t", partition=1), 12)) == (0, [b"first", b"second"])
    broker.crash(KEEP_ALL)
    broker.node.disk.heal()
    broker.restart()
    client = SimClient(broker.world, "later", broker.address)
    _, values = fetched(client.ask_until(fetch("t"), 12, lambda response: fetched(response)[0] == 0))
    assert values[:1] == [b"first"] and set(values) <= {b"first", b"lost"}
    assert broker.errors == []


def test_a_full_disk_refuses_and_forgets_nothing():
    """The disk takes the beginning of a batch, then nothing: the tail is cut back, and the dir stays."""
    broker, client, _ = two_dirs()
    disk = broker.node.disk
    used = sum(map(len, disk.snapshot().values()))
    disk.set_quota(used + 300)
    kept = [b"first"]
    refused = 0
    for number in range(12):
        value = b"%02d" % number * 20
        code, _ = appended(client.ask(produce("t", value), 9))
        assert code in (0, STORAGE_ERROR)
        refused += code == STORAGE_ERROR
        kept += [value] if not code else []
    assert refused > 1
    told = [line for line in broker.lines if "no space left in the log dir" in line]
    assert len(told) == 1, "an operator hears of it, and not with every request"
    assert told[0].startswith("ERROR")
    assert broker.server.broker.logs.dirs.offline == []
    assert fetched(client.ask(fetch("t"), 12)) == (0, kept)
    disk.set_quota(None)
    assert appended(client.ask(produce("t", b"last"), 9)) == (0, len(kept))
    broker.crash(KEEP_ALL)
    broker.restart()
    client = SimClient(broker.world, "later", broker.address)
    found = fetched(client.ask_until(fetch("t"), 12, lambda response: fetched(response)[0] == 0))
    assert found == (0, [*kept, b"last"])
    assert broker.errors == []


@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_a_long_recovery_tells_how_far_it_is(release):
    """Whoever looks at a broker that does not answer yet sees that it moves; of a short start there is no such line."""
    broker = SimBroker(World(seed=3), release=release).wait_until_ready()
    client = SimClient(broker.world, "client", broker.address)
    make(client, "orders", partitions=8)
    for partition in range(8):
        client.ask(produce("orders", b"value", partition=partition), 9)
    broker.crash(KEEP_ALL)
    broker.restart()
    assert not [line for line in broker.lines if "Loading logs" in line]
    broker.crash(KEEP_ALL)
    broker.boot()
    broker.node.disk.slow("read", 500_000)
    assert broker.world.run_until(lambda: broker.starting.is_done, 600_000)
    told = [line for line in broker.lines if "Loading logs of dir /data: " in line]
    left = [int(line.split("/data: ")[1].split()[0]) for line in told]
    assert len(told) > 2 and left == sorted(left, reverse=True) and left[-1] < left[0] <= 8
    assert "INFO [LogManager id=1] All logs of dir /data are loaded" in broker.lines
