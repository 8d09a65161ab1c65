"""Formatting directories, and refusing those that are not this node's: one clear line each."""

import pytest
from test_quorum_config import COMBINED_3_3, COMBINED_4_3, config_of

from odradek.metadata.bootstrap import read_bootstrap
from odradek.metadata.format_options import FormatOptions, plan_of
from odradek.metadata.formatting import ensure_formatted, format_dirs, random_uuid
from odradek.metadata.lost_meta import FIRST_SNAPSHOT
from odradek.metadata.meta_properties import MetaProperties, parse
from odradek.metadata.quorum_config import METADATA_LOG
from odradek.metadata.snapshot_file import read_snapshot, snapshot_bytes
from odradek.metadata.storage import StorageRefused, look, open_storage
from odradek.protocol import releases
from odradek.protocol.messages.metadata_brokers import RegisterBrokerRecord
from odradek.protocol.uuids import format_uuid, parse_uuid
from odradek.sim.crash import KEEP_ALL, LOSE_ALL, MIXED, SimCrash
from odradek.sim.disk import SimDisk
from odradek.sim.rng import SimRng
from odradek.sim.world import World

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
NOW = World(1).node("n").ports.clock


def two_dirs(data, release="4.3", **more):
    return config_of(data, release, **{"log.dirs": "/data/a,/data/b", **more})


STATIC = two_dirs(COMBINED_3_3)
STATIC_3_3 = two_dirs(COMBINED_3_3, "3.3")
DYNAMIC = two_dirs(COMBINED_4_3)


def ensure(disk, config=DYNAMIC, release=releases.RELEASE_4_3, cluster_id=None, seed=1):
    return ensure_formatted(disk, NOW, SimRng(seed), config, release, cluster_id)


def formatted(disk, config, release=releases.RELEASE_4_3, level=30, ignore=False, **options):
    asked = FormatOptions(options.pop("cluster_id", CLUSTER), **options)
    plan = plan_of(config, release, level, asked, SimRng(3).stream("scram"))
    return format_dirs(disk, NOW, SimRng(4), plan, ignore_formatted=ignore)


def meta_of(disk, directory):
    return parse(disk.read(f"{directory}/meta.properties"))


def voters_of(disk, directory="/data/a"):
    return read_snapshot(disk.read(f"{directory}/{METADATA_LOG}/{FIRST_SNAPSHOT}")).voters.voters


# A node that formats itself


def test_fresh_directories_become_the_only_voters():
    disk = SimDisk()
    storage = ensure(disk)
    assert storage.node_id == 1
    assert storage.metadata_dir == "/data/a"
    assert storage.release is releases.RELEASE_4_3
    assert len(set(storage.directory_ids.values())) == 2
    assert len(parse_uuid(storage.cluster_id)) == 16
    (voter,) = voters_of(disk)
    assert voter.voter_directory_id == storage.directory_ids["/data/a"]
    assert not disk.exists(f"/data/b/{METADATA_LOG}")
    assert read_bootstrap(disk, "/data/b").metadata_version == 30


def test_the_same_directories_again_are_left_alone():
    disk = SimDisk()
    first = ensure(disk)
    before = disk.snapshot()
    assert ensure(disk, seed=2) == first
    assert disk.snapshot() == before


def test_another_seed_is_another_cluster():
    assert ensure(SimDisk(), seed=1).cluster_id != ensure(SimDisk(), seed=2).cluster_id


def test_a_fixed_quorum_has_no_voters_in_its_log():
    disk = SimDisk()
    ensure(disk, STATIC)
    assert not disk.exists(f"/data/a/{METADATA_LOG}")


def test_a_3_3_has_no_directory_ids():
    disk = SimDisk()
    storage = ensure(disk, STATIC_3_3, releases.RELEASE_3_3)
    assert storage.directory_ids == {"/data/a": None, "/data/b": None}
    assert storage.release is releases.RELEASE_3_3
    assert read_bootstrap(disk, "/data/a").metadata_version == 7


def test_a_new_directory_joins_the_cluster_of_the_others():
    disk = SimDisk()
    one = ensure(disk, config_of(COMBINED_4_3, **{"log.dirs": "/data/a"}))
    assert ensure(disk).cluster_id == one.cluster_id


def test_a_directory_with_something_else_in_it_is_refused():
    disk = SimDisk()
    disk.mkdir("/data/b/photos")
    with pytest.raises(StorageRefused, match=r"/data/b is not empty and holds nothing of a broker, but photos: give"):
        ensure(disk)
    assert not disk.exists("/data/a")


