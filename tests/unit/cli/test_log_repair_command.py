"""`odradek log repair` and `log check`: what is not theirs to mend, and what is no log dir."""

import json
from errno import EACCES, EROFS

import pytest
from test_log_command import NAME, batch, run

from odradek.log.checkpoint import format_offsets
from odradek.reactor.adapters.disk import SystemDisk

METADATA = "__cluster_metadata-0"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"


@pytest.fixture
def log_dir(tmp_path):
    """With a metadata log of three batches that has promised them, and one partition."""
    for name in (METADATA, "topic-0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / NAME).write_bytes(batch(0, [b"a"]) + batch(1, [b"b"]) + batch(2, [b"c"]))
    (tmp_path / METADATA / RECOVERY_POINTS).write_bytes(format_offsets({("__cluster_metadata", 0): 3}))
    (tmp_path / RECOVERY_POINTS).write_bytes(format_offsets({("topic", 0): 3}))
    return tmp_path


def flip(path):
    """A bit of the second batch; returns where that begins."""
    data = bytearray(path.read_bytes())
    at = len(data) // 3
    data[at + 63] ^= 1
    path.write_bytes(data)
    return at


def test_a_sound_metadata_log_is_not_mentioned(log_dir, capsys):
    assert run(capsys, "repair", log_dir) == (
        0,
        f"{log_dir}: nothing is damaged in its partitions; 'odradek log check' looks at all files\n",
        "",
    )


@pytest.mark.parametrize("options", [[], ["--dry-run"], ["--partition", METADATA]])
def test_a_damaged_metadata_log_is_told_and_not_mended(log_dir, capsys, options):
    path = log_dir / METADATA / NAME
    at = flip(path)
    before = path.read_bytes()
    status, out, _ = run(capsys, "repair", log_dir, *options)
    assert status == 1 and "nothing is damaged" not in out
    assert f"damaged   {NAME}, byte {at}: " in out and "not mended: it is the metadata log" in out
    assert path.read_bytes() == before


def test_a_damaged_metadata_log_as_json(log_dir, capsys):
    at = flip(log_dir / METADATA / NAME)
    status, out, _ = run(capsys, "repair", log_dir, "--json")
    found = json.loads(out)
    assert (status, found["partition"], found["is_mended"], found["damages"][0]["position"]) == (1, METADATA, False, at)


def test_the_partitions_are_mended_all_the_same(log_dir, capsys):
    flip(log_dir / METADATA / NAME)
    flip(log_dir / "topic-0" / NAME)
    status, out, _ = run(capsys, "repair", log_dir)
    assert status == 1 and "  mended; the log ends at offset 3" in out


def test_copies_may_be_deleted(log_dir, capsys):
    flip(log_dir / "topic-0" / NAME)
    status, out, _ = run(capsys, "repair", log_dir)
    assert status == 0 and "kept " in out and "may be deleted when it is no longer needed" in out
    _, out, _ = run(capsys, "check", log_dir)
    assert f"topic-0/{NAME}.1.damaged: kept by log repair; may be deleted" in out


def test_a_partition_whose_directory_is_gone(log_dir, capsys):
    (log_dir / RECOVERY_POINTS).write_bytes(format_offsets({("topic", 0): 3, ("lost", 0): 7}))
    status, out, _ = run(capsys, "repair", log_dir, "--dry-run")
    assert status == 1 and "the directory is gone" in out and "lost      offsets 0 to 6" in out
    assert run(capsys, "repair", log_dir)[0] == 0
    assert (
        run(capsys, "repair", log_dir)[1]
        == f"{log_dir}: nothing is damaged in its partitions; 'odradek log check' looks at all files\n"
    )


@pytest.mark.parametrize("action", ["check", "repair"])
def test_a_directory_that_is_no_log_dir(tmp_path, capsys, action):
    (tmp_path / "notes.txt").write_text("")
    status, out, err = run(capsys, action, tmp_path)
    assert (status, out) == (2, "") and "is no log dir: it has no meta.properties" in err
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"], "no lock was left"


def test_the_letters_are_explained(capsys):
    _, out, _ = run(capsys, "check", "--help")
    assert "the letters are the invariants of" in " ".join(out.split())


def test_a_dir_of_somebody_else_is_told_in_a_line(log_dir, capsys, monkeypatch):
    def refuse(disk, path):
        raise PermissionError(EACCES, "Permission denied", path)

    monkeypatch.setattr(SystemDisk, "list", refuse)  # a test that runs as root may look into every dir
    assert run(capsys, "repair", log_dir) == (1, "", f"odradek: {log_dir}: Permission denied\n")


def test_a_dry_run_writes_nothing(log_dir, capsys):
    before = sorted(log_dir.rglob("*"))
    assert run(capsys, "repair", log_dir, "--dry-run")[0] == 0
    assert sorted(log_dir.rglob("*")) == before


def test_a_dry_run_looks_at_a_dir_that_cannot_be_written(log_dir, capsys, monkeypatch):
    (log_dir / ".lock").touch()

    def refuse(disk, path):
        raise OSError(EROFS, "Read-only file system", path)

    monkeypatch.setattr(SystemDisk, "lock", refuse)
    assert run(capsys, "repair", log_dir, "--dry-run")[0] == 0
    assert run(capsys, "repair", log_dir) == (1, "", f"odradek: {log_dir}/.lock: Read-only file system\n")


def test_a_dry_run_keeps_off_a_dir_in_use(log_dir, capsys):
    lock = SystemDisk().lock(f"{log_dir}/.lock")
    status, _, err = run(capsys, "repair", log_dir, "--dry-run")
    lock.release()
    assert status == 1 and "is in use: stop the broker first" in err


@pytest.mark.parametrize("action", ["repair", "check"])
def test_a_dir_that_only_looks_like_one_with_partitions_is_no_log_dir(tmp_path, capsys, action):
    (tmp_path / "python-3").mkdir()
    (tmp_path / "python-3" / "notes.txt").touch()
    (tmp_path / "file-1").touch()
    expected = f"{tmp_path} is no log dir: it has no meta.properties, no checkpoint and no partition with a log in it"
    assert run(capsys, action, tmp_path) == (2, "", f"odradek: {expected}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file-1", "python-3"]
