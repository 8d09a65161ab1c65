"""`odradek cluster`: who is in it, whether it is well, which features it has."""

import argparse
from typing import TYPE_CHECKING

from odradek.cli.client.command import Group
from odradek.cli.client.connection import admin_of
from odradek.cli.client.table import BOLD, DIM, GREEN, RED, counted, painted, show, show_json, show_table

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient
    from odradek.client.admin.topics import PartitionDescription

HELP = "the cluster: info, health, features"


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    group = Group(commands, "cluster", HELP)
    group.action(
        "info",
        "the id of the cluster and its brokers",
        _info,
        """
        cluster info
        cluster info -b kafka-1:9092 --json
        """,
    )
    group.action(
        "health",
        "whether anything is wrong: brokers that are shut out, partitions without a leader or short of replicas",
        _health,
        """
        cluster health # exit status 1 if something is wrong
        cluster health --json
        """,
    )
    group.action(
        "features",
        "the features that the cluster has switched on, and the levels that it could have",
        _features,
        """
        cluster features
        """,
    )


def _info(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        found = admin.describe_cluster()
        topics = len(admin.list_topics())
    controller = None if found.controller is None else found.controller.id
    nodes = [
        {
            "id": node.id,
            "host": node.host,
            "port": node.port,
            "rack": node.rack,
            "is_controller": node.id == controller,
        }
        for node in found.nodes
    ]
    if options.json:
        show_json([{"cluster": found.cluster_id, "controller": controller, "topics": topics, "brokers": nodes}])
        return 0
    facts = [counted(len(nodes), "broker"), counted(topics, "topic")]
    print(f"{painted(found.cluster_id, BOLD)}  {painted(', '.join(facts), DIM)}")
    show_table(
        [[each["id"], f"{each['host']}:{each['port']}", each["rack"], each["is_controller"]] for each in nodes],
        ["BROKER", "ADDRESS", "RACK", "CONTROLLER"],
    )
    return 0


def _health(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        problems = _problems(admin)
    if options.json:
        show_json([{"is_healthy": not problems, "problems": problems}])
    elif problems:
        for problem in problems:
            print(f"{painted('wrong', RED)}  {problem}")
    else:
        print(painted("healthy", GREEN))
    return 1 if problems else 0


def _problems(admin: "AdminClient") -> list[str]:
    found = admin.describe_cluster()
    problems = [] if found.controller is not None else ["no controller is known"]
    names = admin.list_topics(internal=True)
    described = admin.describe_topics(names).values_ok.values() if names else ()
    for topic in described:
        problems += [
            f"{topic.name}:{each.partition} {problem}" for each in topic.partitions for problem in _problems_of(each)
        ]
    return problems


def _problems_of(partition: "PartitionDescription") -> list[str]:
    problems = [] if partition.leader is not None else ["has no leader: it cannot be written or read"]
    if partition.offline:
        problems.append(f"has replicas that are offline: {_numbers(partition.offline)}")
    missing = sorted(set(partition.replicas) - set(partition.isr))
    if missing:
        problems.append(f"has replicas that are behind: {_numbers(missing)}")
    return problems


def _numbers(numbers: "tuple[int, ...] | list[int]") -> str:
    return ", ".join(map(str, numbers))


def _features(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        found = admin.describe_features()
    rows = [
        {
            "feature": name,
            "level": found.finalized[name].high if name in found.finalized else 0,
            "lowest": found.supported[name].low if name in found.supported else None,
            "highest": found.supported[name].high if name in found.supported else None,
        }
        for name in sorted({*found.finalized, *found.supported})
    ]
    show(options, rows, {"feature": "FEATURE", "level": "LEVEL", "lowest": "LOWEST", "highest": "HIGHEST"})
    return 0
