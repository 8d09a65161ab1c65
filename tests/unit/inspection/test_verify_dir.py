"""`odradek log check`: dirs that Kafka wrote are sound; damage to what surrounds the logs is found, with its place."""

import re
import shutil
import struct

import pytest
from damaged_dirs import FIRST, check, errors_of, only_error, patch, positions

from logdirs import CLEAN, UNCLEAN
from odradek.inspection.findings import ERROR, NOTE
from odradek.inspection.verify_dir import verify_dir
from odradek.reactor.adapters.disk import SystemDisk
from odradek.records import layout
from odradek.records.control import end_transaction_marker


@pytest.mark.parametrize("name", CLEAN)
def test_what_kafka_left_after_a_clean_stop_is_sound(name, originals):
    found, summary = check(originals[name])
    assert summary.errors == 0, found
    assert summary.is_clean
    assert summary.report.batches > 250
    assert {finding.rule for finding in found} <= {"names"}  # a topic that was being deleted


@pytest.mark.parametrize("name", UNCLEAN)
def test_what_kafka_left_after_a_kill_is_sound_with_notes(name, originals):
    found, summary = check(originals[name])
    assert summary.errors == 0, [finding for finding in found if finding.severity == ERROR]
    assert not summary.is_clean
    assert any("zeros were preallocated" in finding.message for finding in found)
    assert any(finding.file == ".kafka_cleanshutdown" for finding in found)


def test_it_changes_nothing(log_dir):
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in log_dir.rglob("*") if path.is_file()}
    check(log_dir)
    after = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in log_dir.rglob("*") if path.is_file()}
    assert after == before


# What to do


def mend_by_repair(log_dir):
    patch(log_dir / "plain-0" / f"{FIRST}.log", 80, b"\xff\xff")


def lose_meta(log_dir):
    (log_dir / "meta.properties").unlink()


def damage_metadata(log_dir):
    (log_dir / "__cluster_metadata-0" / "quorum-state").write_text("{}")


def add_foreign(log_dir):
    (log_dir / "plain-0" / "notes.txt").write_text("")


def lose_index(log_dir):
    (log_dir / "segments-0" / f"{FIRST}.index").unlink()


@pytest.mark.parametrize(
    "damages, told",
    [
        ([mend_by_repair], ["'odradek log repair "]),
        ([lose_meta], ["bring meta.properties back"]),
        ([damage_metadata], ["bring the directory __cluster_metadata-0 back"]),
        ([add_foreign], ["move what does not belong there"]),
        ([lose_index], []),
        ([add_foreign, mend_by_repair], ["'odradek log repair ", "move what does not belong there"]),
    ],
)
def test_the_summary_says_what_helps(log_dir, damages, told):
    for damage in damages:
        damage(log_dir)
    _, summary = check(log_dir)
    assert summary.errors >= len(damages)
    _, *advice = str(summary).partition("bytes of log")[2].split("; ")
    assert len(advice) == len(told) and all(map(str.startswith, advice, told)), advice


# Checkpoints, names, properties


@pytest.mark.parametrize(
    "name, old, new",
    [
        ("recovery-point-offset-checkpoint", "txn 0 63", "txn 0 64"),
        ("replication-offset-checkpoint", "txn 0 63", "txn 0 64"),
        ("log-start-offset-checkpoint", "deleted 0 23", "deleted 0 51"),
        ("cleaner-offset-checkpoint", "compacted 0 189", "compacted 0 201"),
        ("replication-offset-checkpoint", "deleted 0 50", "deleted 0 22"),
        ("recovery-point-offset-checkpoint", "txn 0 63", "gone 0 63"),
        ("recovery-point-offset-checkpoint", "txn 0 63", "txn 7 63"),
    ],
)
def test_a_checkpoint_that_disagrees_with_the_logs(log_dir, name, old, new):
    path = log_dir / name
    line = path.read_text().splitlines().index(old) + 1
    path.write_text(path.read_text().replace(old, new))
    errors = errors_of(log_dir)
    assert ("checkpoint", name, line) in [(error.rule, error.file, error.position) for error in errors]


@pytest.mark.parametrize(
    "text, line", [("0\n1\ntxn 0\n", 3), ("0\n2\ntxn 0 1\ntxn 0 2\n", 4), ("0\n", 2), ("0\n1\n", 2), ("x\n", 1)]
)
def test_a_checkpoint_that_cannot_be_read(log_dir, text, line):
    (log_dir / "replication-offset-checkpoint").write_text(text)
    only_error(log_dir, "checkpoint", "replication-offset-checkpoint", line)


