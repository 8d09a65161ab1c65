"""Times and lengths of time as people type and read them: `@-1h`, `@2024-05-01T12:00`, `90s`, `3m 20s`."""

import re

from odradek.cli.failure import Failure

UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}

_PIECE = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_DIGITS_MAX = 18  # what fits the field of a request
_EPOCH_DIGITS_MS = 12  # more digits than seconds since 1970 have until the year 5138


def duration_ms(text: str) -> int:
    """`500ms`, `90s`, `1h30m`; Failure for anything else."""
    found = _duration_ms(text)
    if found is None:
        raise Failure(f"{text!r} is no length of time: write a number with ms, s, m, h, d or w, as in 90s or 1h30m")
    return found


def time_ms(text: str, now_ms: int) -> int:
    """A moment as milliseconds since 1970: a date, a date with a time, a number, `now`, or `-1h` for an hour ago.

    A date without a zone is one of the zone that this machine is in.
    """
    from datetime import datetime

    if text == "now":
        return now_ms
    if text.startswith("-") and (ago := _duration_ms(text[1:])) is not None:
        return now_ms - ago
    if text.isdecimal() and len(text) <= _DIGITS_MAX:
        return int(text) if len(text) >= _EPOCH_DIGITS_MS else int(text) * 1000
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Failure(
            f"{text!r} is no time: write -1h for an hour ago, 2024-05-01, 2024-05-01T12:30, or milliseconds since 1970"
        ) from None
    return int(moment.timestamp() * 1000)


def shown_time(timestamp_ms: int | None) -> str:
    """In this machine's zone, to the millisecond."""
    if timestamp_ms is None or timestamp_ms < 0:
        return "-"
    from datetime import UTC, datetime  # few commands show times

    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, UTC).astimezone()
    except (ValueError, OverflowError, OSError):  # a program may write any number as a time
        return str(timestamp_ms)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{timestamp_ms % 1000:03}"


def json_time(timestamp_ms: int | None) -> str | None:
    """ISO 8601 in UTC, for programs."""
    if timestamp_ms is None or timestamp_ms < 0:
        return None
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime.fromtimestamp(timestamp_ms // 1000, UTC) + timedelta(milliseconds=timestamp_ms % 1000)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def shown_duration(milliseconds: int) -> str:
    """The two largest units: `3m 20s`."""
    if milliseconds < UNIT_MS["s"]:
        return f"{milliseconds}ms"
    left, pieces = milliseconds, []
    for unit in ("d", "h", "m", "s"):
        number, left = divmod(left, UNIT_MS[unit])
        if number:
            pieces.append(f"{number}{unit}")
    return " ".join(pieces[:2])


def _duration_ms(text: str) -> int | None:
    pieces = _PIECE.findall(text)
    if not pieces or "".join(number + unit for number, unit in pieces) != text:
        return None
    return round(sum(float(number) * UNIT_MS[unit] for number, unit in pieces))
