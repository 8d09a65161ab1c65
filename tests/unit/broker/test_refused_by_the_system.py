"""What the system refuses whatever the files hold, as those of another user: told as that, and never as damage."""

from errno import EACCES, EIO, EMFILE, ENFILE, EPERM, EROFS

import pytest

from broker_clients import produce_request
from broker_kit import SimBroker, SimClient
from log_kit import batch
from odradek.broker.start_refused import StartRefused
from odradek.log.failure import LogDamaged, dir_failure, file_error, remedy_for
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.sim.world import World

METADATA = "/data/__cluster_metadata-0"
OWNER = "give its files to the user who runs this (chown -R), or run this as their owner"
REPAIR = "odradek log repair"


def stopped(**options):
    """A broker with a record in t-0, stopped cleanly; its disk can be told what to refuse to the next one."""
    broker = SimBroker(World(seed=3), **options).wait_until_ready()
    client = SimClient(broker.world, "client", broker.address)
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    assert client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7).topics[0].error_code == 0
    client.ask(produce_request(("t", 0), bytes(batch(b"one")), -1), 9)
    broker.stop()
    broker.node.crash(silent=False)
    broker.lines.clear()
    return broker


def refused(broker):
    """The line of a start that is refused."""
    broker.boot()
    assert broker.world.run_until(lambda: broker.starting.is_done, 60_000)
    with pytest.raises(StartRefused) as caught:
        broker.starting.value()
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "code", "file", "remedy"),
    [
        ("read", EACCES, "partition.metadata", OWNER),
        ("list", EACCES, "", OWNER),
        ("read", EPERM, "quorum-state", OWNER),
        ("open", EACCES, "00000000000000000000.log", OWNER),
        ("open", EMFILE, "00000000000000000000.log", "more open files (ulimit -n"),
        ("open", ENFILE, "00000000000000000000.log", "more open files (sysctl"),
        ("fsync_dir", EROFS, "", "mount its file system so that it can be written"),
    ],
)
def test_a_metadata_log_that_the_system_keeps_from_us_is_not_damaged(kind, code, file, remedy):
    broker = stopped()
    path = f"{METADATA}/{file}" if file else METADATA
    broker.node.disk.fail(kind, code, path=path, times=None)
    line = refused(broker)
    assert path in line and remedy in line
    assert "Nothing is damaged" in line and "from a copy" not in line


def test_a_disk_that_fails_under_the_metadata_log_is_told_as_before():
    broker = stopped()
    broker.node.disk.fail("read", EIO, path=METADATA, times=None)
    line = refused(broker)
    assert "bring its directory back from a copy" in line and "Nothing is damaged" not in line


def test_a_segment_of_somebody_else_is_set_aside_and_not_called_damaged():
    broker = stopped()
    broker.node.disk.fail("open", EACCES, path="/data/t-0/00000000000000000000.log", times=None)
    broker.boot()
    broker.wait_until_ready()
    (line,) = [line for line in broker.lines if "partition t-0 is set aside" in line]
    assert "/data/t-0/00000000000000000000.log" in line
    assert line.endswith(f"{OWNER}: nothing of it is damaged") and REPAIR not in line


def test_damage_still_names_the_command_that_mends_it():
    broker = stopped()
    broker.node.disk.damage("/data/t-0/leader-epoch-checkpoint", 0, b"x")
    broker.boot()
    broker.wait_until_ready()
    (line,) = [line for line in broker.lines if "partition t-0 is set aside" in line]
    assert f"'{REPAIR} /data --partition t-0 --dry-run' says what can be saved" in line


@pytest.mark.parametrize("file", ["/data/t-0/partition.metadata", "/data/replication-offset-checkpoint"])
def test_a_dir_that_fails_for_it_names_the_file_and_what_to_do(file):
    broker = stopped()
    broker.node.disk.fail("read", EACCES, path=file, times=None)
    broker.boot()
    assert broker.world.run_until(lambda: broker.server.stopped.is_done, 60_000)
    assert broker.fatal.startswith("The log dir /data with the metadata log has failed: ")
    assert file in broker.fatal and broker.fatal.endswith(OWNER)
    assert any("Stopping serving logs in dir /data: " in told and told.endswith(OWNER) for told in broker.lines)


@pytest.mark.parametrize("where", ["/data", "/other"])
def test_a_dir_that_may_not_be_locked(where):
    broker = stopped(properties={"log.dirs": "/data,/other"})
    broker.node.disk.fail("open", EACCES, path=f"{where}/.lock", times=None)
    if where == "/data":
        assert f"({where}/.lock); {OWNER}; or set another --data, or log.dirs" in refused(broker)
    else:
        broker.boot()
        broker.wait_until_ready()
        assert any("The log dir /other cannot be used: " in told and told.endswith(OWNER) for told in broker.lines)


def test_what_is_behind_a_failure_is_known_before_it_is_raised():
    error = OSError(EACCES, "Permission denied", "/data/t-0/x")
    assert remedy_for(dir_failure(error, "opening", "/data")) == OWNER
    damage = file_error(error, "loading", "/data/t-0")
    assert isinstance(damage, LogDamaged) and damage.path == "/data/t-0/x" and remedy_for(damage) == OWNER
    assert remedy_for(LogDamaged("a batch is cut off", "/data/t-0/x")) is None
