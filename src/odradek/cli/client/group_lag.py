"""`odradek groups lag`: how many records groups have still to read; with --watch again and again, on one screen."""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from odradek.cli.client.command import Group
from odradek.cli.client.connection import admin_of
from odradek.cli.client.lookup import listed_groups
from odradek.cli.client.table import BOLD, GREEN, YELLOW, painted, show, show_json, table_lines
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient

COLUMNS = {
    "group": "GROUP",
    "topic": "TOPIC",
    "partition": "PARTITION",
    "committed": "COMMITTED",
    "end": "END",
    "lag": "LAG",
    "client": "CLIENT",
    "host": "HOST",
}
TOTALS = {"group": "GROUP", "topic": "TOPIC", "partitions": "PARTITIONS", "lag": "LAG", "members": "MEMBERS"}
EVERY_S = 2.0
SHARE = "share"

_HOME, _CLEAR_BELOW, _CLEAR_RIGHT = "\x1b[H", "\x1b[J", "\x1b[K"


def add_action(group: Group) -> None:
    lag = group.action(
        "lag",
        "how far groups are behind: for each partition of those that are named, in total for all groups otherwise",
        _lag,
        """
        groups lag # every group and topic in one table
        groups lag billing
        groups lag billing --watch # again every two seconds, until Ctrl-C
        groups lag --behind --json # those alone that have something left to read
        """,
    )
    lag.add_argument("groups", nargs="*", default=[], metavar="GROUP")
    lag.add_argument("--topic", "-t", action="append", default=[], metavar="TOPIC", help="only of this topic")
    lag.add_argument("--total", action="store_true", help="one row for each group and topic")
    lag.add_argument("--behind", action="store_true", help="only where something is left to read")
    lag.add_argument(
        "--watch",
        nargs="?",
        type=float,
        const=EVERY_S,
        metavar="SECONDS",
        help=f"again and again, every {EVERY_S:g} seconds unless given",
    )


def lag_rows(admin: "AdminClient", groups: Iterable[str], topics: Iterable[str] = ()) -> list[dict[str, object]]:
    """A row for each partition that a group has committed an offset for, or that a member of it has."""
    names, wanted = list(groups), set(topics)
    committed = admin.list_group_offsets(names).values_ok if names else {}
    members = _members(admin, names)
    places = {
        name: sorted(
            place for place in {*committed.get(name, {}), *members[name]} if not wanted or place.topic in wanted
        )
        for name in names
    }
    ends = _ends(admin, {place for each in places.values() for place in each})
    rows: list[dict[str, object]] = []
    for name in names:
        for place in places[name]:
            offset = committed[name][place].offset if place in committed.get(name, {}) else None
            end = ends.get(place)
            client, host = members[name].get(place, (None, None))
            rows.append(
                {
                    "group": name,
                    "topic": place.topic,
                    "partition": place.partition,
                    "committed": offset,
                    "end": end,
                    "lag": None if offset is None or end is None else max(0, end - offset),
                    "client": client,
                    "host": host,
                }
            )
    return rows


