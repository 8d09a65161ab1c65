"""`odradek contexts`: clusters by name, in contexts.toml."""

import argparse
import sys

from odradek.cli.client import contexts_file
from odradek.cli.client.command import Group
from odradek.cli.client.contexts_file import BOOTSTRAP, BOOTSTRAP_SERVERS
from odradek.cli.client.settings import DEFAULT_BOOTSTRAP, named_values
from odradek.cli.client.table import show, show_fields
from odradek.cli.failure import Failure

HELP = "clusters by name: list, show, use, set, delete"

_SECRETS = ("password", "jaas", "secret", "keystore.key")
_HIDDEN = "(hidden)"


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    group = Group(commands, "contexts", HELP)
    group.action(
        "list",
        f"the contexts of {contexts_file.path()}",
        _list,
        """
        contexts list
        """,
        connects=False,
    )
    showing = group.action(
        "show",
        "the settings of a context, passwords hidden",
        _show,
        """
        contexts show # the current one
        contexts show prod --secrets
        """,
        connects=False,
    )
    showing.add_argument("name", nargs="?", metavar="NAME")
    showing.add_argument("--secrets", action="store_true", help="show passwords, too")
    use = group.action(
        "use",
        "make a context the one that counts where no other is named",
        _use,
        """
        contexts use prod
        contexts use --none # localhost:9092 again
        """,
        json=False,
        connects=False,
    )
    use.add_argument("name", nargs="?", metavar="NAME")
    use.add_argument("--none", action="store_true", help="no context is the current one")
    change = group.action(
        "set",
        "make a context, or change one",
        _set,
        """
        contexts set local -b localhost:9092
        contexts set prod -b kafka-1:9093,kafka-2:9093 -X security.protocol=SSL
        contexts set prod --unset security.protocol
        """,
        json=False,
        connects=False,
    )
    change.add_argument("name", metavar="NAME")
    change.add_argument("-b", "--bootstrap", metavar="HOST:PORT", help="brokers, with commas between them")
    change.add_argument("-X", dest="configs", action="append", default=[], metavar="NAME=VALUE", help="any config")
    change.add_argument("--unset", action="append", default=[], metavar="NAME", help="take a config out of it")
    delete = group.action(
        "delete",
        "forget a context",
        _delete,
        """
        contexts delete test
        """,
        json=False,
        connects=False,
    )
    delete.add_argument("name", metavar="NAME")


def _list(options: argparse.Namespace) -> int:
    contexts = contexts_file.read()
    rows = [
        {
            "current": name == contexts.current,
            "name": name,
            "bootstrap": contexts.configs_of(name).get(BOOTSTRAP_SERVERS, DEFAULT_BOOTSTRAP),
        }
        for name in sorted(contexts.by_name)
    ]
    if not rows and not options.json:
        print(
            f"there are no contexts in {contexts_file.path()}; make one: odradek contexts set NAME -b HOST:PORT",
            file=sys.stderr,
        )
        return 0
    if not options.json:
        rows = [{**row, "current": "*" if row["current"] else " "} for row in rows]
    show(options, rows, {"current": " ", "name": "CONTEXT", "bootstrap": "BOOTSTRAP"})
    return 0


def _show(options: argparse.Namespace) -> int:
    contexts = contexts_file.read()
    name = options.name or contexts.current
    if name is None:
        raise Failure("which context? none is the current one; odradek contexts list shows them")
    configs = contexts.configs_of(name)
    if not options.secrets:
        configs = {key: _HIDDEN if _is_secret(key) else value for key, value in configs.items()}
    fields = {"name": name, **configs}
    show_fields(options, fields, {field: field for field in fields})
    return 0


def _use(options: argparse.Namespace) -> int:
    contexts = contexts_file.read()
    if (options.name is None) != options.none:
        raise Failure("which context? odradek contexts use NAME, or --none")
    if options.name is not None:
        contexts.configs_of(options.name)
    contexts.current = options.name
    contexts_file.write(contexts)
    return 0


def _set(options: argparse.Namespace) -> int:
    contexts = contexts_file.read()
    settings = contexts.by_name.get(options.name, {})
    if options.bootstrap is None and not options.configs and not options.unset and not settings:
        raise Failure(f"what shall it have? odradek contexts set {options.name} -b HOST:PORT")
    if options.bootstrap is not None:
        settings[BOOTSTRAP] = options.bootstrap
        settings.pop(BOOTSTRAP_SERVERS, None)
    settings |= named_values(options.configs, "-X")
    for key in options.unset:
        settings.pop(key, None)
    contexts.by_name[options.name] = settings
    contexts_file.write(contexts)
    return 0


def _delete(options: argparse.Namespace) -> int:
    contexts = contexts_file.read()
    contexts.configs_of(options.name)
    del contexts.by_name[options.name]
    if contexts.current == options.name:
        contexts.current = None
    contexts_file.write(contexts)
    return 0


def _is_secret(name: str) -> bool:
    return any(word in name for word in _SECRETS)