def test_a_missing_checkpoint(log_dir):
    (log_dir / "recovery-point-offset-checkpoint").unlink()
    only_error(log_dir, "checkpoint", "recovery-point-offset-checkpoint", None)


def test_files_and_directories_that_do_not_belong_there(log_dir):
    (log_dir / "notes.txt").write_text("hello")
    (log_dir / "lost+found").mkdir()
    (log_dir / "plain-0" / "12.log").write_bytes(b"")
    errors = errors_of(log_dir)
    assert {(error.rule, error.file) for error in errors} == {
        ("names", "notes.txt"),
        ("names", "lost+found"),
        ("names", "plain-0/12.log"),
    }


@pytest.mark.parametrize("name", [f"{FIRST}.log.deleted", f"{FIRST}.log.cleaned", f"{FIRST}.index.swap"])
def test_files_on_their_way_are_notes(log_dir, name):
    (log_dir / "plain-0" / name).write_bytes(b"whatever")
    found, summary = check(log_dir)
    assert summary.errors == 0
    assert ("names", f"plain-0/{name}", NOTE) in [(f.rule, f.file, f.severity) for f in found]


@pytest.mark.parametrize("mark", ["delete", "stray", "future"])
def test_marked_directories_are_notes(log_dir, mark):
    name = f"plain-0.0123456789abcdef0123456789abcdef-{mark}"
    shutil.copytree(log_dir / "plain-0", log_dir / name)
    found, summary = check(log_dir)
    assert summary.errors == 0, found
    assert (name, f"a directory marked for {mark}") in [(f.file, f.message) for f in found]


def test_a_future_directory_is_checked_like_any_other(log_dir):
    name = "plain-0.0123456789abcdef0123456789abcdef-future"
    shutil.copytree(log_dir / "plain-0", log_dir / name)
    patch(log_dir / name / f"{FIRST}.log", 80, b"\xff\xff")
    only_error(log_dir, "L2", f"{name}/{FIRST}.log", 0)


def test_a_partition_without_a_segment(log_dir):
    shutil.rmtree(log_dir / "empty-1")
    (log_dir / "empty-1").mkdir()
    errors = errors_of(log_dir)
    assert ("names", "empty-1") in [(error.rule, error.file) for error in errors]


def test_one_topic_id_for_two_topics(log_dir):
    shutil.copy(log_dir / "plain-0" / "partition.metadata", log_dir / "gzip-0" / "partition.metadata")
    assert "is that of gzip too" in only_error(log_dir, "topic id", "plain-0/partition.metadata", 2)


def test_two_topic_ids_for_one_topic(log_dir):
    (log_dir / "keyed-2" / "partition.metadata").write_text("version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw")
    assert "other partitions of keyed" in only_error(log_dir, "topic id", "keyed-2/partition.metadata", 2)


@pytest.mark.parametrize("text, line", [("", 1), ("version: 1\ntopic_id: x", 1), ("version: 0\ntopic_id: x\n", 2)])
def test_a_topic_id_that_cannot_be_read(log_dir, text, line):
    (log_dir / "plain-0" / "partition.metadata").write_text(text)
    only_error(log_dir, "topic id", "plain-0/partition.metadata", line)


@pytest.mark.parametrize(
    "text",
    [
        "version=2\nnode.id=1\ncluster.id=x\n",
        "version=1\nnode.id=one\ncluster.id=x\n",
        "version=1\nbroker.id=1\ncluster.id=x\n",
        "version=0\nbroker.id=1\n",
        "version=1\nnode.id=1\ncluster.id=x\ndirectory.id=short\n",
        "version=1\\u00\n",
    ],
)
def test_meta_properties_that_cannot_be(log_dir, text):
    (log_dir / "meta.properties").write_text(text)
    only_error(log_dir, "meta", "meta.properties", None)


def test_missing_meta_properties(log_dir):
    (log_dir / "meta.properties").unlink()
    only_error(log_dir, "meta", "meta.properties", None)


@pytest.mark.parametrize("text", ["rubbish", "[]", '{"version": 9}'])
def test_a_clean_shutdown_marker_that_cannot_be(log_dir, text):
    (log_dir / ".kafka_cleanshutdown").write_text(text)
    only_error(log_dir, "shutdown", ".kafka_cleanshutdown", 1)


