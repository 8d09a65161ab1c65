"""`odradek log`: what is printed, what is refused, and the exit status."""

import errno
import json
import os
import struct
import sys

import pytest

import outside
from odradek.cli.main import main
from odradek.reactor.adapters.disk import SystemDisk
from odradek.records.compression import GZIP
from odradek.records.control import end_transaction_marker
from odradek.records.legacy import message_set
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch

NAME = "00000000000000000000.log"


def batch(first, values, **options):
    records = [Record(first + at, f"k{first + at}".encode(), value, 1000 + at) for at, value in enumerate(values)]
    return record_batch(records, BatchFields(partition_leader_epoch=0), **options)


@pytest.fixture
def partition(tmp_path):
    directory = tmp_path / "topic-0"
    directory.mkdir()
    (directory / NAME).write_bytes(batch(0, [b"a", b"b"]) + batch(2, [b"c"], codec=GZIP))
    return directory


def run(capsys, *arguments):
    capsys.readouterr()
    status = main(["log", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_batches_without_records(partition, capsys):
    status, out, _ = run(capsys, "dump", partition / NAME)
    lines = out.splitlines()
    assert status == 0
    assert lines[0] == f"{partition / NAME}: segment, {(partition / NAME).stat().st_size} bytes"
    assert [line.split()[1:4] for line in lines[2:]] == [["0", "1", "2"], ["2", "2", "1"]]
    assert "offset=" not in out


def test_columns_are_aligned(partition, capsys):
    _, out, _ = run(capsys, "dump", partition / NAME)
    titles, *rows = out.splitlines()[1:]
    end = titles.index("timestamp") + len("timestamp")
    assert {row[end - 4 : end + 1] for row in rows} == {"1001 ", "1000 "}


def test_records_are_indented_below_their_batch(partition, capsys):
    _, out, _ = run(capsys, "dump", "--records", partition / NAME)
    assert '      offset=1 CreateTime=1001 key="k1" value="b"' in out.splitlines()


@pytest.mark.parametrize(
    "value, shown",
    [
        (None, "null"),
        (b"", '""'),
        (b'say "hi"\n', '"say \\"hi\\"\\n"'),
        ("é".encode(), '"é"'),
        (b"\xff\x00", "0xff00"),
        (b"\x1b[31mred", '"\\u001b[31mred"'),
        ("\x9b31m".encode(), "0xc29b33316d"),
    ],
)
def test_a_value_never_reaches_the_terminal_as_it_is(partition, capsys, value, shown):
    (partition / NAME).write_bytes(batch(0, [value]))
    _, out, _ = run(capsys, "dump", "--records", partition / NAME)
    assert out.rstrip("\n").endswith(f"value={shown}")
    assert all(char.isprintable() or char == "\n" for char in out)


def test_magic_0_and_1(partition, capsys):
    records = [Record(0, b"k", b"v", 7), Record(1, None, b"w", 8)]
    (partition / NAME).write_bytes(message_set(records, 0) + message_set([Record(2, b"x", b"y", 9)], 1, codec=GZIP))
    status, out, _ = run(capsys, "dump", "--json", partition / NAME)
    batches = json.loads(out)["batches"]
    assert status == 0
    assert [(b["magic"], b["base_offset"], b["compression"], b["timestamp_type"]) for b in batches] == [
        (0, 0, "none", "NoTimestampType"),
        (0, 1, "none", "NoTimestampType"),
        (1, 2, "gzip", "CreateTime"),
    ]
    assert "producer_id" not in batches[0]
    assert [record["value"] for b in batches for record in b["records"]] == ["76", "77", "79"]


def test_a_damaged_batch_ends_its_file_and_the_dump_goes_on(partition, capsys):
    data = bytearray((partition / NAME).read_bytes())
    second = len(batch(0, [b"a", b"b"]))
    data[second + 70] ^= 1
    (partition / NAME).write_bytes(data)
    (partition / "00000000000000000003.log").write_bytes(batch(3, [b"d"]))
    status, out, _ = run(capsys, "dump", partition, "--records")
    assert status == 1
    assert f"  DAMAGED at {second}: " in out
    assert "INVALID" in out
    assert 'value="d"' in out
    status, out, _ = run(capsys, "dump", partition, "--json")
    first, after = map(json.loads, out.splitlines())
    assert status == 1
    assert first["error"]["position"] == second
    assert "crc" in first["error"]["reason"]
    assert [b["valid"] for b in first["batches"]] == [True, False]
    assert "error" not in after


def test_a_cut_off_batch(partition, capsys):
    data = (partition / NAME).read_bytes()
    (partition / NAME).write_bytes(data[:-3])
    status, out, _ = run(capsys, "dump", partition)
    assert status == 1
    assert "the file ends inside a batch" in out


def test_preallocated_zeros_are_no_damage(partition, capsys):
    data = (partition / NAME).read_bytes()
    (partition / NAME).write_bytes(data + bytes(100))
    status, out, _ = run(capsys, "dump", partition)
    assert status == 0
    assert f"100 bytes of zeros from {len(data)} on" in out


def test_markers_show_what_they_end(partition, capsys):
    marker = end_transaction_marker(
        False, 3, 5, producer_id=9, producer_epoch=1, base_offset=0, partition_leader_epoch=0
    )
    (partition / NAME).write_bytes(marker)
    _, out, _ = run(capsys, "dump", partition, "--records")
    assert "offset=0 CreateTime=5 control_type=ABORT coordinator_epoch=3" in out
    assert "transactional,control" in out


def test_headers(partition, capsys):
    record = Record(0, b"k", b"v", 1, [("trace", b"\x00"), ("empty", None)])
    (partition / NAME).write_bytes(record_batch([record]))
    _, out, _ = run(capsys, "dump", partition, "--records")
    assert 'headers={"trace": "\\u0000", "empty": null}' in out


def test_indexes_snapshots_and_text_files(partition, capsys):
    (partition / "00000000000000000005.index").write_bytes(struct.pack(">iiii", 2, 100, 0, 0))
    (partition / "00000000000000000005.timeindex").write_bytes(struct.pack(">qi", 77, 1))
    (partition / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    (partition / "00000000000000000005.snapshot").write_bytes(b"\0\1\0\0\0\0\0\0\0\0")
    status, out, _ = run(capsys, "dump", partition)
    lines = [line.split() for line in out.splitlines()]
    assert ["7", "100"] in lines
    assert ["77", "6"] in lines
    assert "8 bytes of zeros follow, preallocated" in out
    assert "  0 0\n" in out
    assert "DAMAGED at 2: the crc is not that" in out
    assert status == 1


def test_json_of_a_directory_has_segments_only_unless_all_is_asked_for(partition, capsys):
    (partition / "leader-epoch-checkpoint").write_text("0\n0\n")
    _, out, _ = run(capsys, "dump", "--json", partition)
    assert [json.loads(line)["file"] for line in out.splitlines()] == [NAME]
    _, out, _ = run(capsys, "dump", "--json", "--all", partition)
    assert [json.loads(line)["file"] for line in out.splitlines()] == [NAME, "leader-epoch-checkpoint"]
    _, out, _ = run(capsys, "dump", "--json", partition / "leader-epoch-checkpoint")
    assert json.loads(out)["text"] == "0\n0\n"


def test_records_that_are_not_of_the_decoded_kind_say_so(partition, capsys):
    status, out, _ = run(capsys, "dump", partition / NAME, "--decode", "offsets")
    assert status == 0
    assert "record type 27440 is not known here" in out
    _, out, _ = run(capsys, "dump", partition / NAME, "--decode", "offsets", "--json")
    assert "problem" in json.loads(out)["batches"][0]["records"][0]["decoded"]


def test_in_a_directory_only_the_internal_topic_is_decoded(partition, capsys):
    _, out, _ = run(capsys, "dump", partition.parent, "--decode", "offsets", "--records")
    assert "not known here" not in out
    assert 'offset=0 CreateTime=1000 key="k0" value="a"' in out


@pytest.mark.parametrize("action", ["dump", "check"])
def test_a_path_that_is_not_there(tmp_path, capsys, action):
    status, _, err = run(capsys, action, tmp_path / "missing")
    assert status == 2
    assert err.startswith("odradek: ")
    assert "no such" in err


def test_a_file_that_is_none_of_a_log(tmp_path, capsys):
    (tmp_path / "x.txt").write_text("")
    status, _, err = run(capsys, "dump", tmp_path / "x.txt")
    assert status == 2
    assert "its name is not that of a file of a log" in err


def test_check_wants_a_log_dir_and_not_a_partition(partition, capsys):
    status, _, err = run(capsys, "check", partition)
    assert status == 2
    assert "the directory of one partition" in err


def test_a_server_log_in_a_log_dir_makes_it_no_partition(tmp_path, capsys):
    directory = sound_dir(tmp_path)
    (directory / "server.log").write_text("")
    _, out, err = run(capsys, "check", directory)
    assert "sound" in out or "server.log" in out, err
    assert "the directory of one partition" not in err


@pytest.mark.parametrize("command", ["check", "dump"])
def test_a_directory_that_may_not_be_read(partition, capsys, monkeypatch, command):
    def refuse(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr("os.listdir", refuse)  # root may read everything
    status, _, err = run(capsys, command, partition.parent)
    assert (status, err) == (2, f"odradek: {partition.parent}: Permission denied\n")


def test_what_lies_in_a_dir_that_may_not_be_looked_into_is_not_called_missing(partition, capsys, monkeypatch):
    def refuse(disk, path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(SystemDisk, "size", refuse)  # root may read everything
    assert run(capsys, "dump", partition) == (2, "", f"odradek: {partition}: Permission denied\n")


@pytest.mark.parametrize("path", ["missing", "file/below"])
def test_what_is_not_there_is_called_missing(tmp_path, capsys, path):
    (tmp_path / "file").touch()
    status, _, err = run(capsys, "dump", tmp_path / path)
    assert (status, err) == (2, f"odradek: {tmp_path / path}: no such file or directory\n")


@pytest.mark.parametrize("action", ["check", "repair", "dump"])
def test_an_empty_name_is_no_directory(capsys, action):
    status, out, err = run(capsys, action, "")
    assert (status, out) == (2, "") and err.endswith(": it names nothing, it is empty\n")


@pytest.mark.parametrize(
    "action, instead",
    [
        ("check", "give the log dir that it lies in"),
        ("repair", "give the directory of its partition, or the log dir"),
    ],
)
def test_a_file_is_no_directory(partition, capsys, action, instead):
    path = partition / NAME
    assert run(capsys, action, path) == (2, "", f"odradek: {path} is a file: {instead}\n")


@pytest.mark.parametrize("options, missed", [([], "file of a log"), (["--json"], "segment")])
def test_a_directory_with_nothing_to_dump(tmp_path, capsys, options, missed):
    (tmp_path / "notes.txt").write_text("")
    status, out, err = run(capsys, "dump", tmp_path, *options)
    assert (status, out) == (2, "")
    assert err.startswith(f"odradek: {tmp_path}: there is nothing to dump: it has no {missed}")


def test_check_names_the_command_that_mends(tmp_path, capsys):
    directory = sound_dir(tmp_path)
    (directory / "topic-0" / "leader-epoch-checkpoint").write_text("rubbish")
    _, out, _ = run(capsys, "check", directory)
    assert out.endswith(f"; 'odradek log repair {directory} --dry-run' says what of it can be mended\n")


def test_check_prints_findings_and_a_summary(partition, capsys):
    status, out, _ = run(capsys, "check", partition.parent)
    lines = out.splitlines()
    assert status == 1
    assert "error meta       meta.properties: the file is missing: which broker is this?" in lines
    assert lines[-1].startswith(f"{partition.parent}: DAMAGED, not stopped cleanly; ")
    size = (partition / NAME).stat().st_size
    assert f"in 1 partition, 1 segment, 2 batches, 3 records, {size} bytes of log; " in lines[-1]


def test_check_as_json(partition, capsys):
    status, out, _ = run(capsys, "check", partition.parent, "--json")
    *findings, summary = map(json.loads, out.splitlines())
    assert status == 1
    assert summary["errors"] == sum(finding["severity"] == "error" for finding in findings) > 0
    assert summary["batches"] == 2
    assert {"severity", "rule", "file", "position", "message"} == set(findings[0])


def sound_dir(tmp_path):
    directory = tmp_path / "log"
    (directory / "topic-0").mkdir(parents=True)
    (directory / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=x\n")
    files = {NAME: batch(0, [b"a"]), "00000000000000000000.index": b""}
    files["00000000000000000000.timeindex"] = struct.pack(">qi", 1000, 0)
    files["leader-epoch-checkpoint"] = b"0\n1\n0 0\n"
    files["partition.metadata"] = b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    for name, data in files.items():
        (directory / "topic-0" / name).write_bytes(data)
    return directory


def test_check_of_a_sound_directory_ends_with_status_0(tmp_path, capsys):
    status, out, _ = run(capsys, "check", sound_dir(tmp_path))
    assert status == 0, out
    assert "sound, not stopped cleanly; 0 errors" in out
    assert "in 1 partition, 1 segment, 1 batch, 1 record, " in out


def test_a_reader_that_has_seen_enough_ends_the_dump_quietly(partition):
    """`odradek log dump ... | head -1`."""
    (partition / NAME).write_bytes(b"".join(batch(at, [bytes(1000)]) for at in range(3000)))
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "odradek.cli.main", "log", "dump", "--json", str(partition)]
    child = outside.Program(command, stdout=writer, stderr=outside.PIPE)
    os.close(writer)
    os.read(reader, 10)
    os.close(reader)
    _, err = child.communicate(timeout=30)
    assert (child.returncode, err) == (0, b"")


def test_letters_of_any_script_are_shown_as_they_are(tmp_path, capsys):
    (tmp_path / NAME).write_bytes(batch(0, ["żółw".encode(), b"\xff\x00"]))
    _, out, _ = run(capsys, "dump", "--records", tmp_path / NAME)
    assert 'value="żółw"' in out and "value=0xff00" in out