def with_a_partition(config=DYNAMIC, release=releases.RELEASE_4_3):
    disk = SimDisk()
    made = ensure(disk, config, release)
    for directory in ("/data/a", "/data/b"):
        disk.mkdir(f"{directory}/orders-0")
    return disk, made


def registered(disk, *log_dirs, node=1):
    """A metadata log whose last word on the broker is this, behind one that is older."""
    records = [(RegisterBrokerRecord(broker_id=node, log_dirs=list(ids)), 3) for ids in (LONG_AGO, log_dirs)]
    disk.mkdir(f"/data/a/{METADATA_LOG}")
    disk.write_atomically(f"/data/a/{METADATA_LOG}/00000000000000000000.log", snapshot_bytes(records, 1))


LONG_AGO = (b"z" * 16,)


def test_a_lost_meta_properties_is_told_line_by_line():
    disk, made = with_a_partition()
    lost = "/data/a/meta.properties"
    disk.unlink(lost)
    shown = format_uuid(made.directory_ids["/data/a"])
    lines = f"version=1, node.id=1, cluster.id={made.cluster_id}, directory.id={shown};"
    with pytest.raises(
        StorageRefused, match=f"^/data/a is a broker's, for it holds orders-0, .* write {lost} .*{lines}"
    ):
        ensure(disk)


def test_nobody_but_the_other_dirs_knows_the_cluster():
    disk, _ = with_a_partition()
    disk.unlink("/data/a/meta.properties")
    disk.unlink("/data/b/meta.properties")
    with pytest.raises(
        StorageRefused, match=r"node.id=1, cluster.id=<the id that your clients' tools show, .*=\S{22};"
    ):
        ensure(disk)


def test_a_data_dir_is_the_one_that_the_broker_registered_and_nobody_has():
    disk, made = with_a_partition()
    registered(disk, *made.directory_ids.values())
    disk.unlink("/data/b/meta.properties")
    with pytest.raises(
        StorageRefused, match=f"^/data/b .*, directory.id={format_uuid(made.directory_ids['/data/b'])};"
    ):
        ensure(disk)


def test_a_fixed_quorum_knows_the_ids_from_its_broker():
    disk, made = with_a_partition(STATIC)
    registered(disk, made.directory_ids["/data/a"])
    disk.unlink("/data/a/meta.properties")
    with pytest.raises(StorageRefused, match=f", directory.id={format_uuid(made.directory_ids['/data/a'])};"):
        ensure(disk, STATIC)


def test_a_3_3_has_no_directory_id_to_lose():
    disk, made = with_a_partition(STATIC_3_3, releases.RELEASE_3_3)
    disk.unlink("/data/a/meta.properties")
    with pytest.raises(StorageRefused, match=f"lines version=1, node.id=1, cluster.id={made.cluster_id};"):
        ensure(disk, STATIC_3_3, releases.RELEASE_3_3)


@pytest.mark.parametrize("ignore", [False, True])
def test_a_brokers_dir_is_not_formatted_again(ignore):
    disk, made = with_a_partition()
    disk.unlink("/data/a/meta.properties")
    disk.unlink("/data/b/meta.properties")
    before = disk.snapshot()
    with pytest.raises(StorageRefused, match="formatting would make the dir a stranger to its data"):
        formatted(disk, DYNAMIC, ignore=ignore, is_standalone=True, cluster_id=made.cluster_id)
    assert disk.snapshot() == before


def test_a_damaged_metadata_log_tells_what_comes_before_the_damage():
    disk, made = with_a_partition(STATIC)
    registered(disk, made.directory_ids["/data/a"])
    path = f"/data/a/{METADATA_LOG}/00000000000000000000.log"
    disk.write_atomically(path, disk.read(path) + b"garbage" * 20)
    disk.unlink("/data/a/meta.properties")
    with pytest.raises(StorageRefused, match=f", directory.id={format_uuid(made.directory_ids['/data/a'])};"):
        ensure(disk, STATIC)


def test_a_metadata_log_without_meta_properties_is_refused():
    disk = SimDisk()
    disk.mkdir(f"/data/a/{METADATA_LOG}")
    disk.write_atomically(f"/data/a/{METADATA_LOG}/00000000000000000000.log", b"")
    with pytest.raises(StorageRefused, match=f"it holds {METADATA_LOG}/00000000000000000000.log"):
        ensure(disk)


def test_data_beside_a_lost_metadata_dir_is_not_given_to_an_empty_cluster():
    disk = SimDisk()
    ensure(disk)
    disk.mkdir("/data/b/topic-0")
    config = two_dirs(COMBINED_4_3, **{"metadata.log.dir": "/new"})
    with pytest.raises(StorageRefused, match=r"/data/b holds data of the cluster .*, but /new,"):
        ensure(disk, config)