# The metadata log


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"leaderId":1,"data_version":0}', '{"leaderId":1,"leaderEpoch":2,"votedId":-1,"data_version":9}'],
)
def test_a_quorum_state_that_cannot_be(log_dir, text):
    (log_dir / "__cluster_metadata-0" / "quorum-state").write_text(text)
    only_error(log_dir, "C2", "__cluster_metadata-0/quorum-state", 1)


def test_a_quorum_state_behind_the_log(log_dir):
    path = log_dir / "__cluster_metadata-0" / "quorum-state"
    path.write_text(path.read_text().replace('"leaderEpoch":2', '"leaderEpoch":1'))
    assert "the log has epoch 2" in only_error(log_dir, "C2", "__cluster_metadata-0/quorum-state", 1)


def test_a_damaged_snapshot_of_the_metadata(log_dir):
    name = "__cluster_metadata-0/00000000000000000128-0000000001.checkpoint"
    patch(log_dir / name, 200, b"\xff\xfe")
    only_error(log_dir, "snapshot", name, 83)


@pytest.mark.parametrize(
    "name", ["bootstrap.checkpoint", "__cluster_metadata-0/00000000000000000128-0000000001.checkpoint"]
)
def test_a_snapshot_without_its_footer(log_dir, name):
    path = log_dir / name
    path.write_bytes(path.read_bytes()[: positions(path)[-1]])
    assert "footer" in only_error(log_dir, "snapshot", name, None)


@pytest.mark.parametrize("version, told", [("1", 1), ("0", 0)])
def test_a_dir_without_the_metadata_log_is_the_second_one_or_has_lost_it(log_dir, version, told):
    """A broker with ZooKeeper has none at all."""
    shutil.rmtree(log_dir / "__cluster_metadata-0")
    broker = "node.id=1" if version == "1" else "broker.id=1"
    (log_dir / "meta.properties").write_text(f"version={version}\n{broker}\ncluster.id=x\n")
    found, _ = check(log_dir)
    notes = [each for each in found if (each.file, each.severity) == ("__cluster_metadata-0", NOTE)]
    assert len(notes) == told and all("bring it back from a copy" in each.message for each in notes)
    assert [each for each in found if each.severity == ERROR] == []


def test_a_dir_that_was_formatted_and_never_started_has_no_metadata_log_yet(log_dir):
    for path in log_dir.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in ("meta.properties", "bootstrap.checkpoint"):
            path.unlink()
    found, summary = check(log_dir)
    assert summary.errors == 0 and "metadata" not in {each.rule for each in found}


# What a crash may leave, and what it may not


def test_a_torn_tail_past_the_recovery_point_is_a_note(unclean_dir):
    path = unclean_dir / "segments-0" / "00000000000000000114.log"
    at = positions(path)[-1]
    path.write_bytes(path.read_bytes()[:-7])
    found, summary = check(unclean_dir)
    assert summary.errors == 0, [f for f in found if f.severity == ERROR]
    (note,) = [f for f in found if f.rule == "L2"]
    assert (note.file, note.position) == ("segments-0/00000000000000000114.log", at)
    assert "recovery ends the log here, at offset 119" in note.message


def test_damage_below_the_recovery_point_is_an_error_after_a_crash_too(unclean_dir):
    path = unclean_dir / "segments-0" / "00000000000000000046.log"
    at = positions(path)[4]
    patch(path, at + layout.HEADER_SIZE, b"\xff\xff\xff")
    errors = errors_of(unclean_dir)
    assert (errors[0].rule, errors[0].file, errors[0].position) == ("L2", "segments-0/00000000000000000046.log", at)


@pytest.mark.parametrize("is_synced", [False, True])
def test_leader_epochs_may_be_behind_the_batches_past_the_recovery_point(unclean_dir, is_synced):
    """Their file is written with the next flush, before the recovery point moves: a broker may run, or be killed."""
    if not is_synced:
        path = unclean_dir / "recovery-point-offset-checkpoint"
        path.write_text(re.sub(r"(?m)^segments 0 \d+$", "segments 0 0", path.read_text()))
    epochs = unclean_dir / "segments-0" / "leader-epoch-checkpoint"
    epochs.write_text("0\n1\n7 0\n")
    found, _ = check(unclean_dir)
    told = [(finding.severity, finding.file) for finding in found if finding.rule == "L3"]
    assert told == [("error" if is_synced else "note", f"segments-0/{FIRST}.log")], found


