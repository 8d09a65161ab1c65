"""`odradek topics offsets` and `odradek topics trim`: where partitions begin and end, and where a time is in them."""

import argparse
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from odradek.cli.client import plan, positions
from odradek.cli.client.command import Group
from odradek.cli.client.connection import admin_of
from odradek.cli.client.lookup import partition_counts
from odradek.cli.client.positions import Bounds
from odradek.cli.client.table import show
from odradek.cli.client.times import json_time, shown_time
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient
    from odradek.client.admin.topics import TopicDescription

PARTITIONS_HELP = "a topic, or some of its partitions: orders, orders:0, orders:0,2-4"


def add_actions(group: Group) -> None:
    offsets = group.action(
        "offsets",
        "the offsets at which partitions begin and end, or that a time has in them",
        _offsets,
        """
        topics offsets orders
        topics offsets orders:0 payments # one partition of the one, all of the other
        topics offsets orders --at @-1h # the first record of the last hour
        topics offsets orders --at @2024-05-01T12:00
        """,
    )
    offsets.add_argument("topics", nargs="+", metavar="TOPIC[:PARTITIONS]", help=PARTITIONS_HELP)
    offsets.add_argument("--at", metavar="PLACE", help=f"also the offset of a place: {positions.FORMS}")

    trim = group.action(
        "trim",
        "delete the oldest records of a topic, up to an offset or a time",
        _trim,
        """
        topics trim orders --before @-7d # shows what would be deleted
        topics trim orders --before @-7d --execute
        topics trim orders:0 --before 1000 --execute
        """,
    )
    trim.add_argument("topics", nargs="+", metavar="TOPIC[:PARTITIONS]", help=PARTITIONS_HELP)
    trim.add_argument(
        "--before", metavar="PLACE", required=True, help=f"the first record that stays: {positions.FORMS}"
    )
    plan.add_execute(trim)


def known_bounds(admin: "AdminClient", topics: "Iterable[TopicDescription]") -> dict[tuple[str, int], Bounds]:
    """Of the partitions that have a leader."""
    led = [TopicPartition(topic.name, each.partition) for topic in topics for each in topic.partitions if each.leader]
    return {(place.topic, place.partition): found for place, found in positions.bounds_of(admin, led).items()}


def bounds_fields(bounds: Bounds | None) -> dict[str, int | None]:
    if bounds is None:
        return {"start": None, "end": None, "records": None}
    return {"start": bounds.start, "end": bounds.end, "records": bounds.end - bounds.start}


def _offsets(options: argparse.Namespace) -> int:
    from odradek.client.admin.topics import MAX_TIMESTAMP

    at = None if options.at is None else positions.parse(options.at, _now_ms())
    with admin_of(options) as admin:
        places = _places(admin, options.topics)
        bounds = positions.bounds_of(admin, places)
        found = {} if at is None else positions.offsets_at(admin, at, bounds)
        newest = admin.list_offsets(dict.fromkeys(places, MAX_TIMESTAMP)).values_ok
    rows: list[dict[str, object]] = [
        {
            "topic": place.topic,
            "partition": place.partition,
            **bounds_fields(bounds[place]),
            **({} if at is None else {"at": found[place], "records_after": bounds[place].end - found[place]}),
            "newest_timestamp_ms": _if_known(newest[place].timestamp_ms) if place in newest else None,
        }
        for place in places
    ]
    for row in rows:
        newest_ms = row["newest_timestamp_ms"]
        known_ms = newest_ms if isinstance(newest_ms, int) else None
        row["newest"] = json_time(known_ms) if options.json else shown_time(known_ms)
    columns = {"topic": "TOPIC", "partition": "PARTITION", "start": "START", "end": "END", "records": "RECORDS"}
    if at is not None:
        columns |= {"at": "AT", "records_after": "FROM THERE"}
    show(options, rows, {**columns, "newest": "NEWEST"})
    return 0


def _trim(options: argparse.Namespace) -> int:
    before = positions.parse(options.before, _now_ms())
    with admin_of(options) as admin:
        places = _places(admin, options.topics)
        bounds = positions.bounds_of(admin, places)
        starts = positions.offsets_at(admin, before, bounds)
        changed = {place: start for place, start in starts.items() if start > bounds[place].start}
        rows = [
            {
                "topic": place.topic,
                "partition": place.partition,
                "start": bounds[place].start,
                "new_start": start,
                "deleted": start - bounds[place].start,
            }
            for place, start in changed.items()
        ]
        columns = {
            "topic": "TOPIC",
            "partition": "PARTITION",
            "start": "START",
            "new_start": "NEW START",
            "deleted": "DELETED",
        }
        show(options, rows, columns)
        if not plan.is_to_be_done(options, is_empty=not rows):
            return 0
        return plan.outcome(admin.delete_records(changed).errors)


def _places(admin: "AdminClient", texts: list[str]) -> list[TopicPartition]:
    counts = partition_counts(admin, map(positions.topic_of, texts))
    return positions.wanted_partitions(texts, counts)


def _if_known(timestamp_ms: int) -> int | None:
    return None if timestamp_ms < 0 else timestamp_ms


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
