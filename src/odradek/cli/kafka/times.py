"""Times and durations as scripts take them: `2023-11-14T22:13:20.000`, with a zone or in UTC, and `P1DT2H3M4.5S`."""

import re
from datetime import UTC, datetime, timedelta, timezone

from odradek.cli.failure import Refusal

_TIME = re.compile(
    r"(\d{1,4})-(\d{1,2})-(\d{1,2})T(\d{1,2}):(\d{1,2}):(\d{1,2})\.(\d{1,3})(?:Z|([+-])(\d\d):?(\d\d)?)?", re.ASCII
)
_SIGNED = r"([-+]?\d+)"
_DURATION = re.compile(
    rf"([-+]?)P(?=.)(?:{_SIGNED}D)?(?:T(?=.)(?:{_SIGNED}H)?(?:{_SIGNED}M)?(?:{_SIGNED}(?:[.,](\d{{0,9}}))?S)?)?",
    re.ASCII | re.IGNORECASE,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_ms(text: str) -> int:
    """Milliseconds since 1970; Refusal for what is no time."""
    if "T" not in text:
        raise Refusal(
            "java.text.ParseException: Error parsing timestamp. It does not contain a 'T' according to ISO8601 format"
        )
    match = _TIME.fullmatch(text)
    if match is None:
        raise Refusal(f'java.text.ParseException: Unparseable date: "{text}"')
    *numbers, sign, hours, minutes = match.groups()
    zone = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    year, month, day, hour, minute, second, millisecond = map(int, numbers)
    try:
        when = datetime(year, month, day, hour, minute, second, millisecond * 1000, timezone(zone))
    except ValueError:
        raise Refusal(f'java.text.ParseException: Unparseable date: "{text}"') from None
    return (when - _EPOCH) // timedelta(milliseconds=1)


def duration_ms(text: str) -> int:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise Refusal("Text cannot be parsed to a Duration")
    sign, days, hours, minutes, seconds, fraction = match.groups()
    whole_s = int(days or 0) * 86400 + int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    part_ms = int((fraction or "").ljust(3, "0")[:3]) * (-1 if (seconds or "").startswith("-") else 1)
    return (whole_s * 1000 + part_ms) * (-1 if sign == "-" else 1)