def test_segments_behind_the_end_of_an_unclean_log_are_notes(unclean_dir):
    path = unclean_dir / "recovery-point-offset-checkpoint"
    path.write_text(path.read_text().replace("segments 0 114", "segments 0 46"))
    patch(unclean_dir / "segments-0" / "00000000000000000046.log", layout.HEADER_SIZE, b"\xff\xff\xff")
    found, summary = check(unclean_dir)
    assert summary.errors == 0, [f for f in found if f.severity == ERROR]
    gone = [f.file for f in found if "recovery deletes this segment" in f.message]
    assert gone == [f"segments-0/{base:020d}.log" for base in (69, 92, 114)]


def test_a_recovery_point_past_the_end_of_an_unclean_log_is_an_error(unclean_dir):
    path = unclean_dir / "recovery-point-offset-checkpoint"
    line = path.read_text().splitlines().index("lz4 0 0") + 1
    path.write_text(path.read_text().replace("lz4 0 0", "lz4 0 41"))
    only_error(unclean_dir, "checkpoint", "recovery-point-offset-checkpoint", line)


def test_a_high_watermark_past_the_end_of_an_unclean_log_is_a_note(unclean_dir):
    path = unclean_dir / "replication-offset-checkpoint"
    path.write_text(path.read_text().replace("gzip 0 40", "gzip 0 45"))
    found, summary = check(unclean_dir)
    assert summary.errors == 0
    assert any(f.file == "replication-offset-checkpoint" and "has 45" in f.message for f in found)


def test_a_stale_index_of_an_unclean_active_segment_is_a_note(unclean_dir):
    path = unclean_dir / "segments-0" / "00000000000000000114.index"
    patch(path, 0, struct.pack(">ii", 3, 77))
    found, summary = check(unclean_dir)
    assert summary.errors == 0
    assert any(f.file == "segments-0/00000000000000000114.index" and "no batch begins" in f.message for f in found)


# What a broker leaves that had nothing to tell


@pytest.fixture
def fresh_dir(log_dir):
    """A dir as an Apache Kafka 4.3 leaves it that was started and stopped: no topic, two empty files."""
    for path in log_dir.iterdir():
        if path.is_dir() and not path.name.startswith("__cluster_metadata"):
            shutil.rmtree(path)
    for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint"):
        (log_dir / name).write_text("0\n0\n")
    for name in ("replication-offset-checkpoint", "cleaner-offset-checkpoint"):
        (log_dir / name).write_bytes(b"")
    return log_dir


def test_a_fresh_dir_that_was_stopped_cleanly_has_no_finding(fresh_dir):
    found, summary = check(fresh_dir)
    assert found == []
    assert summary.is_clean
    (fresh_dir / "cleaner-offset-checkpoint").unlink()  # what a broker leaves that has never cleaned
    assert check(fresh_dir)[0] == []


@pytest.mark.parametrize("name", ["recovery-point-offset-checkpoint", "log-start-offset-checkpoint"])
def test_a_clean_stop_writes_these_in_any_case(fresh_dir, name):
    (fresh_dir / name).write_bytes(b"")
    only_error(fresh_dir, "checkpoint", name, None)


def test_an_empty_file_where_there_are_replicas_is_damage(log_dir):
    (log_dir / "replication-offset-checkpoint").write_bytes(b"")
    only_error(log_dir, "checkpoint", "replication-offset-checkpoint", None)


class ReadOnlyDisk(SystemDisk):
    """Refuses everything that could change a file."""

    def open(self, path, *, create=False, writable=True):
        assert not create and not writable, path
        return super().open(path, writable=False)

    def write_atomically(self, path, data):
        raise AssertionError(path)

    unlink = rename = fsync_dir = write_atomically


def test_a_check_opens_nothing_for_writing(log_dir):
    for _ in verify_dir(ReadOnlyDisk(), str(log_dir), lambda finding: None):
        pass


def test_control_records_are_counted_and_have_their_offsets(tmp_path):
    """Their batches are no different from others: a marker that says another number of offsets is damaged."""
    directory = tmp_path / "topic-0"
    directory.mkdir()
    marker = end_transaction_marker(True, 0, 5, producer_id=7, producer_epoch=0, partition_leader_epoch=0)
    (directory / f"{FIRST}.log").write_bytes(marker)
    _, summary = check(tmp_path)
    assert (summary.report.batches, summary.report.records) == (1, 1)
