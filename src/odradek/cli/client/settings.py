"""Which cluster a command talks to, and how: from its flags, the environment, a context or a file of properties.

The later one wins: context, --config, ODRADEK_BOOTSTRAP, -b, -X. The current context counts only where no other address
is named: its passwords are meant for its own cluster and for no other.
"""

import argparse
import os
from collections.abc import Iterable

from odradek.cli.client import contexts_file
from odradek.cli.client.contexts_file import BOOTSTRAP_SERVERS
from odradek.cli.failure import Failure

DEFAULT_BOOTSTRAP = "localhost:9092"
ENVIRONMENT_BOOTSTRAP, ENVIRONMENT_CONTEXT = "ODRADEK_BOOTSTRAP", "ODRADEK_CONTEXT"
CLIENT_ID = "odradek-cli"


def add_connection_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("the cluster").add_argument
    add(
        "-b",
        "--bootstrap",
        metavar="HOST:PORT",
        help="brokers to ask first, with commas between them (default: $ODRADEK_BOOTSTRAP, the current context, "
        f"or {DEFAULT_BOOTSTRAP})",
    )
    add("-c", "--context", metavar="NAME", help="a cluster of contexts.toml; see odradek contexts --help")
    add("--config", metavar="FILE", help="a client.properties, as Kafka's own tools take it")
    add("-X", dest="configs", metavar="NAME=VALUE", action="append", default=[], help="any config of Kafka's clients")
    add("--timeout", metavar="SECONDS", type=_seconds, help="how long to wait for answers (default: 10)")


def client_configs(options: argparse.Namespace) -> dict[str, str]:
    """All that is set, with an address in any case."""
    configs: dict[str, str] = {}
    from_environment = os.environ.get(ENVIRONMENT_BOOTSTRAP)
    named = options.context or os.environ.get(ENVIRONMENT_CONTEXT)
    if named:
        configs |= contexts_file.read().configs_of(named)
    elif not (options.bootstrap or options.config or from_environment):
        contexts = contexts_file.read()
        configs |= {} if contexts.current is None else contexts.configs_of(contexts.current)
    if options.config is not None:
        configs |= _configs_of_file(options)
    if from_environment and not named:
        configs[BOOTSTRAP_SERVERS] = from_environment
    if options.bootstrap:
        configs[BOOTSTRAP_SERVERS] = options.bootstrap
    configs |= named_values(options.configs, "-X")
    configs.setdefault(BOOTSTRAP_SERVERS, DEFAULT_BOOTSTRAP)
    return {"client.id": CLIENT_ID, **configs}


def _configs_of_file(options: argparse.Namespace) -> dict[str, str]:
    from odradek.cli.server_properties import read_properties, resolved

    path: str = options.config
    if "=" in path and not os.path.exists(path):
        topic = f"--set {path}" if hasattr(options, "set") else f"odradek topics set TOPIC {path}"
        raise Failure(
            f"--config {path}: there is no such file; --config is a file of client configs. "
            f"A single one is given by -X NAME=VALUE, one of a topic by {topic}"
        )
    return resolved(read_properties(path))


def named_values(given: Iterable[str], flag: str) -> dict[str, str]:
    """NAME=VALUE of each; Failure for one that is not of that form."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise Failure(f"{flag} {text}: expected NAME=VALUE".lstrip())
        found[name.strip()] = value
    return found


def _seconds(text: str) -> float:
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds, not {text!r}")
    return seconds
