"""`kafka-leader-election.sh`: has leaders of partitions elected anew."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.cli.failure import Refusal
from odradek.cli.kafka import options
from odradek.cli.kafka.options import Given, Misuse, Options, flag, value
from odradek.cli.kafka.tool import opened_admin, tool

if TYPE_CHECKING:
    from odradek.client.admin.results import Results
    from odradek.protocol.topic_partition import TopicPartition

PLACES = ("topic", "all-topic-partitions", "path-to-json-file")
TYPES = ("preferred", "unclean")

OPTIONS = Options(
    "kafka-leader-election.sh",
    "have leaders of partitions elected",
    [
        options.BOOTSTRAP,
        value("admin.config", "FILE", "the same as --command-config"),
        options.COMMAND_CONFIG,
        value("election-type", "TYPE", "preferred, or unclean where no replica in sync is left"),
        value("topic", "TOPIC", "of the partition"),
        value("partition", "NUMBER", "of the topic"),
        flag("all-topic-partitions", "wherever the leader is not the right one"),
        value("path-to-json-file", "FILE", '{"partitions": [{"topic": "orders", "partition": 0}]}'),
    ],
)


@tool
def main(arguments: Sequence[str]) -> int:
    given = OPTIONS.parse(arguments)
    _check(given)
    from odradek.protocol.vocabulary import ElectionType

    election = ElectionType[given.text("election-type").upper()]
    places = _partitions(given)
    with opened_admin(given, config_option="admin.config" if given.has("admin.config") else "command-config") as admin:
        return _tell(given, admin.elect_leaders(election, places))


def _check(given: Given) -> None:
    missing = [name for name in ("bootstrap-server", "election-type") if not given.has(name)]
    if missing:
        raise Misuse(f"Missing required option(s): {', '.join(missing)}")
    if sum(map(given.has, PLACES)) != 1:
        raise Misuse(f"One and only one of the following options is required: {', '.join(PLACES)}")
    if given.has("topic") and not given.has("partition"):
        raise Misuse("Missing required option(s): partition")
    if given.has("partition") and not given.has("topic"):
        raise Misuse("Option partition is only allowed if topic is used")
    if given.text("election-type").lower() not in TYPES:
        raise Misuse(f"Cannot parse argument '{given.text('election-type')}' of option election-type")


def _partitions(given: Given) -> "list[TopicPartition] | None":
    from odradek.cli.kafka.json_file import parsed, read_file, required
    from odradek.protocol.topic_partition import TopicPartition

    if given.has("all-topic-partitions"):
        return None
    if given.has("topic"):
        return [TopicPartition(given.text("topic"), given.integer("partition") or 0)]
    try:
        found = parsed(read_file(given.text("path-to-json-file")))
    except Refusal as refusal:
        raise Refusal(f"java.io.IOException: {refusal}" if "Unable" in str(refusal) else str(refusal)) from None
    if not isinstance(found, dict) or "partitions" not in found:
        raise Refusal('Replica election data is missing "partitions" field')
    places = [
        TopicPartition(str(required(each, "topic")), int(required(each, "partition"))) for each in found["partitions"]
    ]
    twice = [str(place) for place in dict.fromkeys(places) if places.count(place) > 1]
    if twice:
        raise Refusal(f"Replica election data contains duplicate partitions: [{', '.join(twice)}]")
    return places


def _tell(given: Given, done: "Results[TopicPartition, None]") -> int:
    from odradek.cli.kafka.java_errors import as_java
    from odradek.cli.kafka.java_order import in_java_order
    from odradek.protocol.errors import ElectionNotNeeded

    elected = ", ".join(str(place) for place in in_java_order(done.values_ok))
    right = ", ".join(str(place) for place, error in done.errors.items() if isinstance(error, ElectionNotNeeded))
    failed = [place for place, error in done.errors.items() if not isinstance(error, ElectionNotNeeded)]
    kind = given.text("election-type").upper()
    if elected:
        print(f"Successfully completed leader election ({kind}) for partitions {elected}")
    if right:
        print(f"Valid replica already elected for partitions {right}")
    for place in failed:
        print(f"Error completing leader election ({kind}) for partition: {place}: {as_java(done.errors[place])}")
    if failed:
        print(f"{len(failed)} replica(s) could not be elected", file=sys.stderr)
    return 1 if failed else 0
