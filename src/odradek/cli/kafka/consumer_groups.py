"""`kafka-consumer-groups.sh`: groups of consumers listed, described, moved to other offsets, deleted."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.cli.failure import Failure, Refusal
from odradek.cli.kafka import options
from odradek.cli.kafka.options import Given, Misuse, Options, flag, optional, value
from odradek.cli.kafka.tool import opened_admin, tool

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient

ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets", "validate-regex")
SCENARIOS = (
    "to-offset",
    "shift-by",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "to-current",
    "from-file",
)

OPTIONS = Options(
    "kafka-consumer-groups.sh",
    "list, describe or delete consumer groups, or reset their offsets",
    [
        options.BOOTSTRAP,
        options.COMMAND_CONFIG,
        flag("list", "the groups of the cluster"),
        flag("describe", "where groups are, and how far behind"),
        flag("delete", "groups without members, with their offsets"),
        flag("reset-offsets", "let groups without members go on from elsewhere"),
        flag("delete-offsets", "what groups have committed for a topic"),
        value("validate-regex", "REGEX", "left out: brokers of 4.3 check it when a consumer subscribes"),
        value("group", "GROUP", "may be repeated"),
        flag("all-groups", "all groups of the cluster"),
        value("topic", "TOPIC[:P,P...]", "whose offsets are reset or deleted; may be repeated"),
        flag("all-topics", "all topics that the group has offsets of"),
        value("timeout", "MS", "how long to wait for groups that settle", "30000"),
        optional("state", "STATES", "with --describe the state of groups, with --list those in these states"),
        optional("type", "TYPES", "with --list groups of these types: classic or consumer"),
        flag("members", "describe the members"),
        flag("offsets", "describe the offsets, as --describe alone does"),
        flag("verbose", "describe more of it"),
        flag("dry-run", "show what a reset would do"),
        flag("execute", "do it"),
        flag("export", "print a reset as lines for --from-file"),
        value("from-file", "FILE", "reset to the offsets in a CSV file"),
        value("to-datetime", "TIME", "reset to a time: YYYY-MM-DDTHH:mm:SS.sss, with a zone or in UTC"),
        value("by-duration", "DURATION", "reset to so long ago: PnDTnHnMnS"),
        value("to-offset", "OFFSET", "reset to an offset"),
        value("shift-by", "NUMBER", "reset by so many records, back if it is negative"),
        flag("to-earliest", "reset to the first record"),
        flag("to-latest", "reset to the end"),
        flag("to-current", "reset to where the group is"),
    ],
)


@tool
def main(arguments: Sequence[str]) -> int:
    given = OPTIONS.parse(arguments)
    check(given)
    from odradek.protocol.errors import KafkaError

    try:
        with opened_admin(given) as admin:
            _run(given, admin)
    except Misuse:
        raise
    except KafkaError as error:
        from odradek.cli.kafka.java_errors import as_java

        return failed("consumer", as_java(error))
    except Refusal as refusal:
        return failed("consumer", str(refusal))
    return 0


def failed(kind: str, reason: str) -> int:
    """Kafka's tool ends with 0 here, which tells a program that all is well: ours does not."""
    print(f"\nError: Executing {kind} group command failed due to {reason}")
    return 1


def check(given: Given) -> None:
    if sum(map(given.has, ACTIONS)) != 1:
        _check_list(given)
        raise Misuse(
            "Command must include exactly one action: --list, --describe, --delete, --reset-offsets, --delete-offsets, "
            "--validate-regex"
        )
    given.require("bootstrap-server")
    if given.has("validate-regex"):
        raise Failure("--validate-regex is not served: a consumer's subscription tells whether a broker takes a regex")
    _check_list(given)
    if given.has("describe"):
        _check_describe(given)
    if given.has("delete"):
        _need_group(given, "delete")
        if given.has("topic"):
            raise Misuse("The consumer does not support topic-specific offset deletion from a consumer group.")
    if given.has("delete-offsets") and not (given.has("group") and given.has("topic")):
        raise Misuse("Option [delete-offsets] takes the following options: [group], [topic]")
    if given.has("reset-offsets"):
        _check_reset(given)
    given.refuse("group", ["all-groups"])


def _check_list(given: Given) -> None:
    if given.has("list"):
        given.refuse("group", ["list"])
        for name in ("verbose", "members", "offsets"):
            if given.has(name):
                raise Misuse(f"Option(s) [{name}] are unavailable given other options on the command line")


def _need_group(given: Given, action: str) -> None:
    if not given.has("group") and not given.has("all-groups"):
        raise Misuse(f"Option [{action}] takes one of these options: [all-groups], [group]")


def _check_describe(given: Given) -> None:
    _need_group(given, "describe")
    if sum(map(given.has, ("members", "offsets", "state"))) > 1:
        raise Misuse("Option [describe] takes at most one of these options: [members], [offsets], [state]")
    if given.has("state") and given.value("state") is not None:
        raise Misuse("Option [describe] does not take a value for [state]")


def _check_reset(given: Given) -> None:
    if given.has("dry-run") and given.has("execute"):
        raise Misuse("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not given.has("dry-run") and not given.has("execute"):
        import sys

        print(
            "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will "
            "require either --dry-run or --execute to be specified. You should add the --dry-run option explicitly if "
            "you are scripting this command and want to keep the current default behavior without prompting.",
            file=sys.stderr,
        )
    _need_group(given, "reset-offsets")
    for scenario in SCENARIOS:
        given.refuse(scenario, SCENARIOS)


def _run(given: Given, admin: "AdminClient") -> None:
    from odradek.cli.kafka import group_changes, group_listing, group_reports, group_resets

    if given.has("list"):
        group_listing.list_groups(given, admin)
    elif given.has("describe"):
        group_reports.describe(given, admin)
    elif given.has("delete"):
        group_changes.delete_groups(given, admin)
    elif given.has("delete-offsets"):
        group_changes.delete_offsets(given, admin)
    else:
        group_resets.reset(given, admin)
