"""`kafka-share-groups.sh`: share groups listed, described, moved to other offsets, deleted."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.cli.failure import Refusal
from odradek.cli.kafka import options
from odradek.cli.kafka.consumer_groups import failed
from odradek.cli.kafka.options import Given, Misuse, Options, flag, optional, value
from odradek.cli.kafka.tool import opened_admin, tool

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient

ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets")
SCENARIOS = ("to-datetime", "to-earliest", "to-latest")

OPTIONS = Options(
    "kafka-share-groups.sh",
    "list, describe or delete share groups, or reset where they begin",
    [
        options.BOOTSTRAP,
        options.COMMAND_CONFIG,
        flag("list", "the share groups of the cluster"),
        flag("describe", "where groups begin, and how far behind they are"),
        flag("delete", "groups without members"),
        flag("reset-offsets", "let groups without members begin elsewhere"),
        flag("delete-offsets", "have a group forget a topic"),
        value("group", "GROUP", "may be repeated"),
        flag("all-groups", "all share groups of the cluster"),
        value("topic", "TOPIC[:P,P...]", "whose offsets are reset or deleted; may be repeated"),
        flag("all-topics", "all topics of the group"),
        value("timeout", "MS", "how long to wait", "30000"),
        optional("state", "STATES", "with --describe the state of groups, with --list those in these states"),
        flag("members", "describe the members"),
        flag("offsets", "describe the offsets, as --describe alone does"),
        flag("verbose", "describe more of it"),
        flag("dry-run", "show what a reset would do"),
        flag("execute", "do it"),
        value("to-datetime", "TIME", "reset to a time: YYYY-MM-DDTHH:mm:SS.sss, with a zone or in UTC"),
        flag("to-earliest", "reset to the first record"),
        flag("to-latest", "reset to the end"),
    ],
)


@tool
def main(arguments: Sequence[str]) -> int:
    given = OPTIONS.parse(arguments)
    _check(given)
    from odradek.protocol.errors import KafkaError

    try:
        with opened_admin(given) as admin:
            _run(given, admin)
    except Misuse:
        raise
    except KafkaError as error:
        from odradek.cli.kafka.java_errors import as_java

        return failed("share", as_java(error))
    except Refusal as refusal:
        return failed("share", str(refusal))
    return 0


def _check(given: Given) -> None:
    if sum(map(given.has, ACTIONS)) != 1:
        raise Misuse(
            "Command must include exactly one action: --list, --describe, --delete, --reset-offsets, --delete-offsets."
        )
    given.require("bootstrap-server")
    if given.has("list"):
        for name in ("verbose", "members", "offsets"):
            if given.has(name):
                raise Misuse(f"Option(s) [{name}] are unavailable given other options on the command line")
    has_groups = given.has("group") or given.has("all-groups")
    if given.has("describe"):
        _check_describe(given, has_groups)
    if given.has("delete") and not has_groups:
        raise Misuse("Option [delete] takes the options [group] or [all-groups]")
    if given.has("delete-offsets") and not (given.has("group") and given.has("topic")):
        raise Misuse("Option [delete-offsets] takes the following options: [group], [topic]")
    if given.has("reset-offsets"):
        _check_reset(given)
    given.refuse("group", ["all-groups"])
    given.refuse("topic", ["all-topics"])


def _check_describe(given: Given, has_groups: bool) -> None:
    if not has_groups:
        raise Misuse("Option [describe] takes one of these options: [all-groups], [group]")
    if sum(map(given.has, ("members", "offsets", "state"))) > 1:
        raise Misuse("Option [describe] takes at most one of these options: [members], [offsets], [state]")
    if given.has("state") and given.value("state") is not None:
        raise Misuse("Option [describe] does not take a value for [state]")


def _check_reset(given: Given) -> None:
    if not given.has("group"):
        raise Misuse("Option [reset-offsets] takes the option: [group]")
    if not given.has("topic") and not given.has("all-topics"):
        raise Misuse("Option [reset-offsets] takes one of these options: [all-topics], [topic]")
    if given.has("dry-run") and given.has("execute"):
        raise Misuse("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not given.has("dry-run") and not given.has("execute"):
        raise Misuse("Option [reset-offsets] takes the option: [execute] or [dry-run]")
    if not any(map(given.has, SCENARIOS)):
        raise Misuse("Option [reset-offsets] takes one of these options: [to-datetime], [to-earliest], [to-latest]")
    for scenario in SCENARIOS:
        given.refuse(scenario, SCENARIOS)


def _run(given: Given, admin: "AdminClient") -> None:
    from odradek.cli.kafka import share_group_changes, share_group_reports

    if given.has("list"):
        share_group_reports.list_groups(given, admin)
    elif given.has("describe"):
        share_group_reports.describe(given, admin)
    elif given.has("delete"):
        share_group_changes.delete_groups(given, admin)
    elif given.has("delete-offsets"):
        share_group_changes.delete_offsets(given, admin)
    else:
        share_group_changes.reset(given, admin)