def test_a_data_dir_whose_disk_fails_is_left_out():
    disk = SimDisk()
    ensure(disk)
    disk.fail("read", times=None, path="/data/b")
    assert list(ensure(disk).directory_ids) == ["/data/a"]
    disk.heal()
    disk.fail("read", times=None, path="/data/a")
    with pytest.raises(StorageRefused, match=r"/data/a.* cannot be read"):
        ensure(disk)


@pytest.mark.parametrize("profile", [KEEP_ALL, LOSE_ALL, MIXED], ids=str)
def test_a_crash_at_any_moment_of_formatting(profile):
    """Afterwards the directories are formatted or can be; what was returned once stays so (a power loss included)."""
    for nth in range(1, 200):
        disk = SimDisk(SimRng(nth).stream("disk"))
        disk.crash_at(nth)
        try:
            done = ensure(disk, seed=nth)
        except SimCrash:
            done = None
        after = disk.crash(profile)
        again = ensure(after, seed=nth + 1000)
        assert done is None or again == done
        assert voters_of(after)[0].voter_directory_id == again.directory_ids["/data/a"]
        if done is not None:
            return
    pytest.fail("formatting never came to its end")


# The tool's options


def test_formatting_by_hand():
    disk = SimDisk()
    done = formatted(disk, DYNAMIC, is_standalone=True)
    assert [tuple(each) for each in done] == [
        ("/data/a", "dynamic metadata voter directory"),
        ("/data/b", "data directory"),
    ]
    assert open_storage(disk, DYNAMIC).cluster_id == CLUSTER


def test_initial_controllers_give_the_directory_id():
    disk = SimDisk()
    directory = "JEXY6aqzQY-32P5TStzaFg"
    others = f"2@b:9093:MvDxzVmcRsaTz33bUuRU6A,1@a:9093:{directory}"
    formatted(disk, DYNAMIC, initial_controllers=others)
    assert meta_of(disk, "/data/a").directory_id == parse_uuid(directory)
    assert meta_of(disk, "/data/b").directory_id != parse_uuid(directory)
    voters = [(v.voter_id, v.endpoints[0].name, v.endpoints[0].host) for v in voters_of(disk)]
    assert voters == [(1, "CONTROLLER", "a"), (2, "CONTROLLER", "b")]


def test_one_that_joins_later_writes_no_voters():
    disk = SimDisk()
    formatted(disk, DYNAMIC, has_no_initial_controllers=True)
    assert not disk.exists(f"/data/a/{METADATA_LOG}")


def test_features_and_credentials_are_in_the_bootstrap():
    disk = SimDisk()
    scram = ["SCRAM-SHA-256=[name=alice,password=x]"]
    formatted(disk, STATIC, features={"transaction.version": 1, "group.version": 0}, add_scram=scram)
    records = [repr(record)[:40] for record, _ in read_bootstrap(disk, "/data/a").records]
    assert [text.partition("(")[0] for text in records] == ["FeatureLevelRecord"] * 4 + ["UserScramCredentialRecord"]


def test_formatting_what_is_formatted():
    disk = SimDisk()
    formatted(disk, STATIC)
    with pytest.raises(StorageRefused, match=r"Log directory /data/a is already formatted. Use --ignore-formatted"):
        formatted(disk, STATIC)
    assert formatted(disk, STATIC, ignore=True) == []
    more = two_dirs(COMBINED_3_3, **{"log.dirs": "/data/a,/data/b,/data/c"})
    assert [each.directory for each in formatted(disk, more, ignore=True)] == ["/data/c"]


@pytest.mark.parametrize(
    ("config", "options", "reason"),
    [
        (DYNAMIC, {}, "you must specify one of the following: --standalone"),
        (STATIC, {"is_standalone": True}, "You cannot specify controller.quorum.voters and format"),
        (STATIC, {"features": {"kraft.version": 1}}, "Cannot set kraft.version to 1 unless"),
        (DYNAMIC, {"is_standalone": True, "features": {"kraft.version": 0}}, "Cannot set kraft.version to 0 if"),
        (STATIC, {"cluster_id": ""}, "A cluster ID is a printable text"),
        (STATIC, {"cluster_id": "a\nb"}, "A cluster ID is a printable text"),
        (STATIC, {"add_scram": ["SCRAM-SHA-256=[name=a,password=b]"], "level": 10}, "SCRAM is only supported in"),
        (STATIC_3_3, {"cluster_id": "bad", "level": 7, "release": releases.RELEASE_3_3}, "be a valid UUID"),
    ],
)
def test_options_that_do_not_go_together(config, options, reason):
    disk = SimDisk()
    with pytest.raises(StorageRefused, match=reason):
        formatted(disk, config, **options)
    assert not disk.exists("/data")


