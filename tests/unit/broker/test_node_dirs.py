"""The dirs of a node before it starts: locked first, then judged."""

import pytest

from broker_kit import DEFAULTS, QUORUM
from odradek.broker.formatting import format_fresh_dirs, release_of
from odradek.broker.node_dirs import NodeDirs, dirs_of
from odradek.broker.start_refused import StartRefused
from odradek.config import broker
from odradek.log.manager.log_dir import LookedAt
from odradek.metadata.meta_properties import MetaProperties
from odradek.protocol.releases import RELEASE_3_3, RELEASE_4_3
from odradek.sim.world import World

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAA"


class Machine:
    def __init__(self):
        self.world = World(seed=1)
        self.node = self.world.node("node")
        self.loop = self.node.boot()
        self.disk = self.node.disk

    def run(self, waiting):
        self.world.run_until(lambda: waiting.is_done)
        return waiting.value()

    def look(self, *log_dirs, metadata_dir=None):
        dirs = NodeDirs(log_dirs, metadata_dir or log_dirs[0])
        self.run(self.loop.submit(dirs.look_job(self.disk)))
        return dirs

    def write_meta(self, path, cluster=CLUSTER, node=1, directory=None):
        self.disk.mkdir(path)
        self.disk.write_atomically(f"{path}/meta.properties", MetaProperties(cluster, node, directory).to_bytes(0))


@pytest.fixture
def machine():
    return Machine()


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"log.dirs": "/a, /b/"}, (("/a", "/b"), "/a")),
        ({"log.dir": "/a"}, (("/a",), "/a")),
        ({"log.dirs": "/a", "log.dir": "/b"}, (("/a",), "/a")),
        ({"log.dirs": "/a", "metadata.log.dir": "/m/"}, (("/a",), "/m")),
        ({}, (("/tmp/kafka-logs",), "/tmp/kafka-logs")),
    ],
)
def test_which_dirs_there_are(properties, expected):
    assert dirs_of(properties) == expected


def test_no_dir_at_all():
    with pytest.raises(StartRefused, match=r"log\.dirs"):
        dirs_of({"log.dirs": " , "})


def test_a_fresh_dir_is_made_locked_and_formatted(machine):
    dirs = machine.look("/data/a", "/data/b")
    assert dirs.unformatted == ["/data/a", "/data/b"]
    assert dirs.locked == {"/data/a", "/data/b"}
    assert release_of(dirs) is RELEASE_4_3
    listeners = {"listeners": "PLAINTEXT://:9092,CONTROLLER://:9093", "log.dirs": "/data/a,/data/b"}
    config = broker.TABLE.parse({**DEFAULTS, **QUORUM["4.3"], **listeners}, "4.3")
    machine.run(machine.loop.spawn(format_fresh_dirs(machine.loop, dirs, config, RELEASE_4_3)))
    dirs.verify(1)
    assert len(dirs.cluster_id) == 22
    assert len(set(dirs.directory_ids.values())) == 2
    with pytest.raises(BlockingIOError):
        machine.disk.lock("/data/a/.lock")
    dirs.release()
    machine.disk.lock("/data/a/.lock").release()


def test_a_locked_dir_is_refused(machine):
    machine.look("/data")
    with pytest.raises(StartRefused, match="is in use"):
        machine.look("/data")


def test_an_unformatted_dir_is_refused_unless_somebody_formats_it(machine):
    with pytest.raises(StartRefused, match=r"kafka-storage\.sh"):
        machine.look("/data").verify(1)


def test_a_3_3_has_no_directory_ids(machine):
    machine.write_meta("/data")
    dirs = machine.look("/data")
    dirs.verify(1)
    assert release_of(dirs) is RELEASE_3_3
    assert dirs.directory_ids == {}
    assert dirs.cluster_id == CLUSTER


def test_dirs_of_two_clusters_or_of_another_node(machine):
    machine.write_meta("/a")
    machine.write_meta("/b", cluster="BBBBBBBBBBBBBBBBBBBBBB")
    with pytest.raises(StartRefused, match=r"cluster\.id"):
        machine.look("/a", "/b").verify(1)
    machine.write_meta("/c", node=2)
    with pytest.raises(StartRefused, match="node id 2"):
        machine.look("/c").verify(1)


def test_a_copy_of_a_dir_is_refused(machine):
    for path in ("/a", "/b"):
        machine.write_meta(path, directory=bytes(range(16)))
    with pytest.raises(StartRefused, match="copy"):
        machine.look("/a", "/b").verify(1)


def test_garbage_in_meta_properties(machine):
    machine.disk.mkdir("/data")
    machine.disk.write_atomically("/data/meta.properties", b"version=banana\n")
    with pytest.raises(StartRefused, match=r"meta\.properties"):
        machine.look("/data")


def test_a_failing_disk_is_left_out_but_not_under_the_metadata_log(machine):
    for path in ("/a", "/b"):
        machine.write_meta(path)
    machine.disk.fail("read", path="/b", times=None)
    dirs = machine.look("/a", "/b")
    dirs.verify(1)
    assert dirs.locked == {"/a"}
    assert "/b" in dirs.unusable
    assert isinstance(dirs.looked_at["/b"].failure, OSError)
    dirs.release()
    with pytest.raises(StartRefused, match="metadata log"):
        machine.look("/b", "/a")


def test_the_epoch_of_the_last_clean_stop_counts_if_all_dirs_agree(machine):
    for path, epoch in (("/a", 7), ("/b", 7), ("/c", 8)):
        machine.write_meta(path, directory=path.encode() * 8)
        machine.disk.write_atomically(f"{path}/.kafka_cleanshutdown", b'{"version":0,"brokerEpoch":%d}' % epoch)
    machine.write_meta("/d")
    dirs = machine.look("/a", "/b")
    assert dirs.previous_broker_epoch == 7
    assert dirs.looked_at == {"/a": LookedAt(b"/a" * 8, 7), "/b": LookedAt(b"/b" * 8, 7)}
    dirs.release()
    dirs = machine.look("/a", "/c")
    assert dirs.previous_broker_epoch == -1
    dirs.release()
    assert machine.look("/a", "/d").previous_broker_epoch == -1


def test_a_dir_that_has_lost_its_meta_properties_is_told_what_belongs_there(machine):
    """Before anybody could think of formatting it, and also where nothing is to be formatted."""
    machine.write_meta("/data/a", directory=b"a" * 16)
    machine.disk.mkdir("/data/b/orders-0")
    with pytest.raises(
        StartRefused, match=rf"write /data/b/meta.properties with .*, cluster.id={CLUSTER}, directory.id="
    ):
        machine.look("/data/a", "/data/b")


@pytest.mark.parametrize("broken", ["/data/a", "/data/b"])
def test_a_meta_properties_of_garbage_is_told_what_belongs_there(machine, broken):
    for path in ("/data/a", "/data/b"):
        machine.write_meta(path)
        machine.disk.mkdir(f"{path}/orders-0")
    machine.disk.write_atomically(f"{broken}/meta.properties", b"\x00\x01")
    lines = f"version=1, node.id=1, cluster.id={CLUSTER}$"
    with pytest.raises(StartRefused, match=rf"{broken}/meta.properties is unreadable: version is missing; .*{lines}"):
        machine.look("/data/a", "/data/b")
