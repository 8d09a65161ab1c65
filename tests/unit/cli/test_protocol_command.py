"""`odradek protocol` as a user runs it: what it prints, where, and with which exit status."""

import gzip
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from odradek import __version__
from odradek.cli.main import main
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest

DATA = Path(__file__).parents[2] / "golden" / "data"
HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=3, member_id="m")
HEARTBEAT_JSON = {"groupId": "g", "generationId": 3, "memberId": "m", "groupInstanceId": None}
REQUEST = "000c 0000 00000001 0001 63 0001 67 00000003 0001 6d"


@pytest.fixture
def odradek(capsys, monkeypatch):
    """Runs the command: (exit status, standard output, standard error)."""

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            status = main(arguments)
        except SystemExit as stop:  # argparse has spoken already
            status = stop.code
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_version(odradek):
    status, out, err = odradek("--version")
    assert (status, err) == (0, "")
    assert re.fullmatch(rf"odradek {re.escape(__version__)} \((compiled codec and record kernel|pure Python: .+);"
                        r" Python 3\.\d+\.\d+\S*\)\n", out)  # fmt: skip


@pytest.mark.parametrize("arguments", [(), ("protocol",)])
def test_without_a_command_it_helps(arguments, odradek):
    status, out, _ = odradek(*arguments)
    assert status == 0
    assert out.startswith("usage: odradek")


def test_an_unknown_command(odradek):
    status, _, err = odradek("protocoll")
    assert status == 2
    assert "invalid choice" in err


def test_show_lists_the_apis(odradek):
    status, out, _ = odradek("protocol", "show")
    rows = out.splitlines()
    assert status == 0
    assert len(rows) == 94
    assert rows[2].split() == ["1", "Fetch", "0-18", "12+", "broker,", "controller"]


def test_show_prints_the_fields_of_request_and_response(odradek):
    status, out, _ = odradek("protocol", "show", "Heartbeat")
    assert status == 0
    assert out.startswith("HeartbeatRequest: key 12, versions 0-4, flexible from 4\n")
    assert "\nHeartbeatResponse: key 12" in out
    rows = [line.split() for line in out.splitlines()]
    assert ["groupId", "string", '""', *"xxxxx"] in rows
    assert ["groupInstanceId", "string", "null", *"!!!nn"] in rows


def test_show_nests_structs_and_marks_tags(odradek):
    _, out, _ = odradek("protocol", "show", "FetchRequest")
    assert re.search(r"^    replicaDirectoryId +uuid tag 0 +A{22} +(! +|\. +){17}t +t$", out, re.MULTILINE)
    assert re.search(r"^clusterId +string tag 0 +null +.*T$", out, re.MULTILINE)


def test_show_an_internal_message(odradek):
    status, out, _ = odradek("protocol", "show", "OffsetCommitValue")
    assert status == 0
    assert out.startswith("OffsetCommitValue: ")


@pytest.mark.parametrize("action", ["show", "decode", "encode"])
def test_an_unknown_message(action, odradek):
    status, out, err = odradek("protocol", action, "Nope", stdin=b"00" if action == "decode" else b"{}")
    assert (status, out) == (2, "")
    assert err == "odradek: no message is called 'Nope'; `odradek protocol show` lists the APIs\n"


@pytest.mark.parametrize("version", [0, 3, 4])
def test_decode(version, odradek):
    hexadecimal = HEARTBEAT.to_bytes(version).hex(" ").encode() + b"\n"
    status, out, err = odradek("protocol", "decode", "HeartbeatRequest", str(version), stdin=hexadecimal)
    expected = {name: value for name, value in HEARTBEAT_JSON.items() if version >= 3 or name != "groupInstanceId"}
    assert (status, json.loads(out), err) == (0, expected, "")


def test_the_newest_version_is_the_default(odradek):
    _, out, _ = odradek("protocol", "decode", "HeartbeatRequest", stdin=HEARTBEAT.to_bytes(4).hex().encode())
    assert json.loads(out) == HEARTBEAT_JSON


