"""`kafka-groups.sh`: the groups of every kind, and what they are for."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.cli.kafka import options
from odradek.cli.kafka.options import Given, Misuse, Options, flag, value
from odradek.cli.kafka.tool import opened_admin, tool

if TYPE_CHECKING:
    from odradek.client.admin.groups import GroupListing

TYPES = ("classic", "consumer", "share", "streams")
_CONSUMERS = ("consumer", "")  # the protocols of groups that consumers form

OPTIONS = Options(
    "kafka-groups.sh",
    "list the groups of a cluster",
    [
        options.BOOTSTRAP,
        options.COMMAND_CONFIG,
        flag("list", "the groups"),
        value("group-type", "TYPE", f"only groups of a type: {', '.join(TYPES)}"),
        value("protocol", "PROTOCOL", "only groups of a protocol"),
        flag("consumer", "only groups that consumers form"),
        flag("share", "only share groups"),
        flag("streams", "only groups of Streams programs"),
    ],
)


@tool
def main(arguments: Sequence[str]) -> int:
    given = OPTIONS.parse(arguments)
    _check(given)
    with opened_admin(given) as admin:
        _list(given, admin.list_groups())
    return 0


def _check(given: Given) -> None:
    if not given.has("bootstrap-server"):
        raise Misuse("Missing required option(s) [bootstrap-server]")
    if not given.has("list"):
        raise Misuse("Command must include exactly one action: --list.")
    given.refuse("consumer", ["group-type", "protocol", "share", "streams"])
    given.refuse("share", ["consumer", "group-type", "protocol", "streams"])
    given.refuse("streams", ["consumer", "group-type", "protocol", "share"])
    if given.has("group-type") and given.text("group-type").lower() not in TYPES:
        raise Misuse("--group-type must be a valid group type.")


def _list(given: Given, listed: "dict[str, GroupListing]") -> None:
    from odradek.cli.kafka.columns import line, widest
    from odradek.cli.kafka.group_listing import type_name
    from odradek.cli.kafka.java_order import in_java_order

    rows = [listed[name] for name in in_java_order(listed) if _is_wanted(given, listed[name])]
    cells = [(each.group_id, type_name(each.kind), each.protocol_type) for each in rows]
    widths = [widest(20, (cell for row in cells for cell in row))] * 3
    print(line(widths, ["GROUP", "TYPE", "PROTOCOL"]))
    for row in cells:
        print(f"{line(widths, row)} ")


def _is_wanted(given: Given, group: "GroupListing") -> bool:
    if given.has("consumer"):
        return group.kind == "consumer" or (group.kind in ("classic", "") and group.protocol_type in _CONSUMERS)
    for kind in ("share", "streams"):
        if given.has(kind):
            return group.kind == kind
    if given.has("group-type") and group.kind != given.text("group-type").lower():
        return False
    return not given.has("protocol") or group.protocol_type == given.text("protocol")
