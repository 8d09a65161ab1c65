"""`kafka-log-dirs.sh`: what lies in the log dirs of brokers, as JSON."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from odradek.cli.failure import Refusal
from odradek.cli.kafka import options
from odradek.cli.kafka.options import Given, Options, flag, value
from odradek.cli.kafka.tool import opened_admin, tool

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient
    from odradek.client.admin.log_dirs import LogDirDescription

OPTIONS = Options(
    "kafka-log-dirs.sh",
    "print what lies in the log dirs of brokers",
    [
        options.BOOTSTRAP,
        options.COMMAND_CONFIG,
        flag("describe", "the log dirs"),
        value("topic-list", "TOPICS", "only these topics, with commas between"),
        value("broker-list", "BROKERS", "only these brokers, with commas between"),
    ],
)


@tool
def main(arguments: Sequence[str]) -> int:
    given = OPTIONS.parse(arguments)
    given.require("bootstrap-server", "describe")
    with opened_admin(given) as admin:
        brokers = _brokers(given, admin)
        print("Querying brokers for log directories information")
        found = admin.describe_log_dirs(brokers)
        found.raise_any()
        print(f"Received log directory information from brokers {','.join(map(str, brokers))}")
        print(_as_json(found, _names(given, "topic-list")))
    return 0


def _names(given: Given, option: str) -> list[str]:
    return [name for name in given.text(option).split(",") if name]


def _brokers(given: Given, admin: "AdminClient") -> list[int]:
    there = [node.id for node in admin.describe_cluster().nodes]
    wanted = []
    for text in _names(given, "broker-list"):
        try:
            wanted.append(int(text))
        except ValueError:
            raise Refusal(f'For input string: "{text}"') from None
    absent = [number for number in wanted if number not in there]
    if absent:
        raise Refusal(
            f"ERROR: The given brokers do not exist from --broker-list: {','.join(map(str, absent))}. "
            f"Current existent brokers: {','.join(map(str, there))}"
        )
    return wanted or there


def _as_json(found: "Mapping[int, Mapping[str, LogDirDescription]]", topics: Collection[str]) -> str:
    brokers = [
        {"broker": number, "logDirs": [_dir(path, each, topics) for path, each in dirs.items()]}
        for number, dirs in found.items()
    ]
    return json.dumps({"brokers": brokers, "version": 1}, separators=(",", ":"))


def _dir(path: str, described: "LogDirDescription", topics: Collection[str]) -> dict[str, object]:
    from odradek.cli.kafka.java_errors import as_java
    from odradek.cli.kafka.java_order import in_java_order

    partitions = [
        {
            "partition": str(place),
            "size": described.replicas[place].size_bytes,
            "offsetLag": described.replicas[place].offset_lag,
            "isFuture": described.replicas[place].is_future,
        }
        for place in in_java_order(described.replicas)
        if not topics or place.topic in topics
    ]
    error = None if described.error is None else as_java(described.error)
    return {"partitions": partitions, "error": error, "logDir": path}
