"""Filters on topic, partition, offset and timestamp as bounds of what is read.

Every filter is given back to Spark all the same: a bound may let more through than the filter does, never less. So a
filter that is not understood costs nothing but rows. A time bounds only from below: before the first record at or after
it every record is older, but behind it there may be older ones as well.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from odradek.spark.source.planning import OffsetRange

_INT64_MAX = 2**63 - 1


@dataclass(frozen=True)
class ReadBounds:
    """None stands for all of them."""

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    first_offset: int = 0
    stop_offset: int = _INT64_MAX
    since_ms: int | None = None

    def within(self, work: OffsetRange) -> OffsetRange | None:
        if self.topics is not None and work.place.topic not in self.topics:
            return None
        if self.partitions is not None and work.place.partition not in self.partitions:
            return None
        bounded = replace(work, start=max(work.start, self.first_offset), stop=min(work.stop, self.stop_offset))
        return bounded if bounded.size > 0 else None


def bounds_of(filters: Iterable[Any]) -> ReadBounds:
    """Any: filters of Spark, which this module need not import: their kind is the name of their class."""
    bounds = ReadBounds()
    for each in filters:
        column = getattr(each, "attribute", None)
        if column is not None and len(column) == 1:
            bounds = _bounded(bounds, column[0], type(each).__name__, getattr(each, "value", None))
    return bounds


def _bounded(bounds: ReadBounds, column: str, kind: str, value: Any) -> ReadBounds:
    """Any: a filter's value has the type of its column."""
    if value is None:
        return bounds
    if column in ("topic", "partition"):
        return _named(bounds, column, kind, value)
    if column == "offset" and kind != "In":
        return _between(bounds, kind, value)
    if column == "timestamp" and isinstance(value, datetime) and kind in _FROM_BELOW:
        since_ms = int(value.timestamp() * 1000)
        return replace(bounds, since_ms=max(since_ms, bounds.since_ms or 0))
    return bounds


_EQUAL = frozenset(["EqualTo", "EqualNullSafe"])
_FROM_BELOW = frozenset(["GreaterThan", "GreaterThanOrEqual", *_EQUAL])


def _named(bounds: ReadBounds, column: str, kind: str, value: Any) -> ReadBounds:
    """Any: a topic or a partition, or several of them."""
    if kind not in _EQUAL and kind != "In":
        return bounds
    names = frozenset([value] if kind in _EQUAL else value)
    if column == "topic":
        return replace(bounds, topics=names if bounds.topics is None else bounds.topics & names)
    return replace(bounds, partitions=names if bounds.partitions is None else bounds.partitions & names)


def _between(bounds: ReadBounds, kind: str, offset: int) -> ReadBounds:
    first = {"GreaterThan": offset + 1, "GreaterThanOrEqual": offset, "EqualTo": offset, "EqualNullSafe": offset}
    stop = {"LessThan": offset, "LessThanOrEqual": offset + 1, "EqualTo": offset + 1, "EqualNullSafe": offset + 1}
    return replace(
        bounds,
        first_offset=max(bounds.first_offset, first.get(kind, 0)),
        stop_offset=min(bounds.stop_offset, stop.get(kind, _INT64_MAX)),
    )
