"""`kafka-get-offsets.sh`: the offsets of partitions, `topic:partition:offset` on a line each."""

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from odradek.cli.failure import Refusal
from odradek.cli.kafka import options
from odradek.cli.kafka.options import Given, Options, flag, value
from odradek.cli.kafka.tool import in_one_line, opened_admin, tool

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient
    from odradek.protocol.topic_partition import TopicPartition

TIMES = {
    "latest": -1,
    "earliest": -2,
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
    "earliest-pending-upload": -6,
}
_RULE = re.compile(r"(?P<topic>[^:,]*)(?::(?P<first>\d*)(?P<dash>-?)(?P<last>\d*))?", re.ASCII)

Wanted = Callable[["TopicPartition"], bool]

OPTIONS = Options(
    "kafka-get-offsets.sh",
    "print the offsets of partitions",
    [
        options.BOOTSTRAP,
        options.COMMAND_CONFIG,
        value("topic", "REGEX", "the topics, all if it is not given"),
        value("partitions", "NUMBERS", "the partitions with commas between, all if it is not given"),
        value("topic-partitions", "TOPIC:P,...", "topics with partitions: `orders:0`, `orders:1-3`, `orders:2-`, `:0`"),
        value("time", "TIME", f"{', '.join(TIMES)}, or milliseconds since 1970", "latest"),
        flag("exclude-internal-topics", "leave out the topics that are Kafka's own"),
    ],
)


@tool
def main(arguments: Sequence[str]) -> int:
    from odradek.protocol.errors import KafkaError

    try:
        given = OPTIONS.parse(arguments)
        if not given.has("bootstrap-server"):
            print('Missing required argument "[bootstrap-server]"', file=sys.stderr)
            return 1
        wanted = _wanted(given)
        when = _time(given.text("time"))
        with opened_admin(given) as admin:
            return _print_offsets(given, admin, wanted, when)
    except Refusal as refusal:
        print(f"Error occurred: {refusal}", file=sys.stderr)
    except KafkaError as error:
        print(f"Error occurred: {in_one_line(error)}", file=sys.stderr)
    return 1


def _print_offsets(given: Given, admin: "AdminClient", wanted: Wanted, when: int) -> int:
    places = _partitions(given, admin, wanted)
    if not places:
        raise Refusal("Could not match any topic-partitions with the specified filters")
    found = admin.list_offsets(dict.fromkeys(places, when))
    for place in places:
        error = found.errors.get(place)
        if error is not None:
            from odradek.cli.kafka.java_errors import as_java

            reason = f"{place} due to error: {as_java(error)}"
            print(f"Skip getting offsets for topic-partition {reason}", file=sys.stderr)
        elif found[place].offset >= 0:
            print(f"{place.topic}:{place.partition}:{found[place].offset}")
    return 0


def _partitions(given: Given, admin: "AdminClient", wanted: Wanted) -> "list[TopicPartition]":
    from odradek.protocol.topic_partition import TopicPartition

    names = admin.list_topics(internal=not given.has("exclude-internal-topics"))
    described = admin.describe_topics(names)
    places = [
        TopicPartition(name, each.partition) for name in described.values_ok for each in described[name].partitions
    ]
    return sorted(place for place in places if wanted(place))


def _time(text: str) -> int:
    if text in TIMES:
        return TIMES[text]
    try:
        return int(text)
    except ValueError:
        named = " / ".join(f"{number} or {name}" for name, number in TIMES.items())
        raise Refusal(
            f"Malformed time argument {text}. Please use {named}, or a specified long format timestamp"
        ) from None


def _wanted(given: Given) -> Wanted:
    if given.has("topic-partitions"):
        if given.has("topic") or given.has("partitions"):
            raise Refusal("--topic-partitions cannot be used with --topic or --partitions")
        return _any([_rule(text) for text in given.text("topic-partitions").split(",")])
    numbers = _numbers(given.value("partitions"))
    from odradek.cli.kafka.topic_filter import TopicFilter

    topics = TopicFilter(given.text("topic") or ".*")
    return lambda place: topics.allows(place.topic) and (numbers is None or place.partition in numbers)


def _any(rules: Iterable[Wanted]) -> Wanted:
    listed = list(rules)
    return lambda place: any(rule(place) for rule in listed)


def _numbers(text: str | None) -> frozenset[int] | None:
    if not text:
        return None
    try:
        return frozenset(int(number) for number in text.split(","))
    except ValueError:
        raise Refusal(
            f"--partitions expects a comma separated list of numeric partition ids, but received: {text}"
        ) from None


def _rule(text: str) -> Wanted:
    """`topic:first-last`, the last one not among them; whatever is left out may be anything."""
    from odradek.cli.kafka.topic_filter import TopicFilter

    match = _RULE.fullmatch(text)
    if match is None:
        raise Refusal(f"org.apache.kafka.tools.TerseException: Invalid rule specification: {text}")
    topics = TopicFilter(match["topic"] or ".*")
    if match["dash"]:
        numbers = range(int(match["first"] or 0), int(match["last"]) if match["last"] else 2**31)
    elif match["first"]:
        numbers = range(int(match["first"]), int(match["first"]) + 1)
    else:
        numbers = range(2**31)
    return lambda place: topics.allows(place.topic) and place.partition in numbers