def test_decode_raw_bytes_from_a_file(odradek, tmp_path):
    path = tmp_path / "heartbeat"
    path.write_bytes(HEARTBEAT.to_bytes(4))
    status, out, _ = odradek("protocol", "decode", "HeartbeatRequest", "4", "--binary", "--input", str(path))
    assert (status, json.loads(out)) == (0, HEARTBEAT_JSON)


def test_decode_a_whole_request(odradek):
    status, out, _ = odradek("protocol", "decode", "request", stdin=REQUEST.encode())
    assert status == 0
    assert json.loads(out) == {
        "header": {"requestApiKey": 12, "requestApiVersion": 0, "correlationId": 1, "clientId": "c"},
        "HeartbeatRequest": {"groupId": "g", "generationId": 3, "memberId": "m"},
    }


BAD_DECODE = {
    "bad hex": (("HeartbeatRequest",), b"0g", "the input is not hex; give raw bytes with --binary"),
    "not even text": (("HeartbeatRequest",), b"\xff", "the input is not hex; give raw bytes with --binary"),
    "bad version": (("HeartbeatRequest", "9"), b"00", "HeartbeatRequest has the versions 0-4, not 9"),
    "cut off": (
        ("HeartbeatRequest", "0"),
        b"0001",
        "the input is not such a message: group_id claims 1 bytes, 0 remain at byte 2",
    ),
    "no header": (
        ("request",),
        b"00",
        "the input is not such a message: request_api_key needs 8 bytes, 1 remain at byte 0",
    ),
    "no such API": (("request",), b"7fff0000", "There is no API with key 32767."),
    "no such version": (("request",), b"000c 0063 00000001 0000 00", "HeartbeatRequest has the versions 0-4, not 99"),
    "missing file": (("HeartbeatRequest", "--input", "/no/such/file"), b"", "/no/such/file: No such file or directory"),
}


@pytest.mark.parametrize("story", BAD_DECODE)
def test_bad_decode(story, odradek):
    arguments, stdin, reason = BAD_DECODE[story]
    assert odradek("protocol", "decode", *arguments, stdin=stdin) == (2, "", f"odradek: {reason}\n")


def test_a_version_that_is_no_number(odradek):
    status, _, err = odradek("protocol", "decode", "HeartbeatRequest", "x")
    assert status == 2
    assert "invalid int value: 'x'" in err


def test_encode(odradek):
    stdin = json.dumps(HEARTBEAT_JSON).encode()
    status, out, err = odradek("protocol", "encode", "HeartbeatRequest", "3", stdin=stdin)
    assert (status, out, err) == (0, HEARTBEAT.to_bytes(3).hex() + "\n", "")


def test_encode_raw_bytes(capsysbinary, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(HEARTBEAT_JSON).encode())))
    assert main(["protocol", "encode", "HeartbeatRequest", "3", "--binary"]) == 0
    assert capsysbinary.readouterr().out == HEARTBEAT.to_bytes(3)


BAD_ENCODE = {
    "bad JSON": (b"{", "the input is not JSON: Expecting property name"),
    "not UTF-8": (b'"\xff"', "the input is not JSON: "),
    "a number without end": (b'{"a":' + b"1" * 5000 + b"}", "the input is not JSON: "),
    "nesting without end": (b"[" * 100_000, "the input is not JSON: "),
    "no object": (b"[]", "HeartbeatRequest is [] where an object is expected"),
    "missing field": (b"{}", "HeartbeatRequest lacks 'groupId', which version 3 carries"),
    "wrong type": (
        json.dumps({**HEARTBEAT_JSON, "groupId": 5}).encode(),
        "HeartbeatRequest.groupId is 5 where a string is expected",
    ),
    "out of range": (
        json.dumps({**HEARTBEAT_JSON, "generationId": 2**31}).encode(),
        "HeartbeatRequest.generation_id is 2147483648, which does not fit int32",
    ),
}


@pytest.mark.parametrize("story", BAD_ENCODE)
def test_bad_encode(story, odradek):
    stdin, reason = BAD_ENCODE[story]
    status, out, err = odradek("protocol", "encode", "HeartbeatRequest", "3", stdin=stdin)
    assert (status, out) == (2, "")
    assert err.startswith(f"odradek: {reason}")
    assert err.count("\n") == 1


