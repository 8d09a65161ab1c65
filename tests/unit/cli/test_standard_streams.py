"""The command as a process among others: full disks, readers that leave, closed streams, Ctrl-C."""

import fcntl
import io
import json
import os
import signal
import sys
import termios
import time
from contextlib import redirect_stdout

import pytest

import outside
from odradek.cli.main import main
from odradek.cli.output import Guard
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData

FULL = b"odradek: standard output: No space left on device\n"
PRODUCE = ProduceRequest(
    topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(records=bytes(300_000))])]
).to_bytes(12)

COMMANDS = {
    "version": ["--version"],
    "help": ["--help"],
    "no command": [],
    "help of a command": ["protocol", "decode", "--help"],
    "help of log": ["log", "dump", "--help"],
    "a small table": ["protocol", "show", "Heartbeat"],
    "larger than a buffer": ["protocol", "show", "Fetch"],
    "larger than a pipe": ["protocol", "decode", "--binary", "ProduceRequest", "12"],
}


def odradek(arguments, unbuffered=False, prefix=(), **options):
    environment = {**os.environ, "PYTHONUNBUFFERED": "1" if unbuffered else ""}
    command = [*prefix, sys.executable, "-m", "odradek", *arguments]
    return outside.Program(command, env=environment, stderr=outside.PIPE, **options)


def outcome(process, stdin=None):
    _, err = process.communicate(stdin, timeout=30)
    return process.returncode, err


buffering = pytest.mark.parametrize("unbuffered", [False, True], ids=["buffered", "unbuffered"])
every_command = pytest.mark.parametrize("command", COMMANDS)


@pytest.fixture
def produce_file(tmp_path):
    path = tmp_path / "produce"
    path.write_bytes(PRODUCE)
    return path


@pytest.fixture
def arguments(command, produce_file):
    return [*COMMANDS[command], *(["--input", str(produce_file)] if "--binary" in COMMANDS[command] else [])]


@buffering
@every_command
def test_a_full_disk(arguments, unbuffered):
    with open("/dev/full", "wb", buffering=0) as full:
        assert outcome(odradek(arguments, unbuffered, stdout=full)) == (1, FULL)


@buffering
def test_a_full_disk_for_raw_bytes(unbuffered, tmp_path):
    path = tmp_path / "form"
    path.write_text('{"correlationId": 1}')
    command = ["protocol", "encode", "--binary", "--input", str(path), "ResponseHeader", "0"]
    with open("/dev/full", "wb", buffering=0) as full:
        assert outcome(odradek(command, unbuffered, stdout=full)) == (1, FULL)


