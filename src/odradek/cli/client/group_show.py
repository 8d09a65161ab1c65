"""`odradek groups show`: the state and the members of groups, of whatever kind they are."""

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from odradek.cli.client.connection import admin_of, tell_errors
from odradek.cli.client.lookup import listed_groups
from odradek.cli.client.table import BOLD, DIM, counted, painted, show_json, show_table

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient
    from odradek.client.admin.groups import GroupDescription
    from odradek.client.admin.share_groups import ShareGroupDescription
    from odradek.client.admin.streams_groups import StreamsAssignment, StreamsGroupDescription
    from odradek.protocol.json_value import JsonObject
    from odradek.protocol.topic_partition import TopicPartition

    Group = GroupDescription | ShareGroupDescription | StreamsGroupDescription

SHARE, STREAMS = "share", "streams"


def run(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        kinds = {name: each.kind for name, each in listed_groups(admin, options.groups).items()}
        found, errors = _described(admin, kinds)
    forms = [_form(found[name], kinds[name]) for name in kinds if name in found]
    if options.json:
        show_json(forms)
    else:
        for number, form in enumerate(forms):
            print("\n" if number else "", end="")
            _show_one(form)
    return tell_errors(errors)


def _described(admin: "AdminClient", kinds: Mapping[str, str]) -> "tuple[dict[str, Group], dict[str, Exception]]":
    """Each kind has a question of its own, and an answer of the same shape as far as it is shown."""
    # Any: each answers with a class of its own
    ask: dict[str, Any] = {SHARE: admin.describe_share_groups, STREAMS: admin.describe_streams_groups}
    found: dict[str, Group] = {}
    errors: dict[str, Exception] = {}
    for kind in dict.fromkeys(kinds.values()):
        results = ask.get(kind, admin.describe_groups)([name for name in kinds if kinds[name] == kind])
        found |= results.values_ok
        errors |= results.errors
    return found, errors


def _form(group: "Group", kind: str) -> "JsonObject":
    return {
        "group": group.group_id,
        "kind": getattr(group, "kind", kind),
        "state": group.state,
        "assignor": getattr(group, "assignor", ""),
        "coordinator": group.coordinator,
        "members": [
            {
                "member": member.member_id,
                "instance": getattr(member, "instance_id", None),
                "client": member.client_id,
                "host": member.host,
                "assignment": _by_topic(member.assignment),
            }
            for member in group.members
        ],
    }


def _by_topic(assignment: "frozenset[TopicPartition] | StreamsAssignment") -> dict[str, list[int]]:
    """Of a member of a streams group, the tasks that it works on by their subtopology."""
    if not isinstance(assignment, frozenset):
        return {name: list(numbers) for name, numbers in assignment.active.items()}
    found: dict[str, list[int]] = {}
    for place in sorted(assignment):
        found.setdefault(place.topic, []).append(place.partition)
    return found


def _show_one(form: "JsonObject") -> None:
    facts = [form["kind"], form["state"], f"coordinator {form['coordinator']}"]
    facts += [f"assignor {form['assignor']}"] if form["assignor"] else []
    facts.append(counted(len(form["members"]), "member"))
    print(f"{painted(form['group'], BOLD)}  {painted(', '.join(facts), DIM)}")
    rows = [[each["client"], each["host"], each["member"], shown(each["assignment"])] for each in form["members"]]
    if rows:
        show_table(rows, ["CLIENT", "HOST", "MEMBER", "PARTITIONS"])


def shown(assignment: Mapping[str, list[int]]) -> str:
    """`orders:0,2 payments:1`."""
    return " ".join(f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in assignment.items())
