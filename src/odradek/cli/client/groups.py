"""`odradek groups`: listed, shown, how far behind they are; set to other offsets, copied, deleted."""

import argparse

from odradek.cli.client import group_lag, group_reset, group_show, plan
from odradek.cli.client.command import Group
from odradek.cli.client.connection import admin_of
from odradek.cli.client.lookup import listed_groups, matches
from odradek.cli.client.table import show

HELP = "groups of consumers: list, show, lag, reset, copy, delete"

KINDS = ("classic", "consumer", "share", "streams")  # what an older broker has is classic, and it does not say so


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    group = Group(commands, "groups", HELP)
    listing = group.action(
        "list",
        "the groups of all brokers, with their kind and state",
        _list,
        """
        groups list
        groups list 'billing-*' --state Stable
        groups list --names # nothing but names, for scripts
        """,
    )
    listing.add_argument("patterns", nargs="*", default=[], metavar="NAME", help="only these; * stands for anything")
    listing.add_argument(
        "--state", action="append", default=[], metavar="STATE", help="only those in it: Stable, Empty"
    )
    listing.add_argument("--kind", choices=KINDS, help="only those of this kind")
    listing.add_argument("--names", action="store_true", help="one name on each line and nothing else")

    showing = group.action(
        "show",
        "the state and the members of groups, with the partitions that each member has",
        group_show.run,
        """
        groups show billing
        groups show billing --json
        """,
    )
    showing.add_argument("groups", nargs="+", metavar="GROUP")
    group_lag.add_action(group)
    group_reset.add_actions(group)

    delete = group.action(
        "delete",
        "delete groups that have no members, with the offsets that they have committed",
        _delete,
        """
        groups delete billing # shows what would be deleted
        groups delete billing --execute
        """,
    )
    delete.add_argument("groups", nargs="+", metavar="GROUP")
    plan.add_execute(delete)


def _list(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        found = admin.list_groups(states=options.state)
    groups = [
        group
        for group in found.values()
        if matches(group.group_id, options.patterns) and options.kind in (None, group.kind or KINDS[0])
    ]
    if options.names:
        for group in groups:
            print(group.group_id)
        return 0
    rows = [
        {"group": each.group_id, "kind": each.kind or KINDS[0], "state": each.state, "protocol": each.protocol_type}
        for each in groups
    ]
    show(options, rows, {"group": "GROUP", "kind": "KIND", "state": "STATE", "protocol": "PROTOCOL"})
    return 0


def _delete(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        listed = listed_groups(admin, options.groups)
        offsets = admin.list_group_offsets(list(listed)).values_ok
        rows = [
            {"group": name, "state": each.state, "offsets": len(offsets.get(name, {}))} for name, each in listed.items()
        ]
        show(options, rows, {"group": "DELETE", "state": "STATE", "offsets": "OFFSETS"})
        if not plan.is_to_be_done(options):
            return 0
        return plan.outcome(admin.delete_groups(listed).errors)