@buffering
@every_command
def test_a_reader_that_has_left_before_the_first_byte(arguments, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    process = odradek(arguments, unbuffered, stdout=writer)
    os.close(writer)
    assert outcome(process) == (0, b"")


@buffering
def test_a_reader_that_leaves_in_the_middle(produce_file, unbuffered):
    command = [*COMMANDS["larger than a pipe"], "--input", str(produce_file)]
    process = odradek(command, unbuffered, stdout=outside.PIPE)
    assert process.stdout.read(1) == b"{"
    process.stdout.close()
    process.stdout = None
    assert outcome(process) == (0, b"")


def test_a_verdict_outlives_its_reader(tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_text(json.dumps({"name": "Nope", "version": 0, "hex": "", "json": {}}) + "\n")
    reader, writer = os.pipe()
    os.close(reader)
    process = odradek(["protocol", "verify", str(path)], stdout=writer)
    os.close(writer)
    assert outcome(process) == (1, b"")


@buffering
def test_all_of_a_large_output_arrives(produce_file, unbuffered):
    command = [*COMMANDS["larger than a pipe"], "--input", str(produce_file)]
    process = odradek(command, unbuffered, stdout=outside.PIPE)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, b"")
    assert len(json.loads(out)["topicData"][0]["partitionData"][0]["records"]) == 400_000


def closed(descriptor):
    return ("sh", "-c", f'exec "$@" {descriptor}', "sh")


def test_closed_output():
    process = odradek(["--version"], prefix=closed(">&-"))
    assert outcome(process) == (1, b"odradek: standard output: it is closed\n")


@pytest.mark.parametrize("action", ["decode", "encode"])
def test_closed_input(action):
    process = odradek(["protocol", action, "FetchRequest", "4"], prefix=closed("<&-"), stdout=outside.PIPE)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (2, b"")
    assert err == b"odradek: standard input is closed; name a file with --input\n"


@pytest.mark.parametrize("arguments", [["nope"], ["protocol", "show", "Nope"]])
@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_errors_that_nobody_can_read(arguments, redirection):
    process = odradek(arguments, prefix=closed(redirection), stdout=outside.PIPE)
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (2, b"")


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_verify_without_standard_error(redirection, tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_text(
        json.dumps({"name": "ResponseHeader", "version": 0, "hex": "00000001", "json": {"correlationId": 1}})
    )
    process = odradek(["protocol", "verify", str(path)], prefix=closed(redirection), stdout=outside.PIPE)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert b": 1 vectors, " in out


def unread_bytes(descriptor):
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)


def heed_interrupts():
    """A shell has its background jobs ignore SIGINT, and the tests may be one."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("action", ["decode", "encode"])
def test_interrupted_while_reading(action):
    reader, writer = os.pipe()
    process = odradek(["protocol", action, "FetchRequest", "4"], stdin=reader, preexec_fn=heed_interrupts)
    os.write(writer, b"00")
    deadline = time.monotonic() + 30
    while unread_bytes(reader):  # once it has taken them it waits for more
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    assert outcome(process) == (130, b"")
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_is_json_in_any_encoding(encoding, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    process = odradek(["protocol", "decode", "RequestHeader", "1"], stdin=outside.PIPE, stdout=outside.PIPE)
    frame = b"0000 0000 00000000 0002 c3a9"
    out, err = process.communicate(frame, timeout=30)
    assert (process.returncode, err) == (0, b"")
    assert json.loads(out.decode(encoding))["clientId"] == "é"


def test_output_into_a_string():
    with redirect_stdout(io.StringIO()) as out:
        assert main(["protocol", "show", "Heartbeat"]) == 0
        assert sys.stdout is out
    assert out.getvalue().startswith("HeartbeatRequest: ")


class Sip(io.RawIOBase):
    """An unbuffered stream that takes three bytes at a time, and from `full` on none."""

    def __init__(self, full):
        self.taken = b""
        self.full = full

    def writable(self):
        return True

    def write(self, data):
        if len(self.taken) >= self.full:
            return None  # what a stream says that may not block
        self.taken += bytes(data[:3])
        return len(data[:3])


def test_a_stream_that_takes_a_part_is_asked_again(monkeypatch):
    sip = Sip(full=1 << 20)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(sip, write_through=True))
    assert main(["protocol", "show", "Heartbeat"]) == 0
    assert sip.taken.endswith(b"an error if it is set)\n\n")


def test_a_stream_that_would_block(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(Sip(full=9), write_through=True))
    assert main(["protocol", "show", "Heartbeat"]) == 1
    assert capsys.readouterr().err == "odradek: standard output: Resource temporarily unavailable\n"


def test_the_streams_are_given_back(capsys):
    before = sys.stdout
    assert main(["--version"]) == 0
    assert sys.stdout is before
    sys.stdout.write("still open\n")
    assert capsys.readouterr().out.endswith("still open\n")


def test_what_is_flushed_has_left_the_buffer():
    """A pipe's reader waits for it, although the command goes on."""
    raw = io.BytesIO()
    guard = Guard(io.TextIOWrapper(io.BufferedWriter(raw)))
    guard.write(b"so far")
    assert raw.getvalue() == b""
    guard.flush()
    assert raw.getvalue() == b"so far"
