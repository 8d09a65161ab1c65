"""What changes topics: `odradek topics create`, `delete`, `set` and `grow`."""

import argparse
import sys
from typing import TYPE_CHECKING

from odradek.cli.client import plan, topic_offsets
from odradek.cli.client.command import Group
from odradek.cli.client.connection import admin_of, tell_errors
from odradek.cli.client.json_input import json_rows
from odradek.cli.client.lookup import described_topics, matches
from odradek.cli.client.near import unknown
from odradek.cli.client.positions import Bounds
from odradek.cli.client.settings import named_values
from odradek.cli.client.table import counted, show
from odradek.cli.failure import Failure

if TYPE_CHECKING:
    from odradek.client.admin.topics import NewTopic, TopicDescription


def add_actions(group: Group) -> None:
    create = group.action(
        "create",
        "create topics",
        _create,
        """
        topics create orders # with as many partitions and replicas as the cluster does it
        topics create orders payments -p 12 -r 3 --set retention.ms=86400000
        topics create --file topics.json # what topics show --json has printed
        """,
    )
    create.add_argument("names", nargs="*", default=[], metavar="TOPIC")
    create.add_argument("-p", "--partitions", type=int, default=-1, metavar="N", help="default: as the cluster has it")
    create.add_argument("-r", "--replication", type=int, default=-1, metavar="N", help="copies of each partition")
    create.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a config of the topic")
    create.add_argument("--file", metavar="FILE", help="topics as topics show --json prints them; - is standard input")
    create.add_argument("--if-missing", action="store_true", help="one that is there already is no mistake")

    delete = group.action(
        "delete",
        "delete topics with all that is in them",
        _delete,
        """
        topics delete orders # shows what would be deleted
        topics delete orders payments --execute
        topics delete 'test-*' --execute
        """,
    )
    delete.add_argument("names", nargs="+", metavar="TOPIC", help="* stands for anything")
    plan.add_execute(delete)

    change = group.action(
        "set",
        "set configs of topics, or give them back their defaults",
        _set,
        """
        topics set orders retention.ms=86400000 cleanup.policy=compact
        topics set orders --unset retention.ms
        """,
        json=False,
    )
    change.add_argument("name", metavar="TOPIC")
    change.add_argument("values", nargs="*", default=[], metavar="NAME=VALUE")
    change.add_argument("--unset", action="append", default=[], metavar="NAME", help="back to its default")

    grow = group.action(
        "grow",
        "give a topic more partitions",
        _grow,
        """
        topics grow orders 12 # so many it has then; keys may go to other partitions from now on
        """,
        json=False,
    )
    grow.add_argument("name", metavar="TOPIC")
    grow.add_argument("count", type=int, metavar="PARTITIONS", help="how many it shall have")


def _create(options: argparse.Namespace) -> int:
    from odradek.protocol.errors import TopicAlreadyExists

    wanted = _new_topics(options)
    with admin_of(options) as admin:
        made = admin.create_topics(wanted)
    errors = {
        name: error
        for name, error in made.errors.items()
        if not (options.if_missing and isinstance(error, TopicAlreadyExists))
    }
    rows = [
        {"name": name, "partitions": info.partitions, "replication": info.replication, "id": info.topic_id}
        for name, info in made.values_ok.items()
    ]
    if rows or options.json:
        show(options, rows, {"name": "CREATED", "partitions": "PARTITIONS", "replication": "REPLICAS"})
    return tell_errors(errors)


def _new_topics(options: argparse.Namespace) -> "list[NewTopic]":
    from odradek.client.admin.topics import NewTopic

    if not options.names and options.file is None:
        raise Failure("which topic? name one (odradek topics create orders), or a file of them with --file")
    if options.names and options.file is not None:
        raise Failure(
            "topics are either named or described in a file: with --file, leave out "
            f"{' and '.join(options.names)}; without it, -p, -r and --set say what they shall be like"
        )
    configs = named_values(options.set, "--set")
    if options.file is None:
        return [NewTopic(name, options.partitions, options.replication, configs) for name in options.names]
    wanted = []
    for row in json_rows(options.file, ("name",)):
        partitions, replication = row.get("partitions", -1), row.get("replication", -1)
        count = len(partitions) if isinstance(partitions, list) else int(partitions)
        wanted.append(NewTopic(str(row["name"]), count, int(replication), {**(row.get("configs") or {}), **configs}))
    return wanted


def _delete(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        there = admin.list_topics(internal=True)
        names = []
        for wanted in options.names:
            found = [name for name in there if matches(name, [wanted])]
            if not found:
                raise unknown("topic", wanted, there, "odradek topics list")
            names += found
        described = described_topics(admin, names)
        bounds = topic_offsets.known_bounds(admin, described.values())
        rows = [
            {"name": name, "partitions": len(topic.partitions), "records": _records(topic, bounds)}
            for name, topic in described.items()
        ]
        show(options, rows, {"name": "DELETE", "partitions": "PARTITIONS", "records": "RECORDS"})
        if not plan.is_to_be_done(options):
            return 0
        return plan.outcome(admin.delete_topics(described).errors)


def _records(topic: "TopicDescription", bounds: dict[tuple[str, int], Bounds]) -> int:
    mine = [bounds.get((topic.name, each.partition)) for each in topic.partitions]
    return sum(each.end - each.start for each in mine if each is not None)


def _set(options: argparse.Namespace) -> int:
    from odradek.client.admin.configs import DELETE, ConfigChange, ConfigResource

    if not options.values and not options.unset:
        raise Failure("what shall be set? odradek topics set TOPIC NAME=VALUE, or --unset NAME")
    changes = [ConfigChange(name, value) for name, value in named_values(options.values, "").items()]
    changes += [ConfigChange(name, None, DELETE) for name in options.unset]
    with admin_of(options) as admin:
        described_topics(admin, [options.name])
        admin.incremental_alter_configs({ConfigResource.topic(options.name): changes}).raise_any()
    print(f"{options.name}: {counted(len(changes), 'config')} changed", file=sys.stderr)
    return 0


def _grow(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        before = len(described_topics(admin, [options.name])[options.name].partitions)
        admin.create_partitions({options.name: options.count}).raise_any()
    print(f"{options.name}: {before} partitions before, {options.count} now", file=sys.stderr)
    return 0
