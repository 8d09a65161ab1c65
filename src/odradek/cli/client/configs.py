"""`odradek configs`: the configs of topics, brokers, groups and clients.

The configs of users, client ids and addresses are quotas, which brokers keep apart: the same four actions do for them.
"""

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from odradek.cli.client import quota_configs
from odradek.cli.client.command import Group
from odradek.cli.client.connection import admin_of
from odradek.cli.client.json_input import json_rows
from odradek.cli.client.lookup import described_topics
from odradek.cli.client.near import nearest
from odradek.cli.client.settings import named_values
from odradek.cli.client.table import counted, show
from odradek.cli.failure import Failure, Refusal
from odradek.config.vocabulary import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient
    from odradek.client.admin.configs import ConfigChange, ConfigEntry, ConfigResource

HELP = "configs of topics, brokers, groups and clients: list, show, set, unset"

KINDS = {
    "topic": TOPIC,
    "broker": BROKER,
    "broker-logger": BROKER_LOGGER,
    "group": GROUP,
    "client-metrics": CLIENT_METRICS,
}
ALL_KINDS = (*KINDS, *quota_configs.KINDS)
DEFAULT_NAMES = ("default", "*")
DEFAULTED = ("DEFAULT_CONFIG", "STATIC_BROKER_CONFIG")


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    group = Group(commands, "configs", HELP)
    listing = group.action(
        "list",
        "what there is that may have configs of its own",
        _list,
        """
        configs list
        configs list topic
        """,
    )
    listing.add_argument("kind", nargs="?", choices=ALL_KINDS, metavar="KIND", help=", ".join(ALL_KINDS))
    showing = group.action(
        "show",
        "the configs of one thing that were set for it, or with --all every one",
        _show,
        """
        configs show topic orders
        configs show broker 1 --all
        configs show broker default # what is set for all brokers
        configs show topic orders retention.ms # one, at its default or not
        configs show user alice # quotas
        """,
    )
    _add_thing(showing)
    showing.add_argument("configs_shown", nargs="*", default=[], metavar="CONFIG", help="only these")
    showing.add_argument("--all", action="store_true", help="those at their defaults, too")
    change = group.action(
        "set",
        "set configs of one thing: all of them or none",
        _set,
        """
        configs set topic orders retention.ms=86400000
        configs set broker default log.retention.ms=86400000
        configs set client-id reports consumer_byte_rate=1048576
        configs set topic orders --file configs.json # what configs show --json has printed
        """,
        json=False,
    )
    _add_thing(change)
    change.add_argument("values", nargs="*", default=[], metavar="CONFIG=VALUE")
    change.add_argument(
        "--file", metavar="FILE", help="configs as configs show --json prints them; - is standard input"
    )
    unset = group.action(
        "unset",
        "give configs of one thing back their defaults",
        _unset,
        """
        configs unset topic orders retention.ms
        configs unset user alice producer_byte_rate
        """,
        json=False,
    )
    _add_thing(unset)
    unset.add_argument("names", nargs="+", metavar="CONFIG")


def _add_thing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=ALL_KINDS, metavar="KIND", help=", ".join(ALL_KINDS))
    parser.add_argument("name", metavar="NAME", help="its name; default for what all brokers, users or clients have")


def _list(options: argparse.Namespace) -> int:
    rows: list[dict[str, object]] = []
    with admin_of(options) as admin:
        if options.kind not in quota_configs.KINDS:
            kinds = list(KINDS) if options.kind is None else [options.kind]
            rows += [{"kind": kind, "name": name} for kind in kinds for name in _names(admin, kind)]
        if options.kind is None or options.kind in quota_configs.KINDS:
            rows += quota_configs.listed(admin, options.kind)
    show(options, rows, {"kind": "KIND", "name": "NAME"})
    return 0


def _names(admin: "AdminClient", kind: str) -> list[str]:
    if kind == "topic":
        return sorted(admin.list_topics())
    if kind in ("broker", "broker-logger"):
        return [str(node.id) for node in admin.describe_cluster().nodes] if kind == "broker" else []
    from odradek.protocol.errors import UnsupportedVersion

    try:
        return sorted(each.name for each in admin.list_config_resources([KINDS[kind]]))
    except UnsupportedVersion:  # an older broker has none of these, or cannot tell
        return []


def _show(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        if options.kind in quota_configs.KINDS:
            rows = quota_configs.shown(admin, options.kind, options.name)
        else:
            resource = _resource(admin, options)
            entries = admin.describe_configs([resource])[resource]
            _refuse_unknown(options.configs_shown, entries)
            rows = [
                {
                    "config": entry.name,
                    "value": entry.value,
                    "source": entry.source,
                    "read_only": entry.is_read_only,
                    "sensitive": entry.is_sensitive,
                }
                for entry in sorted(entries.values())
                if _is_wanted(options, entry)
            ]
    if not rows and not options.json:
        print(f"nothing is set for {options.kind} {options.name}; --all shows the defaults", file=sys.stderr)
        return 0
    show(options, rows, {"config": "CONFIG", "value": "VALUE", "source": "SOURCE"})
    return 0


def _set(options: argparse.Namespace) -> int:
    from odradek.client.admin.configs import ConfigChange

    values: dict[str, str | None] = {}
    if options.file is not None:
        rows = json_rows(options.file, ("config", "value"))
        values |= {str(row["config"]): row["value"] for row in rows if not row.get("read_only")}
    values |= named_values(options.values, "")
    if not values:
        raise Failure(f"what shall be set? odradek configs set {options.kind} {options.name} CONFIG=VALUE")
    if options.kind in quota_configs.KINDS:
        return quota_configs.change(options, quota_configs.numbers(values))
    return _change(options, [ConfigChange(name, value) for name, value in values.items()])


def _unset(options: argparse.Namespace) -> int:
    from odradek.client.admin.configs import DELETE, ConfigChange

    if options.kind in quota_configs.KINDS:
        return quota_configs.change(options, dict.fromkeys(options.names))
    return _change(options, [ConfigChange(name, None, DELETE) for name in options.names])


def _change(options: argparse.Namespace, changes: "list[ConfigChange]") -> int:
    with admin_of(options) as admin:
        resource = _resource(admin, options)
        admin.incremental_alter_configs({resource: changes}).raise_any()
    print(f"{resource or options.kind}: {counted(len(changes), 'config')} changed", file=sys.stderr)
    return 0


def _resource(admin: "AdminClient", options: argparse.Namespace) -> "ConfigResource":
    from odradek.client.admin.configs import ConfigResource

    name = options.name
    if options.kind == "topic":
        described_topics(admin, [name])
    elif options.kind in ("broker", "broker-logger"):
        if name in DEFAULT_NAMES:
            name = ""
        elif name not in (there := [str(node.id) for node in admin.describe_cluster().nodes]):
            raise Refusal(f"there is no broker {name}; there are {', '.join(there)}")
    return ConfigResource(KINDS[options.kind], name)


def _is_wanted(options: argparse.Namespace, entry: "ConfigEntry") -> bool:
    if options.configs_shown:
        return entry.name in options.configs_shown
    return options.all or entry.source not in DEFAULTED


def _refuse_unknown(asked: list[str], there: "Mapping[str, ConfigEntry]") -> None:
    for name in asked:
        if name not in there:
            near = nearest(name, there)
            raise Refusal(f"there is no config {name!r}" + (f"; did you mean {near[0]}?" if near else ""))