def test_standalone_is_for_controllers():
    roles = {"process.roles": "broker", "listeners": "PLAINTEXT://:9092", "advertised.listeners": None, "node.id": "5"}
    config = config_of(COMBINED_4_3, **{key: value for key, value in roles.items() if value is not None})
    with pytest.raises(StorageRefused, match=r"You can only use --standalone on a controller."):
        formatted(SimDisk(), config, is_standalone=True)


# Directories that are not ours


def spoilt(**meta):
    disk = SimDisk()
    ensure(disk)
    return disk, lambda directory, changed: disk.write_atomically(f"{directory}/meta.properties", changed)


def test_another_cluster():
    disk, write = spoilt()
    write("/data/b", MetaProperties("other", 1, bytes(16)).to_bytes(1))
    own = meta_of(disk, "/data/a").cluster_id
    expected = (
        f"Invalid cluster.id in: /data/b/meta.properties. Expected {own}, but read other. All dirs of a node belong to "
        "one cluster: take /data/b out of log.dirs"
    )
    with pytest.raises(StorageRefused, match=expected):
        open_storage(disk, DYNAMIC)
    told = r"/data/a/meta.properties. Expected wanted, but read .* It is formatted already: start it as it is"
    with pytest.raises(StorageRefused, match=told):
        open_storage(disk, DYNAMIC, cluster_id="wanted")


def test_another_node():
    disk, write = spoilt()
    write("/data/a", meta_of(disk, "/data/a")._replace(node_id=4).to_bytes(1))
    with pytest.raises(
        StorageRefused, match=r"Stored node id 4 doesn't match the configured node id 1 in /data/a/meta"
    ):
        ensure(disk)


def test_a_copied_directory():
    disk, write = spoilt()
    write("/data/b", disk.read("/data/a/meta.properties"))
    with pytest.raises(StorageRefused, match=r"/data/b/meta.properties has the same directory.id as /data/a/meta"):
        open_storage(disk, DYNAMIC)


def test_a_directory_of_zookeeper():
    disk, write = spoilt()
    write("/data/a", MetaProperties("c", 1, version=0).to_bytes(1))
    with pytest.raises(StorageRefused, match=r"a broker on ZooKeeper"):
        open_storage(disk, DYNAMIC)


def test_a_missing_and_an_unreadable_one():
    disk, write = spoilt()
    disk.unlink("/data/b/meta.properties")
    with pytest.raises(StorageRefused, match=r"No `meta.properties` found in /data/b"):
        open_storage(disk, DYNAMIC)
    write("/data/b", b"version=1\nnode.id=x\n")
    with pytest.raises(
        StorageRefused, match=r"/data/b/meta.properties is unreadable: node.id is no number.*: take the file away, "
    ):
        open_storage(disk, DYNAMIC)
    disk.mkdir("/data/b/orders-0")
    with pytest.raises(
        StorageRefused, match=r"; bring it back, or write it again with the lines version=1, node.id=1, "
    ):
        open_storage(disk, DYNAMIC)


def test_a_file_in_the_place_of_a_directory():
    disk = SimDisk()
    disk.mkdir("/data")
    disk.write_atomically("/data/a", b"")
    assert look(disk, ["/data/a"]).problems == ("/data/a is not a directory",)
    with pytest.raises(StorageRefused, match=r"/data/a is not a directory"):
        ensure(disk)


def test_a_full_disk():
    disk = SimDisk()
    disk.set_quota(100)
    with pytest.raises(StorageRefused, match=r"cannot be written"):
        ensure(disk)
    disk.set_quota(None)
    assert ensure(disk).node_id == 1


class Drawn:
    """Chance that has drawn these bytes."""

    def __init__(self, drawn):
        self.drawn = drawn

    def bytes(self, count):
        assert count == len(self.drawn)
        return self.drawn


def test_a_random_id_is_what_was_drawn_but_for_the_bits_that_say_so():
    drawn = bytes.fromhex("f0e1d2c3b4a5968778695a4b3c2d1e0f")
    assert random_uuid(Drawn(drawn)).hex() == "f0e1d2c3b4a54687b8695a4b3c2d1e0f"


def test_random_ids_are_never_options_of_a_command():
    chance = SimRng(7).stream("ids")
    ids = [random_uuid(chance) for _ in range(2000)]
    assert len(set(ids)) == 2000
    assert not any(format_uuid(each).startswith("-") for each in ids)
    assert all(each[6] >> 4 == 4 for each in ids)
