"""`odradek protocol` as a user runs it: what it prints, where, and with which exit status."""

import gzip
import io
import json
import re
import sys
from pathlib import Path

import pytest

import outside
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
        status = main(arguments)
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
    assert "there is no 'protocoll' (did you mean protocol?)" in err


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
    "bad version": (("HeartbeatRequest", "9"), b"00", "HeartbeatRequest has versions 0-4, not 9"),
    "cut off": (
        ("HeartbeatRequest", "0"),
        b"0001",
        "the input is not such a message: group_id claims 1 byte, 0 bytes remain at byte 2",
    ),
    "no header": (
        ("request",),
        b"00",
        "the input is not such a message: request_api_key needs 8 bytes, 1 byte remains at byte 0",
    ),
    "no such API": (("request",), b"7fff0000 00000000", "There is no API with key 32767."),
    "no such version": (("request",), b"000c 0063 00000001 0000 00", "HeartbeatRequest has versions 0-4, not 99"),
    "an API": (("Fetch", "4"), b"00", "Fetch is an API: name FetchRequest or FetchResponse"),
    "a version of a request": (
        ("request", "3"),
        b"00",
        "`request` takes no '3': the header itself names API and version",
    ),
    "a response of nothing": (
        ("response",),
        b"00",
        "which API's response? `response Fetch 12`: the bytes do not tell",
    ),
    "a response of nobody": (
        ("response", "Nope"),
        b"00",
        "no API is called 'Nope'; `odradek protocol show` lists them",
    ),
    "a response in no version": (
        ("response", "Heartbeat", "5"),
        b"00",
        "HeartbeatResponse has versions 0-4, not 5",
    ),
    "no version": (("HeartbeatRequest", "x"), b"00", "'x' is not a version: expected a number"),
    "two versions": (
        ("HeartbeatRequest", "3", "4"),
        b"00",
        "'4' is too much: a subject is one message and its version",
    ),
    "a broken request behind its length": (
        ("request",),
        b"0000000a 000c 0000 00000001 0001",
        "the input is not such a message: client_id claims 1 byte, 0 bytes remain at byte 14",
    ),
    "missing file": (("HeartbeatRequest", "--input", "/no/such/file"), b"", "/no/such/file: No such file or directory"),
}


@pytest.mark.parametrize("story", BAD_DECODE)
def test_bad_decode(story, odradek):
    arguments, stdin, reason = BAD_DECODE[story]
    assert odradek("protocol", "decode", *arguments, stdin=stdin) == (2, "", f"odradek: {reason}\n")


@pytest.mark.parametrize("name", ["fetch", "FETCH", "1"])
def test_an_api_in_any_case_or_by_its_key(name, odradek):
    assert odradek("protocol", "show", name) == odradek("protocol", "show", "Fetch")


@pytest.mark.parametrize("name", ["heartbeatrequest", "HEARTBEATREQUEST"])
def test_a_message_in_any_case(name, odradek):
    assert odradek("protocol", "show", name) == odradek("protocol", "show", "HeartbeatRequest")


def test_a_key_that_nobody_has(odradek):
    assert odradek("protocol", "show", "999") == (2, "", "odradek: There is no API with key 999.\n")


@pytest.mark.parametrize("text", ["0x{}", "0X{}", "0x{}\n", " 0x{} "])
def test_hex_as_a_program_prints_it(text, odradek):
    stdin = text.format(HEARTBEAT.to_bytes(4).hex()).encode()
    assert json.loads(odradek("protocol", "decode", "HeartbeatRequest", stdin=stdin)[1]) == HEARTBEAT_JSON
    each = " ".join(f"0x{byte:02x}" for byte in HEARTBEAT.to_bytes(4)).encode()
    assert json.loads(odradek("protocol", "decode", "HeartbeatRequest", stdin=each)[1]) == HEARTBEAT_JSON


@pytest.mark.parametrize(
    ("extra", "note"), [("ff", "1 byte behind the message was"), ("0000", "2 bytes behind the message were")]
)
@pytest.mark.parametrize("subject", [("request",), ("HeartbeatRequest", "0")])
def test_trailing_bytes_are_noted(subject, extra, note, odradek):
    frame = REQUEST if subject == ("request",) else HEARTBEAT.to_bytes(0).hex()
    status, out, err = odradek("protocol", "decode", *subject, stdin=f"{frame} {extra}".encode())
    assert (status, err) == (0, f"odradek: {note} ignored, as a broker does\n")
    assert out == odradek("protocol", "decode", *subject, stdin=frame.encode())[1]


def test_a_request_may_have_its_length_before_it(odradek):
    assert odradek("protocol", "decode", "request", stdin=f"00000015 {REQUEST}".encode()) == odradek(
        "protocol", "decode", "request", stdin=REQUEST.encode()
    )


@pytest.mark.parametrize("length", ["", "0000000a"])
@pytest.mark.parametrize("correlation_id", [7, 6])
def test_a_response_with_or_without_its_length(correlation_id, length, odradek):
    """6 is what the length of the rest would be: a correlation id may look like one."""
    stdin = f"{length} {correlation_id:08x} 00000000 0019".encode()
    status, out, err = odradek("protocol", "decode", "response", "Heartbeat", "1", stdin=stdin)
    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "header": {"correlationId": correlation_id},
        "HeartbeatResponse": {"throttleTimeMs": 0, "errorCode": 25},
    }


def test_of_two_readings_the_one_that_uses_every_byte_is_right(odradek):
    """Without its first four bytes this would be the answer of a broker that serves nothing, and two bytes more."""
    stdin = b"0000000c 0000 00000001 0000 0000 0003"
    status, out, err = odradek("protocol", "decode", "response", "ApiVersions", "0", stdin=stdin)
    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "header": {"correlationId": 12},
        "ApiVersionsResponse": {"errorCode": 0, "apiKeys": [{"apiKey": 0, "minVersion": 0, "maxVersion": 3}]},
    }