def vector(**changes):
    made = {
        "name": "HeartbeatRequest",
        "version": 3,
        "variant": "full",
        "hex": HEARTBEAT.to_bytes(3).hex(),
        "json": HEARTBEAT_JSON,
    }
    return {**made, **changes}


@pytest.fixture
def golden(tmp_path):
    def write(*vectors, name="messages-4.3.0.jsonl"):
        path = tmp_path / name
        text = "".join(json.dumps(vector) + "\n" for vector in vectors).encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return str(path)

    return write


@pytest.mark.parametrize("name", ["some.jsonl", "some.jsonl.gz"])
def test_verify(name, odradek, golden):
    path = golden(vector(), vector(), name=name)
    status, out, err = odradek("protocol", "verify", path)
    assert (status, err) == (0, "")
    assert re.fullmatch(
        rf"{re.escape(path)}: 2 vectors, \d+ checks with the pure( and compiled)? codec, 0 excepted, 0 different\n", out
    )


def test_verify_a_golden_file(odradek):
    status, out, _ = odradek("protocol", "verify", str(DATA / "metadata-records-3.3.2.jsonl.gz"))
    assert status == 0
    assert ": 130 vectors, " in out
    assert ", 25 excepted, 0 different" in out


def test_verify_a_flipped_byte(odradek, golden):
    data = bytearray(HEARTBEAT.to_bytes(3))
    data[2] ^= 1
    good, bad = golden(vector(), name="good.jsonl"), golden(vector(hex=data.hex()), name="bad.jsonl")
    status, out, _ = odradek("protocol", "verify", bad, good)
    assert status == 1
    assert "HeartbeatRequest v3 full (pure): the decoded message has another JSON form" in out
    assert f"{good}: 1 vectors" in out


def test_verify_shows_twenty_differences_and_counts_the_rest(odradek, golden):
    status, out, _ = odradek("protocol", "verify", golden(*[vector(name="Nope")] * 25))
    assert status == 1
    assert out.count("no message is called 'Nope'") == 20
    assert out.endswith("  and 5 more\n")


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 99},
        {"version": -1},
        {"json": []},
        {"json": None},
        {"hex": ""},
        {"framed_hex": "00"},
        {"framed_hex": None},
        {"name": "OffsetCommitKey", "hex": "0000 0000 00000000", "version": 0, "framed_hex": "00"},
    ],
)
def test_a_vector_that_is_wrong_in_any_way_is_a_difference(changes, odradek, golden):
    status, out, err = odradek("protocol", "verify", golden(vector(**changes)))
    assert (status, err) == (1, "")
    assert ", 0 different" not in out


@pytest.mark.parametrize(
    "line",
    ["no JSON", "[]", "5", "{}", '{"name": "x"}', json.dumps(vector(hex="0g")), json.dumps(vector(version="3"))],
)
def test_not_a_golden_file(line, odradek, tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_text(f"{json.dumps(vector())}\n{line}\n")
    status, _, err = odradek("protocol", "verify", str(path))
    assert status == 2
    assert err == f"odradek: {path}, line 2: not a golden vector (an object with name, version, hex and json)\n"


def test_a_missing_file(odradek):
    status, _, err = odradek("protocol", "verify", "/no/such/file.jsonl")
    assert (status, err) == (2, "odradek: /no/such/file.jsonl: No such file or directory\n")


@pytest.mark.parametrize("damage", ["cut", "flipped", "not gzip", "a directory"])
def test_a_damaged_file(damage, odradek, golden, tmp_path):
    path = golden(*[vector()] * 50, name="some.jsonl.gz")
    data = bytearray(Path(path).read_bytes())
    if damage == "cut":
        del data[-20:]
    elif damage == "flipped":
        data[len(data) // 2] ^= 0xFF
    else:
        data[:] = b"plain text"
    Path(path).write_bytes(data)
    path = str(tmp_path) if damage == "a directory" else path
    status, _, err = odradek("protocol", "verify", path)
    assert status == 2
    assert err.startswith(f"odradek: {path}")
    assert err.count("\n") == 1


def test_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "odradek.cli.main", "protocol", "decode", "request"],
        input=REQUEST.encode(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["header"]["correlationId"] == 1
