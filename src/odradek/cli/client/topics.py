"""`odradek topics`: listed, shown, created, deleted, changed, trimmed; and which offsets they have."""

import argparse
import sys

from odradek.cli.client import topic_changes, topic_offsets
from odradek.cli.client.command import Group
from odradek.cli.client.connection import admin_of
from odradek.cli.client.lookup import described_topics, matches
from odradek.cli.client.table import DIM, counted, painted, show, show_json, show_table

HELP = "topics: list, show, create, delete, set, grow, trim, offsets"


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    group = Group(commands, "topics", HELP)
    listing = group.action(
        "list",
        "the topics, with how many partitions and replicas each has",
        _list,
        """
        topics list
        topics list 'order*' # those whose names begin with order
        topics list --names # nothing but names, for scripts
        """,
    )
    listing.add_argument("patterns", nargs="*", default=[], metavar="NAME", help="only these; * stands for anything")
    listing.add_argument("--internal", action="store_true", help="those of the cluster itself, too")
    listing.add_argument("--names", action="store_true", help="one name on each line and nothing else")

    showing = group.action(
        "show",
        "partitions, replicas, offsets and the configs of a topic that are not at their defaults",
        _show,
        """
        topics show orders
        topics show orders --json | odradek -c test topics create --file - # the same topic in another cluster
        """,
    )
    showing.add_argument("names", nargs="+", metavar="TOPIC")
    topic_changes.add_actions(group)
    topic_offsets.add_actions(group)


def _list(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        listed = admin.list_topics(internal=options.internal)
        names = sorted(name for name in listed if matches(name, options.patterns))
        described = admin.describe_topics(names).values_ok if names and not options.names else {}
    if options.names:
        sys.stdout.writelines(f"{name}\n" for name in names)
        return 0
    rows = [
        {
            "name": name,
            "partitions": len(topic.partitions),
            "replication": max((len(each.replicas) for each in topic.partitions), default=0),
            "internal": topic.is_internal,
            "id": topic.topic_id,
        }
        for name, topic in described.items()
    ]
    if not rows and not options.json and not options.patterns:
        print("there are no topics; odradek topics create NAME makes one", file=sys.stderr)
        return 0
    show(options, rows, {"name": "TOPIC", "partitions": "PARTITIONS", "replication": "REPLICAS"})
    return 0


def _show(options: argparse.Namespace) -> int:
    from odradek.client.admin.configs import ConfigResource

    with admin_of(options) as admin:
        described = described_topics(admin, options.names)
        resources = {name: ConfigResource.topic(name) for name in described}
        configs = admin.describe_configs(resources.values())
        bounds = topic_offsets.known_bounds(admin, described.values())
    shown = []
    for name, topic in described.items():
        own = {
            entry.name: entry.value
            for entry in configs[resources[name]].values()
            if entry.source == "DYNAMIC_TOPIC_CONFIG"
        }
        partitions = [
            {
                "partition": each.partition,
                "leader": None if each.leader is None else each.leader.id,
                "leader_epoch": each.leader_epoch,
                "replicas": list(each.replicas),
                "isr": list(each.isr),
                "offline": list(each.offline),
                **topic_offsets.bounds_fields(bounds.get((name, each.partition))),
            }
            for each in topic.partitions
        ]
        shown.append(
            {
                "name": name,
                "id": topic.topic_id,
                "internal": topic.is_internal,
                "replication": max((len(each.replicas) for each in topic.partitions), default=0),
                "configs": own,
                "partitions": partitions,
            }
        )
    if options.json:
        show_json(shown)
    else:
        for number, form in enumerate(shown):
            _show_one(form, is_first=number == 0)
    return 0


def _show_one(form: dict[str, object], *, is_first: bool) -> None:
    partitions, configs = form["partitions"], form["configs"]
    if not isinstance(partitions, list) or not isinstance(configs, dict):
        return
    print("" if is_first else "\n", end="")
    copies = int(str(form["replication"]))
    facts = [counted(len(partitions), "partition"), counted(copies, "replica"), f"id {form['id']}"]
    print(f"{painted(str(form['name']), '1')}  {painted(', '.join(facts), DIM)}")
    for name, value in configs.items():
        print(f"  {name}={value}")
    columns = {
        "partition": "PARTITION",
        "leader": "LEADER",
        "replicas": "REPLICAS",
        "isr": "IN SYNC",
        "start": "START",
        "end": "END",
        "records": "RECORDS",
    }
    show_table([[each[field] for field in columns] for each in partitions], list(columns.values()))
