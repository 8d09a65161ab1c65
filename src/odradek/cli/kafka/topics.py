"""`kafka-topics.sh`: topics listed, described, created, given more partitions, deleted.

What goes wrong with the command line is said on standard error, what goes wrong on the way on standard output, as
Kafka's tool does it; the exit status is 1 in both cases.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.cli.failure import Failure, Refusal
from odradek.cli.kafka import options
from odradek.cli.kafka.options import Given, Misuse, Options, flag, value
from odradek.cli.kafka.tool import in_one_line, opened_admin, tool

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient

ACTIONS = ("create", "delete", "describe", "list", "alter")
REPORTS = (
    "under-replicated-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
    "unavailable-partitions",
)

OPTIONS = Options(
    "kafka-topics.sh",
    "list, describe, create, alter or delete topics",
    [
        options.BOOTSTRAP,
        options.COMMAND_CONFIG,
        flag("list", "the names of all topics, or of those that --topic matches"),
        flag("create", "a new topic"),
        flag("delete", "topics, with everything in them"),
        flag("alter", "give a topic more partitions"),
        flag("describe", "partitions, replicas and configs of topics"),
        value("topic", "TOPIC", "a name; but for --create a regular expression"),
        value("topic-id", "ID", "the topic to describe, by its id"),
        value("config", "NAME=VALUE", "a config of a new topic; may be repeated"),
        value("delete-config", "NAME", "no longer used"),
        value("partitions", "NUMBER", "how many partitions the topic shall have"),
        value("replication-factor", "NUMBER", "how many replicas each partition of a new topic shall have"),
        value("replica-assignment", "B:B,B:B", "the brokers of each partition: commas between partitions"),
        flag("under-replicated-partitions", "describe only partitions with replicas that are behind"),
        flag("unavailable-partitions", "describe only partitions without a leader"),
        flag("under-min-isr-partitions", "describe only partitions with fewer replicas in sync than they need"),
        flag("at-min-isr-partitions", "describe only partitions with just as many replicas in sync as they need"),
        flag("topics-with-overrides", "describe only topics with configs of their own"),
        flag("if-exists", "do nothing about a topic that is not there"),
        flag("if-not-exists", "create a topic only if it is not there"),
        flag("exclude-internal", "leave out the topics that are Kafka's own"),
        value("partition-size-limit-per-response", "NUMBER", "of no effect here: pages are as large as brokers like"),
    ],
)


@tool
def main(arguments: Sequence[str]) -> int:
    if not arguments:
        raise Misuse("Create, delete, describe, or change a topic: see kafka-topics.sh --help")
    given = OPTIONS.parse(arguments)
    _check(given)
    from odradek.config.errors import ConfigError
    from odradek.protocol.errors import KafkaError

    try:
        with opened_admin(given) as admin:
            _run(given, admin)
    except KafkaError as error:
        from odradek.cli.kafka.java_errors import words

        return _failed(words(error))
    except ConfigError as error:
        raise Refusal(in_one_line(error)) from None
    except Misuse as misuse:  # a number that is none
        return _failed(str(misuse))
    except Failure as failure:
        if isinstance(failure, Refusal):
            return _failed(str(failure))
        raise
    return 0


def _failed(reason: str) -> int:
    print(f"Error while executing topic command : {reason}")
    return 1


def _check(given: Given) -> None:
    if sum(map(given.has, ACTIONS)) != 1:
        raise Misuse("Command must include exactly one action: --list, --describe, --create, --alter or --delete")
    if not given.has("bootstrap-server"):
        raise Misuse("--bootstrap-server must be specified")
    if given.has("describe") and given.has("if-exists") and not given.has("topic-id"):
        given.require("topic")
    if not given.has("list") and not given.has("describe"):
        given.require("topic")
    if given.has("alter"):
        if given.has("config"):
            raise Misuse(
                'Option combination "[[config], [bootstrap-server]]" can\'t be used with option "[alter]" (To alter '
                "topic configurations, the kafka-configs tool can be used.)"
            )
        given.require("partitions")
    _check_together(given)


def _check_together(given: Given) -> None:
    given.refuse("config", _all_but("alter", "create"))
    given.refuse("partitions", ("describe", "delete", "list"))
    given.refuse("replication-factor", ("alter", "describe", "delete", "list"))
    given.refuse("replica-assignment", ("describe", "delete", "list"))
    if given.has("create"):
        given.refuse("replica-assignment", ("partitions", "replication-factor"))
    for report in REPORTS:
        given.refuse(report, (*_all_but("describe"), "topics-with-overrides"))
    given.refuse("topics-with-overrides", (*_all_but("describe"), *REPORTS))
    given.refuse("if-exists", _all_but("alter", "delete", "describe"))
    given.refuse("if-not-exists", _all_but("create"))
    given.refuse("exclude-internal", _all_but("list", "describe"))


def _all_but(*actions: str) -> tuple[str, ...]:
    return tuple(action for action in ACTIONS if action not in actions)


def _run(given: Given, admin: "AdminClient") -> None:
    from odradek.cli.kafka import topic_changes, topic_reports

    if given.has("delete-config"):
        import sys

        print(
            "delete-config option is no longer supported and deprecated since version 4.0. The config will be fully "
            "removed in future releases.",
            file=sys.stderr,
        )
    if given.has("create"):
        topic_changes.create(given, admin)
    elif given.has("alter"):
        topic_changes.alter(given, admin)
    elif given.has("delete"):
        topic_changes.delete(given, admin)
    elif given.has("list"):
        print("\n".join(topic_reports.found_topics(given, admin)))
    else:
        topic_reports.describe(given, admin)