@pytest.mark.parametrize("frame", [REQUEST, "000c 0004 00000001 ffff 01 0801aa 0267 00000003 026d 00 010902bbcc"])
def test_encode_takes_what_decode_prints_of_a_request(frame, odradek):
    _, form, _ = odradek("protocol", "decode", "request", stdin=frame.encode())
    expected = frame.replace(" ", "") + "\n"
    assert odradek("protocol", "encode", "request", stdin=form.encode()) == (0, expected, "")


@pytest.mark.parametrize("version, frame", [("1", "00000007 00000000 0019"), ("4", "00000007 00 00000000 0019 010500")])
def test_encode_takes_what_decode_prints_of_a_response(version, frame, odradek):
    _, form, _ = odradek("protocol", "decode", "response", "heartbeat", version, stdin=frame.encode())
    expected = frame.replace(" ", "") + "\n"
    assert odradek("protocol", "encode", "response", "12", version, stdin=form.encode()) == (0, expected, "")


def test_unknown_tags_are_shown_and_read_back(odradek):
    frame = HEARTBEAT.to_bytes(4)[:-1].hex() + "02" + "0502abcd" + "0700"
    _, form, _ = odradek("protocol", "decode", "HeartbeatRequest", "4", stdin=frame.encode())
    assert json.loads(form)["_unknownTags"] == [{"tag": 5, "bytes": "q80="}, {"tag": 7, "bytes": ""}]
    assert odradek("protocol", "encode", "HeartbeatRequest", "4", stdin=form.encode()) == (0, frame + "\n", "")


HEADER = {"requestApiKey": 12, "requestApiVersion": 0, "correlationId": 1, "clientId": "c"}
BODY = {"groupId": "g", "generationId": 3, "memberId": "m"}
BAD_REQUESTS = {
    "no object": ([], 'the input is not an object with an object "header" in it, as decode prints it'),
    "no header": (
        {"HeartbeatRequest": BODY},
        'the input is not an object with an object "header" in it, as decode prints it',
    ),
    "no body": (
        {"header": HEADER},
        'the input is not an object with an object "HeartbeatRequest" in it, as decode prints it',
    ),
    "an empty header": ({"header": {}}, 'header lacks "requestApiKey", which version 0 carries'),
    "no client id": (
        {"header": {**HEADER, "clientId": 5}, "HeartbeatRequest": BODY},
        "header.clientId is 5 where a string is expected",
    ),
    "no such key": ({"header": {**HEADER, "requestApiKey": 999}}, "There is no API with key 999."),
    "no such version": (
        {"header": {**HEADER, "requestApiVersion": 9}, "HeartbeatRequest": BODY},
        "HeartbeatRequest has versions 0-4, not 9",
    ),
    "something else": (
        {"header": HEADER, "HeartbeatRequest": BODY, "more": 1},
        'the input has "more" beside "header" and "HeartbeatRequest"',
    ),
    "a wrong field": (
        {"header": HEADER, "HeartbeatRequest": {**BODY, "generationId": None}},
        "HeartbeatRequest.generationId is null, which version 0 does not allow",
    ),
}


@pytest.mark.parametrize("story", BAD_REQUESTS)
def test_bad_request_to_encode(story, odradek):
    form, reason = BAD_REQUESTS[story]
    stdin = json.dumps(form).encode()
    assert odradek("protocol", "encode", "request", stdin=stdin) == (2, "", f"odradek: {reason}\n")


def test_encode_request_takes_no_version(odradek):
    status, _, err = odradek("protocol", "encode", "request", "3", stdin=b"{}")
    assert (status, err) == (2, "odradek: `request` takes no '3': the header itself names API and version\n")


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
    "a key twice": (b'{"groupId": "g", "groupId": "h"}', 'the key "groupId" comes twice in one object'),
    "a key twice inside": (b'[{"a": {"b": 1, "b": 1}}]', 'the key "b" comes twice in one object'),
    "no object": (b"[]", "HeartbeatRequest is a list where an object is expected"),
    "missing field": (b"{}", 'HeartbeatRequest lacks "groupId", which version 3 carries'),
    "wrong type": (
        json.dumps({**HEARTBEAT_JSON, "groupId": 5}).encode(),
        "HeartbeatRequest.groupId is 5 where a string is expected",
    ),
    "out of range": (
        json.dumps({**HEARTBEAT_JSON, "generationId": 2**31}).encode(),
        "HeartbeatRequest.generationId is 2147483648, which does not fit int32",
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
    [
        "no JSON",
        "[]",
        "5",
        "{}",
        '{"name": "x"}',
        json.dumps(vector(hex="0g")),
        json.dumps(vector(version="3")),
        json.dumps(vector(version=True)),
    ],
)
def test_not_a_golden_file(line, odradek, tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_text(f"{json.dumps(vector())}\n{line}\n")
    status, _, err = odradek("protocol", "verify", str(path))
    assert status == 2
    assert err == f"odradek: {path}, line 2: not a golden vector (an object with name, version, hex and json)\n"


@pytest.mark.parametrize("name", ["some.jsonl", "some.jsonl.gz"])
def test_a_file_without_a_vector_proves_nothing(name, odradek, golden):
    path = golden(name=name)
    assert odradek("protocol", "verify", path) == (2, "", f"odradek: {path}: there is no vector in it\n")


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
    done = outside.run([sys.executable, "-m", "odradek", "protocol", "decode", "request"], input=REQUEST)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["header"]["correlationId"] == 1
