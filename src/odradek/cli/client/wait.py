"""`odradek wait`: until brokers answer, a topic is there, or a group has read everything."""

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.cli.client import group_lag
from odradek.cli.client.command import complete
from odradek.cli.client.connection import admin_of
from odradek.cli.client.waiting import Status
from odradek.cli.failure import Refusal
from odradek.cli.progress import SILENT_SECONDS

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient

HELP = "wait for brokers, a topic, or a group that has read everything"

DEFAULT_TIMEOUT_S = 60.0
EVERY_S = 0.25


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("wait", help=HELP)
    parser.add_argument("--brokers", type=int, default=1, metavar="N", help="until so many are there (default: 1)")
    parser.add_argument("--topic", "-t", action="append", default=[], metavar="TOPIC", help="until it is there and led")
    parser.add_argument("--group", "-g", action="append", default=[], metavar="GROUP", help="until its lag is 0")
    complete(
        parser,
        HELP,
        _wait,
        """
        wait # until a broker answers
        wait --timeout 30 && odradek topics create orders
        wait --topic orders --topic payments
        wait --group billing --timeout 600 # until it has read all that is there
        """,
        json=False,
    )


def _wait(options: argparse.Namespace) -> int:
    """The exit status is 1 if the time is up first, with a line that says what is missing."""
    timeout = DEFAULT_TIMEOUT_S if options.timeout is None else options.timeout
    options.timeout = timeout
    deadline = time.monotonic() + timeout
    with admin_of(options, is_long=True) as admin:
        for is_there in _conditions(options):
            _until(admin, is_there, deadline, timeout)
    return 0


def _conditions(options: argparse.Namespace) -> "list[Callable[[AdminClient], str | None]]":
    """Each tells what is missing, None if nothing is."""
    found: list[Callable[[AdminClient], str | None]] = []
    if options.brokers > 1:
        found.append(lambda admin: _missing_brokers(admin, options.brokers))
    found += [_topic_is_there(name) for name in options.topic]
    found += [_group_is_done(name) for name in options.group]
    return found


def _until(
    admin: "AdminClient", missing: "Callable[[AdminClient], str | None]", deadline: float, timeout: float
) -> None:
    status, began = Status(), time.monotonic()
    try:
        while (reason := missing(admin)) is not None:
            if time.monotonic() + EVERY_S >= deadline:
                raise Refusal(f"after {timeout:g} s {reason}; --timeout SECONDS waits longer")
            if time.monotonic() - began >= SILENT_SECONDS:
                status.show(f"waiting: {reason}")
            time.sleep(EVERY_S)
    finally:
        status.clear()


def _missing_brokers(admin: "AdminClient", wanted: int) -> str | None:
    there = len(admin.describe_cluster().nodes)
    return None if there >= wanted else f"there are {there} brokers of {wanted}"


def _topic_is_there(name: str) -> "Callable[[AdminClient], str | None]":
    def missing(admin: "AdminClient") -> str | None:
        if name not in admin.list_topics(internal=True):
            return f"there is no topic {name}"
        described = admin.describe_topics([name]).values_ok.get(name)
        leaderless = [each.partition for each in described.partitions if each.leader is None] if described else [0]
        return f"{name}:{leaderless[0]} has no leader" if leaderless else None

    return missing


def _group_is_done(name: str) -> "Callable[[AdminClient], str | None]":
    def missing(admin: "AdminClient") -> str | None:
        if name not in admin.list_groups():
            return f"there is no group {name}"
        rows = group_lag.lag_rows(admin, [name])
        lags = [row["lag"] for row in rows]
        left = sum(lag for lag in lags if isinstance(lag, int))
        if not rows or (left == 0 and None in lags):
            return f"group {name} has committed nothing yet"
        return f"group {name} has {left} records left to read" if left else None

    return missing
