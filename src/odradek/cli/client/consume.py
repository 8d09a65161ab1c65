"""`odradek consume`: the records of topics, from one place to another or as they come."""

import argparse
import time
from typing import TYPE_CHECKING

from odradek.cli.client import group_reading, positions, reading, record_output, tail
from odradek.cli.client.command import complete
from odradek.cli.client.connection import admin_of, told_errors
from odradek.cli.client.lookup import partition_counts
from odradek.cli.client.record_filter import add_filters, filter_of
from odradek.cli.failure import Failure
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient

HELP = "read records: from any place to any other, filtered, as text or JSON"

ISOLATION = ("committed", "uncommitted")


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("consume", help=HELP)
    add = parser.add_argument
    add("topics", nargs="+", metavar="TOPIC[:PARTITIONS]", help="orders, orders:0, orders:0,2-4")
    add("--from", dest="start", metavar="PLACE", help=f"{positions.FORMS} (default: start)")
    add("--to", metavar="PLACE", help="where to end, the record there not included; without it new records are awaited")
    add("-e", "--exit", action="store_true", help="end where the topics end now")
    add("-n", "--number", type=int, metavar="N", help="end after so many records")
    add("--tail", type=int, metavar="N", help="the last N records of all partitions together, in the order of time")
    add("--follow", action="store_true", help="with --tail: go on with what comes afterwards")
    add("-p", "--partition", dest="partitions", metavar="PARTITIONS", help="of all topics only these: 0, 0,2 or 1-3")
    add("-g", "--group", metavar="GROUP", help="read as a member of this group, from where it is")
    add("--commit", action="store_true", help="with -g: commit what was printed; without it nothing is committed")
    add("--isolation", choices=ISOLATION, default="committed", help="of transactions only what is committed (default)")
    record_output.add_options(parser)
    add_filters(parser)
    complete(
        parser,
        HELP,
        _consume,
        """
        consume orders # from the start, then as they come, until Ctrl-C
        consume orders -e # all that is there, then end
        consume orders --tail 10 # the last ten of all partitions
        consume orders --from @-1h --to @-30m
        consume orders --from -5 -n 5 -p 0
        consume orders --from group:billing -e # what this group has not read yet
        consume orders -g billing --commit
        consume orders -f '%p %o %T %k: %s\\n'
        consume orders --grep error --header source=web* -e --json
        consume orders -e --json | odradek -c test produce orders --json
        """,
    )


def _consume(options: argparse.Namespace) -> int:
    _refuse_what_does_not_fit(options)
    printer = record_output.printer_of(options)
    passes = filter_of(options)
    with told_errors():
        if options.group is not None:
            return group_reading.read(options, printer, passes)
        now_ms = time.time_ns() // 1_000_000
        start = positions.parse(options.start or ("end" if options.tail is not None else "start"), now_ms)
        with admin_of(options, is_long=True) as admin:
            places = _places(admin, options)
            bounds = positions.bounds_of(admin, places, committed_only=options.isolation == "committed")
            starts = positions.offsets_at(admin, start, bounds)
            stops = _stops(admin, options, bounds, now_ms)
        wanted = reading.Wanted(starts, stops, options.number)
        if options.tail is not None:
            wanted = tail.print_last(options, bounds, printer, passes)
            if not options.follow:
                return 0
        reading.read(options, wanted, printer, passes)
    return 0


def _stops(
    admin: "AdminClient", options: argparse.Namespace, bounds: dict[TopicPartition, positions.Bounds], now_ms: int
) -> dict[TopicPartition, int] | None:
    """The offsets at which partitions are done; None to go on for ever."""
    if options.to is not None:
        stop = positions.parse(options.to, now_ms)
        if stop.kind == positions.OFFSET:  # it may lie behind the end: then its records are awaited
            return dict.fromkeys(bounds, stop.number)
        return positions.offsets_at(admin, stop, bounds)
    return {place: limits.end for place, limits in bounds.items()} if options.exit else None


def _places(admin: "AdminClient", options: argparse.Namespace) -> list[TopicPartition]:
    counts = partition_counts(admin, map(positions.topic_of, options.topics))
    found = positions.wanted_partitions(options.topics, counts)
    if options.partitions is None:
        return found
    numbers = positions.partition_numbers(options.partitions, f"-p {options.partitions}")
    chosen = [place for place in found if place.partition in numbers]
    if not chosen:
        raise Failure(f"-p {options.partitions}: no topic that is named has such a partition")
    return chosen


def _refuse_what_does_not_fit(options: argparse.Namespace) -> None:
    if options.commit and options.group is None:
        raise Failure("--commit goes with -g GROUP: offsets are committed for a group")
    if options.follow and options.tail is None:
        raise Failure("--follow goes with --tail N; without --tail new records are awaited anyway")
    if options.tail is not None and (options.start or options.to or options.group or options.number):
        raise Failure("--tail N is a place of its own: leave --from, --to, -n and -g out")
    if options.group is not None and (options.to or options.partitions or any(":" in each for each in options.topics)):
        raise Failure("-g GROUP reads whole topics, with the partitions that the group gives it: leave --to and -p out")
    for name in ("number", "tail"):
        if getattr(options, name) is not None and getattr(options, name) < 0:
            raise Failure(f"--{name} {getattr(options, name)}: a number of records is not negative")
