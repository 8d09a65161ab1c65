"""What a long command shows on the terminal: nothing for two seconds, then a line that counts, gone at the end."""

import io
from contextlib import redirect_stderr

import pytest

from odradek.cli import progress
from odradek.cli.main import main
from odradek.log.names import file_name
from odradek.records.record import Record
from odradek.records.writer import record_batch

COMMANDS = [("dump", "pieces dumped: "), ("check", "batches checked: ")]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def log_dir(tmp_path):
    directory = tmp_path / "topic-0"
    directory.mkdir()
    batches = [record_batch([Record(offset, b"k", b"v", 1_700_000_000_000)]) for offset in range(200)]
    (directory / file_name(0, ".log")).write_bytes(b"".join(batches))
    return tmp_path


def shown_by(action, log_dir, stream):
    with redirect_stderr(stream):
        main(["log", action, str(log_dir)])
    return stream.getvalue().split("\r")


@pytest.fixture
def hurried(monkeypatch):
    """Two seconds are over at once."""
    monkeypatch.setattr(progress, "SILENT_SECONDS", 0)
    monkeypatch.setattr(progress, "REFRESH_SECONDS", 0)


@pytest.mark.parametrize(("action", "line"), COMMANDS)
def test_a_long_command_shows_how_far_it_is(action, line, log_dir, hurried):
    shown = shown_by(action, log_dir, Terminal())
    counts = [int(each.removeprefix(line)) for each in shown if each.startswith(line)]
    assert counts == [64, 128, 192]
    assert shown[-1] == "\x1b[K", "the line is gone in the end"


@pytest.mark.parametrize("action", ["dump", "check"])
def test_a_short_one_shows_nothing(action, log_dir):
    assert shown_by(action, log_dir, Terminal()) == [""]


def test_nothing_is_shown_where_nobody_looks(log_dir, hurried):
    assert shown_by("check", log_dir, io.StringIO()) == [""]
