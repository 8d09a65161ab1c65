"""What `produce` writes, from lines, files, JSON and the command itself."""

import io
import sys

import pytest

from odradek.cli.client import produce
from odradek.cli.client.new_records import new_records
from odradek.cli.command_parser import CommandParser
from odradek.cli.failure import Failure


def records(*arguments, text=b""):
    parser = CommandParser()
    produce.add_to(parser.add_subparsers())
    options = parser.parse_args(["produce", "orders", *arguments])
    standard, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(text))
    try:
        return list(new_records(options))
    finally:
        sys.stdin = standard


def pairs(*arguments, text=b""):
    return [(each.key, each.value) for each in records(*arguments, text=text)]


def test_each_line_is_a_value():
    assert pairs(text=b"one\ntwo\r\n\nlast") == [(None, b"one"), (None, b"two"), (None, b""), (None, b"last")]


def test_bytes_stay_as_they_are():
    assert pairs(text=b"\xff\x00\n") == [(None, b"\xff\x00")]


def test_keys_from_the_lines():
    assert pairs("-K:", text=b"a:1:2\n:3\n") == [(b"a", b"1:2"), (b"", b"3")]
    assert pairs("-K", "\\t", text=b"a\t1\n") == [(b"a", b"1")]
    with pytest.raises(Failure, match="line 2 has no ':', which ends its key"):
        pairs("-K:", text=b"a:1\nb\n")


def test_values_of_the_command():
    assert pairs("one", "-k", "me", "two") == [(b"me", b"one"), (b"me", b"two")]


def test_nulls_and_escapes():
    assert pairs("--null", "-K:", text=b"a:\n:b\n") == [(b"a", None), (None, b"b")]
    assert pairs("--escaped", "-k", "\\x01", "a\\n\\xff") == [(b"\x01", b"a\n\xff")]


def test_headers_partition_and_time():
    (record,) = records("x", "-H", "a=1", "-H", "b=", "-p", "3")
    assert (record.headers, record.partition, record.timestamp_ms) == ([("a", b"1"), ("b", b"")], 3, None)
    with pytest.raises(Failure, match="-H a: expected NAME=VALUE"):
        records("x", "-H", "a")


def test_a_whole_file(tmp_path):
    path = tmp_path / "cat.png"
    path.write_bytes(b"\x89PNG\n\n")
    assert pairs("--file", str(path), "-k", "cat") == [(b"cat", b"\x89PNG\n\n")]
    with pytest.raises(Failure, match="No such file"):
        pairs("--file", str(tmp_path / "nothing"))


def test_json():
    line = b'{"partition": 2, "timestamp": 5, "key": "k", "value": {"base64": "/w=="}, "headers": [["a", null]]}\n\n'
    assert records("--json", text=line) == [(b"k", b"\xff", [("a", None)], None, 5, None)]
    assert records("--json", "--keep-partition", "-H", "b=1", text=line) == [
        (b"k", b"\xff", [("a", None), ("b", b"1")], 2, 5, None)
    ]
    assert records("--json", "-k", "other", "-p", "0", text=line)[0][:1] == (b"other",)
    with pytest.raises(Failure, match="line 2 is no JSON"):
        records("--json", text=b"{}\nx\n")


def test_the_rate_is_kept_without_a_burst_after_a_pause(monkeypatch):
    slept = []
    now = [100.0]
    monkeypatch.setattr(produce.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(
        produce.time, "sleep", lambda seconds: (slept.append(seconds), now.__setitem__(0, now[0] + seconds))
    )
    rate = produce._Rate(10)
    for _ in range(4):
        rate.wait()
    assert slept == pytest.approx([0.1, 0.1, 0.1])
    now[0] += 60
    slept.clear()
    for _ in range(20):
        rate.wait()
    assert len(slept) >= 8, "what was missed in a minute is not made up for at once"
