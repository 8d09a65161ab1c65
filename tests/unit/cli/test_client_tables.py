"""Tables for people, lines of JSON for programs, and names that are near."""

import argparse
import io
import json
from contextlib import redirect_stdout

import pytest

from odradek.cli.client import table
from odradek.cli.client.near import nearest, unknown

ROWS = [
    {"name": "orders", "count": 12, "is_open": True, "where": ("a", "b")},
    {"name": "l", "count": None, "is_open": False, "where": ()},
]
COLUMNS = {"name": "NAME", "count": "COUNT", "is_open": "OPEN", "where": "WHERE"}


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(stream, *, as_json=False, rows=ROWS):
    with redirect_stdout(stream):
        table.show(argparse.Namespace(json=as_json), rows, COLUMNS)
    return stream.getvalue()


def test_a_table_is_aligned_by_spaces():
    assert shown(io.StringIO()).splitlines() == [
        "NAME    COUNT  OPEN  WHERE",
        "orders     12  yes   a,b",
        "l           -  no    -",
    ]


def test_a_table_without_rows_has_its_heading():
    assert shown(io.StringIO(), rows=[]) == "NAME  COUNT  OPEN  WHERE\n"


def test_json_has_all_fields_one_row_on_each_line():
    lines = shown(io.StringIO(), as_json=True).splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["orders", "l"]
    assert json.loads(lines[1])["count"] is None


def test_colours_are_for_terminals_whose_user_wants_them(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert shown(Terminal()).startswith("\x1b[1mNAME")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in shown(Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in shown(Terminal())
    assert "\x1b" not in shown(io.StringIO())


def test_no_cell_breaks_a_line_or_a_terminal():
    assert table.cell_text("a\nb\x1b[31m") == "a\\nb\\x1b[31m"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("oders", ["orders", "old-orders"]),
        ("Letters", ["letters"]),
        ("der", ["orders", "old-orders"]),
        ("zzz", []),
        ("", []),
    ],
)
def test_the_names_that_are_near(name, near):
    assert nearest(name, ["orders", "letters", "old-orders"]) == near


def test_a_name_that_is_not_there_says_which_are_near():
    assert str(unknown("topic", "oders", ["orders"], "odradek topics list")) == (
        "there is no topic 'oders'; did you mean orders?"
    )
    assert str(unknown("topic", "x", ["orders"], "odradek topics list")) == (
        "there is no topic 'x'; odradek topics list shows those that are there"
    )