def totals(rows: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """One row for each group and topic."""
    sums: dict[tuple[object, object], dict[str, object]] = {}
    clients: dict[tuple[object, object], set[object]] = {}
    for row in rows:
        key = row["group"], row["topic"]
        total = sums.setdefault(
            key, {"group": row["group"], "topic": row["topic"], "partitions": 0, "lag": 0, "members": 0}
        )
        total["partitions"] = _number(total["partitions"]) + 1
        total["lag"] = _number(total["lag"]) + _number(row["lag"])
        clients.setdefault(key, set()).add((row["client"], row["host"]))
        total["members"] = len(clients[key] - {(None, None)})
    return list(sums.values())


def _lag(options: argparse.Namespace) -> int:
    with admin_of(options, is_long=options.watch is not None) as admin:
        if options.watch is not None:
            return _watch(admin, options)
        rows = _found(admin, options)
    show(options, rows, _columns(options))
    return 0


def _found(admin: "AdminClient", options: argparse.Namespace) -> list[dict[str, object]]:
    kinds = {name: each.kind for name, each in listed_groups(admin, options.groups).items()}
    rows = lag_rows(admin, [name for name in kinds if kinds[name] != SHARE], options.topic)
    rows += _share_rows(admin, [name for name in kinds if kinds[name] == SHARE], options.topic)
    if _is_total(options):
        rows = totals(rows)
    return [row for row in rows if row["lag"]] if options.behind else rows


def _share_rows(admin: "AdminClient", groups: list[str], topics: list[str]) -> list[dict[str, object]]:
    """Share groups commit no offsets: their brokers know where each begins, and how much is left."""
    if not groups:
        return []
    found = admin.list_share_group_offsets(dict.fromkeys(groups)).values_ok
    return [
        {
            "group": group,
            "topic": place.topic,
            "partition": place.partition,
            "committed": at.start_offset,
            "end": None,
            "lag": at.lag,
            "client": None,
            "host": None,
        }
        for group, offsets in found.items()
        for place, at in sorted(offsets.values_ok.items())
        if at is not None and (not topics or place.topic in topics)
    ]


def _is_total(options: argparse.Namespace) -> bool:
    return bool(options.total or not options.groups)


def _columns(options: argparse.Namespace) -> dict[str, str]:
    return TOTALS if _is_total(options) else COLUMNS


def _watch(admin: "AdminClient", options: argparse.Namespace) -> int:
    """Until it is interrupted. A terminal shows one table that changes; elsewhere tables follow each other."""
    is_screen = sys.stdout.isatty() and not options.json
    if is_screen:
        print("\x1b[2J", end="")
    while True:
        rows = _found(admin, options)
        if options.json:
            at_ms = time.time_ns() // 1_000_000
            show_json({"at_ms": at_ms, **row} for row in rows)
        elif is_screen:
            _draw(rows, options)
        else:
            show(options, rows, _columns(options))
        sys.stdout.flush()
        time.sleep(max(0.1, options.watch))


def _draw(rows: list[dict[str, object]], options: argparse.Namespace) -> None:
    """Line over line: a screen that is cleared first would flicker."""
    columns = _columns(options)
    size = shutil.get_terminal_size()
    total = sum(_number(row["lag"]) for row in rows)
    heading = f"lag {total}  {time.strftime('%H:%M:%S')}  every {options.watch:g} s, Ctrl-C ends"
    lines = [painted(heading[: size.columns], YELLOW if total else GREEN)]
    table = table_lines([[row.get(field) for field in columns] for row in rows], list(columns.values()))
    room = size.lines - 2
    lines += [painted(table[0][: size.columns], BOLD), *(line[: size.columns] for line in table[1:room])]
    if len(table) > room:
        lines.append(f"... and {len(table) - room} more"[: size.columns])
    print(_HOME + "".join(f"{line}{_CLEAR_RIGHT}{os.linesep}" for line in lines) + _CLEAR_BELOW, end="")


def _members(admin: "AdminClient", names: list[str]) -> dict[str, dict[TopicPartition, tuple[str, str]]]:
    """Who has which partition, by group."""
    found: dict[str, dict[TopicPartition, tuple[str, str]]] = {name: {} for name in names}
    described = admin.describe_groups(names).values_ok if names else {}
    for name, group in described.items():
        for member in group.members:
            found[name].update(dict.fromkeys(member.assignment, (member.client_id, member.host)))
    return found


def _ends(admin: "AdminClient", places: set[TopicPartition]) -> dict[TopicPartition, int]:
    """A topic may have been deleted since a group read it: its partitions have no end."""
    from odradek.client.admin.topics import LATEST

    if not places:
        return {}
    there = admin.list_topics(internal=True)
    asked = dict.fromkeys((place for place in places if place.topic in there), LATEST)
    found = admin.list_offsets(asked).values_ok if asked else {}
    return {place: each.offset for place, each in found.items()}


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
