"""`odradek start`: a broker and its controller in this process, until SIGTERM or Ctrl-C."""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence

from odradek.cli.failure import Failure, Refusal
from odradek.cli.server_process import Listen, ServerOptions, run_server
from odradek.config import properties, providers
from odradek.config.errors import ConfigError

RELEASES = ("3.3", "4.3")
DEFAULT_LISTEN = ("127.0.0.1", 9092)

# One node serves all of it: Kafka's defaults ask for three replicas of its internal topics.
DEFAULTS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "start",
        help="start a broker",
        description="Starts a broker. When it serves requests it prints one line: "
        "odradek ready: bootstrap=HOST:PORT cluster=ID data=DIR",
    )
    add_options(parser)
    parser.set_defaults(run=run)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="a server.properties, Kafka's or ours")
    parser.add_argument("--release-version", choices=RELEASES, help="what a fresh data dir is formatted at (4.3)")
    parser.add_argument("--listen", metavar="HOST:PORT", type=address, help="where to serve; port 0 is any free one")
    parser.add_argument("--data", metavar="DIR", help="where the data is; made and formatted if need be")
    parser.add_argument("--ephemeral", action="store_true", help="keep the data in a temporary dir, gone at the end")
    parser.add_argument("--override", metavar="NAME=VALUE", action="append", default=[], help="set any config")
    parser.add_argument("--metrics", metavar="HOST:PORT", type=address, help="serve /metrics, /health and /ready")
    parser.add_argument("--log", metavar="FILE", help="append the server log to this file; - is standard error")
    parser.add_argument("--brokers", metavar="N", type=int, default=1, help="more than one comes with the cluster")


def run(options: argparse.Namespace) -> int:
    if options.brokers != 1:
        raise Failure("--brokers: more than one broker comes with the cluster, which is not built yet; use --brokers 1")
    if options.ephemeral and options.data is not None:
        raise Failure("--ephemeral and --data contradict each other: use one of them")
    temporary = _temporary_dir() if options.ephemeral else None
    try:
        return run_server(server_options(options, temporary))
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _temporary_dir() -> str:
    try:
        return tempfile.mkdtemp(prefix="odradek-")
    except OSError as error:
        raise Refusal(f"--ephemeral: {error.strerror}; set TMPDIR to a dir that can be written") from None


def server_options(options: argparse.Namespace, temporary: str | None = None) -> ServerOptions:
    """What the parsed flags ask for; Failure if they contradict each other or a file cannot be read."""
    given = read_properties(options.config) if options.config is not None else {}
    changed = overrides(options.override)
    values = {**(given or DEFAULTS), **_asked_for(options, given, temporary), **changed}
    if not given:
        release = options.release_version or _release_of(values["log.dirs"])
        values = {**_quorum(release, values["node.id"]), **values}
    return ServerOptions(
        resolved(values),
        release=options.release_version,
        formats_fresh_dirs=True,
        metrics=options.metrics,
        log=options.log,
        announces=True,
    )


def _asked_for(options: argparse.Namespace, given: Mapping[str, str], temporary: str | None) -> dict[str, str]:
    """What the flags say; without a file also where to listen and where the data is."""
    asked: dict[str, str] = {}
    data = temporary or options.data
    if data is not None or not given:
        asked["log.dirs"] = _absolute(data or default_data_dir())
    if options.listen is not None or not given:
        asked.update(_listeners(options.listen or DEFAULT_LISTEN, given))
    return asked


def _absolute(data: str) -> str:
    if "," in data:
        raise Failure(f"--data {data}: it is one dir, and its name has no comma; several are --override log.dirs=A,B")
    try:
        return os.path.abspath(data)
    except OSError as error:
        raise Failure(f"--data {data}: the working directory is not there: {error.strerror}") from None


def _listeners(listen: Listen, given: Mapping[str, str]) -> dict[str, str]:
    """The controllers' listeners stay as the file has them; what was advertised for another address does not.

    The listener has the name under which the file's brokers meet: Kafka refuses a config that does not serve that one.
    """
    controllers = {name.strip().upper() for name in given.get("controller.listener.names", "CONTROLLER").split(",")}
    kept = [
        address.strip()
        for address in given.get("listeners", "CONTROLLER://127.0.0.1:0").split(",")
        if address.partition("://")[0].strip().upper() in controllers
    ]
    name = given.get("inter.broker.listener.name", "PLAINTEXT").strip().upper()
    host, port = listen
    shown = f"[{host}]" if ":" in host else host
    listeners = {"listeners": ",".join([f"{name}://{shown}:{port}", *kept])}
    if "advertised.listeners" in given:
        listeners["advertised.listeners"] = f"{name}://{shown}:{port}"
    protocols = given.get("listener.security.protocol.map", "")
    if protocols and name == "PLAINTEXT" and f"{name}:" not in protocols.upper():
        listeners["listener.security.protocol.map"] = f"{protocols},{name}:{name}"
    return listeners


def _quorum(release: str | None, node_id: str) -> dict[str, str]:
    """3.3 names the voters in the file; later ones find them in the log, and need a way to a first controller."""
    if release == "3.3":
        return {"controller.quorum.voters": f"{node_id}@127.0.0.1:9093"}
    return {
        "controller.quorum.bootstrap.servers": "127.0.0.1:9093",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
    }


def _release_of(data: str) -> str | None:
    """The release at which a dir was formatted that is there already; a 3.3 gave it no id."""
    path = os.path.join(data, "meta.properties")
    if not os.access(path, os.R_OK):
        return None  # whoever opens the dir says what is wrong with it
    return "4.3" if "directory.id" in read_properties(path) else "3.3"


def default_data_dir() -> str:
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "odradek", "data")


def address(text: str) -> Listen:
    """`HOST:PORT`, with brackets around an IPv6 host."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"expected HOST:PORT, not {text!r}")
    return host.strip("[]"), int(port)


# Shared with Kafka's own command line.


def read_properties(path: str) -> dict[str, str]:
    try:
        with open(path, "rb") as file:
            return properties.load(file.read(), path)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    except ConfigError as error:
        raise Failure(str(error)) from None


def overrides(given: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise Failure(f"--override: expected NAME=VALUE, not {text!r}")
        found[name.strip()] = value.strip()
    return found


class _Outside:
    """What config providers may ask for."""

    def read_file(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def variable(self, name: str) -> str | None:
        return os.environ.get(name)


def resolved(values: Mapping[str, str]) -> dict[str, str]:
    """With `${file:...}` and its kin replaced."""
    try:
        return providers.resolve(values, _Outside())
    except (ConfigError, OSError) as error:
        raise Failure(str(error)) from None


if __name__ == "__main__":
    from odradek.cli.main import main

    sys.exit(main(["start", *sys.argv[1:]]))
