"""Times and lengths of time as people type and read them."""

import pytest

from odradek.cli.client.times import duration_ms, json_time, shown_duration, shown_time, time_ms
from odradek.cli.failure import Failure

NOW_MS = 1_700_000_000_000


@pytest.fixture(autouse=True)
def _in_utc(monkeypatch):
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("500ms", 500),
        ("90s", 90_000),
        ("1h30m", 5_400_000),
        ("1.5h", 5_400_000),
        ("2d", 172_800_000),
        ("1w", 604_800_000),
    ],
)
def test_a_length_of_time(text, milliseconds):
    assert duration_ms(text) == milliseconds


@pytest.mark.parametrize("text", ["", "5", "h", "1 h", "1h 30m", "-1h", "1y", "1hh"])
def test_what_is_no_length_of_time(text):
    with pytest.raises(Failure, match="is no length of time"):
        duration_ms(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW_MS),
        ("-1h", NOW_MS - 3_600_000),
        ("1700000000", NOW_MS),
        ("1700000000123", NOW_MS + 123),
        ("2023-11-14T22:13:20Z", NOW_MS),
        ("2023-11-14T22:13:20", NOW_MS),
        ("2023-11-14 22:13:20.5+00:00", NOW_MS + 500),
        ("2023-11-14", NOW_MS - 80_000_000),
    ],
)
def test_a_moment(text, expected):
    assert time_ms(text, NOW_MS) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "-1", "1h", "2023-13-01"])
def test_what_is_no_moment(text):
    with pytest.raises(Failure, match="is no time: write -1h"):
        time_ms(text, NOW_MS)


def test_how_they_are_shown():
    assert shown_time(NOW_MS + 7) == "2023-11-14 22:13:20.007"
    assert json_time(NOW_MS + 7) == "2023-11-14T22:13:20.007Z"
    assert (shown_time(-1), shown_time(None), json_time(-1), json_time(None)) == ("-", "-", None, None)
    assert [shown_duration(ms) for ms in (7, 1000, 200_000, 3_600_000, 90_061_000)] == [
        "7ms",
        "1s",
        "3m 20s",
        "1h",
        "1d 1h",
    ]


def test_a_time_that_no_calendar_has():
    beyond = 2**62
    assert shown_time(beyond) == str(beyond)
    assert json_time(beyond) is None
