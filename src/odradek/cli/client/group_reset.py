"""`odradek groups reset` and `copy`: set where groups go on. The plan is shown first."""

import argparse
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from odradek.cli.client import plan, positions
from odradek.cli.client.command import Group
from odradek.cli.client.connection import admin_of
from odradek.cli.client.json_input import json_rows
from odradek.cli.client.lookup import listed_groups, partition_counts
from odradek.cli.client.table import show
from odradek.cli.failure import Failure, Refusal
from odradek.client.offsets import OffsetAndMetadata
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient

COLUMNS = {
    "group": "GROUP",
    "topic": "TOPIC",
    "partition": "PARTITION",
    "committed": "COMMITTED",
    "to": "NEW",
    "change": "CHANGE",
}

Targets = dict[TopicPartition, int]


def add_actions(group: Group) -> None:
    reset = group.action(
        "reset",
        "set the offsets at which a group goes on; it must have no members",
        _reset,
        """
        groups reset billing --to start # shows what would change
        groups reset billing --to @-1h --topic orders --execute
        groups reset billing --to 1000 --topic orders:0 --execute
        groups reset billing --shift -10 --execute # ten records back, in each partition
        groups reset billing --to start --json > plan.json
        groups reset billing --file plan.json --execute
        """,
    )
    reset.add_argument("group", metavar="GROUP", help="one that is not there yet is made, if a topic is given")
    reset.add_argument("--to", metavar="PLACE", help=positions.FORMS)
    reset.add_argument("--shift", type=int, metavar="N", help="so many records forward, or with - back")
    reset.add_argument("--file", metavar="FILE", help="a plan as --json prints it; - is standard input")
    reset.add_argument(
        "--topic",
        "-t",
        action="append",
        default=[],
        metavar="TOPIC[:PARTITIONS]",
        help="only these (default: all that the group has offsets for)",
    )
    plan.add_execute(reset)

    copy = group.action(
        "copy",
        "give a group the offsets of another one",
        _copy,
        """
        groups copy billing billing-test # shows what would be set
        groups copy billing billing-test --execute
        """,
    )
    copy.add_argument("source", metavar="GROUP", help="whose offsets are copied")
    copy.add_argument("target", metavar="NEW-GROUP", help="who gets them; it must have no members")
    copy.add_argument("--topic", "-t", action="append", default=[], metavar="TOPIC", help="only of this topic")
    plan.add_execute(copy)


def _reset(options: argparse.Namespace) -> int:
    if [options.to, options.shift, options.file].count(None) != 2:
        raise Failure(
            "where to? one of --to PLACE, --shift N and --file FILE; odradek groups reset --help has examples"
        )
    with admin_of(options) as admin:
        committed = _committed(admin, options)
        targets = _targets(admin, options, committed)
        return _set(admin, options, options.group, committed, targets)


def _copy(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        listed_groups(admin, [options.source])
        source = admin.list_group_offsets(options.source)[options.source]
        targets = {
            place: at.offset for place, at in source.items() if not options.topic or place.topic in options.topic
        }
        if not targets:
            raise Refusal(f"group {options.source} has no offsets to copy")
        committed = admin.list_group_offsets(options.target)[options.target]
        return _set(admin, options, options.target, committed, targets)


def _committed(admin: "AdminClient", options: argparse.Namespace) -> dict[TopicPartition, OffsetAndMetadata]:
    """Of a group that is there, or that is to be made for topics that are named."""
    if not options.topic and options.file is None:
        listed_groups(admin, [options.group])
    return admin.list_group_offsets(options.group)[options.group]


def _targets(
    admin: "AdminClient", options: argparse.Namespace, committed: Mapping[TopicPartition, OffsetAndMetadata]
) -> Targets:
    if options.file is not None:
        rows = json_rows(options.file, ("topic", "partition", "to"))
        return {TopicPartition(str(row["topic"]), int(row["partition"])): int(row["to"]) for row in rows}
    places = _places(admin, options, committed)
    bounds = positions.bounds_of(admin, places)
    if options.shift is not None:
        return {
            place: limits.clamped(committed[place].offset + options.shift)
            for place, limits in bounds.items()
            if place in committed
        }
    return positions.offsets_at(admin, positions.parse(options.to, time.time_ns() // 1_000_000), bounds)


def _places(
    admin: "AdminClient", options: argparse.Namespace, committed: Mapping[TopicPartition, OffsetAndMetadata]
) -> list[TopicPartition]:
    if options.topic:
        counts = partition_counts(admin, map(positions.topic_of, options.topic))
        return positions.wanted_partitions(options.topic, counts)
    if not committed:
        raise Refusal(f"group {options.group} has committed no offsets; name topics with --topic")
    there = admin.list_topics(internal=True)
    return sorted(place for place in committed if place.topic in there)


def _set(
    admin: "AdminClient",
    options: argparse.Namespace,
    group: str,
    committed: Mapping[TopicPartition, OffsetAndMetadata],
    targets: Targets,
) -> int:
    rows = [_row(group, place, committed.get(place), offset) for place, offset in sorted(targets.items())]
    show(options, rows, COLUMNS)
    changed = {place: offset for place, offset in targets.items() if _is_change(committed.get(place), offset)}
    if not plan.is_to_be_done(options, is_empty=not changed):
        return 0
    _refuse_if_in_use(admin, group)
    return plan.outcome(
        {
            f"{place.topic}:{place.partition}": each
            for place, each in admin.alter_group_offsets(group, changed).errors.items()
        }
    )


def _row(group: str, place: TopicPartition, before: OffsetAndMetadata | None, offset: int) -> dict[str, object]:
    return {
        "group": group,
        "topic": place.topic,
        "partition": place.partition,
        "committed": None if before is None else before.offset,
        "to": offset,
        "change": None if before is None else offset - before.offset,
    }


def _is_change(before: OffsetAndMetadata | None, offset: int) -> bool:
    return before is None or before.offset != offset


def _refuse_if_in_use(admin: "AdminClient", group: str) -> None:
    """Brokers say of a group with members only that they do not know the one who asks."""
    there = admin.describe_groups([group]).values_ok.get(group)
    if there is not None and there.members:
        clients = ", ".join(sorted({f"{each.client_id} on {each.host}" for each in there.members}))
        raise Refusal(f"group {group} is in use: stop its members first ({clients})")
