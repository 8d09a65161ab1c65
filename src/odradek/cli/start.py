"""`odradek start`: a broker and its controller in this process, until SIGTERM, Ctrl-C or the end of its terminal."""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Mapping

from odradek.cli import single_node
from odradek.cli.command_parser import CommandParser
from odradek.cli.failure import Failure, Refusal
from odradek.cli.server_process import Listen, ServerOptions, run_server
from odradek.cli.server_properties import overrides, read_properties, resolved
from odradek.config.definition import RELEASES
from odradek.config.listeners import PROTOCOLS

PORT_MAX = 65535

_CONFIGS_OF_FLAGS = {
    "--data": ("log.dirs", "log.dir"),
    "--ephemeral": ("log.dirs", "log.dir"),
    "--listen": ("listeners",),
}

# What other servers call these flags, and what a user of theirs types first.
_SYNONYMS = {
    "--listen": ("--port", "--host", "--bind", "--address", "--bootstrap-server", "--listeners", "-p"),
    "--data": ("--dir", "--directory", "--data-dir", "--log-dir", "--log-dirs", "--path", "-d"),
    "--config": ("--properties", "--file", "--config-file", "-c"),
    "--override": ("--set", "--property", "-D", "-o"),
    "--ephemeral": ("--temporary", "--tmp", "--in-memory"),
    "--release-version": ("--release", "--kafka-version"),
}


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "start",
        help="start a broker",
        description="Starts a broker. When it serves requests it prints one line: "
        "odradek ready: bootstrap=HOST:PORT cluster=ID data=DIR (with --metrics also metrics=HOST:PORT, before data)",
    )
    add_options(parser)
    if isinstance(parser, CommandParser):
        parser.synonyms = {word: flag for flag, words in _SYNONYMS.items() for word in words}
        parser.flag_of_a_stray_file = "--config"  # as kafka-server-start.sh takes it
    parser.set_defaults(run=run)


def add_options(parser: argparse.ArgumentParser) -> None:
    listen, data = "{}:{}".format(*single_node.DEFAULT_LISTEN), single_node.default_data_dir().replace("%", "%%")
    add = parser.add_argument
    add("--config", metavar="FILE", type=named, help="a server.properties, or a few configs for the built-in node")
    add("--release-version", choices=RELEASES, help="what a fresh data dir is formatted at (default: 4.3)")
    add(
        "--listen",
        metavar="HOST:PORT",
        type=listener,
        help=f"where to serve; port 0 is any free one (default: {listen}, with a --config what that says)",
    )
    add(
        "--data",
        metavar="DIR",
        help=f"where the data is; made and formatted if need be (default: {data}, with a --config what that says)",
    )
    add("--ephemeral", action="store_true", help="keep the data in a temporary dir, gone at the end")
    add("--override", metavar="NAME=VALUE", action="append", default=[], help="set any config")
    add(
        "--metrics",
        metavar="HOST:PORT",
        type=address,
        help="serve /metrics, /health and /ready; port 0 is any free one",
    )
    add("--log", metavar="FILE", type=named, help="append the server log to this file; - is standard error")
    add("--brokers", metavar="N", type=int, default=1, help="how many brokers to start: 1, for more are not built yet")


def run(options: argparse.Namespace) -> int:
    if options.brokers < 1:
        raise Failure(f"--brokers {options.brokers}: there has to be a broker to start; use --brokers 1")
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
    given = {} if options.config is None else read_properties(options.config)
    overridden = overrides(options.override)
    _refuse_twice(options, overridden)
    values = resolved({**given, **_asked_for(options, given, temporary), **overridden})
    if single_node.describes_a_node(given):
        single_node.refuse_half_a_node(values, options.config)
    else:
        single_node.refuse_foreign_file(given, options.config)
        values = single_node.completed(values, options.release_version)
    return ServerOptions(
        values,
        release=options.release_version,
        formats_fresh_dirs=True,
        metrics=options.metrics,
        log=options.log,
        announces=True,
    )


def _refuse_twice(options: argparse.Namespace, overridden: Mapping[str, str]) -> None:
    """Failure for a flag and an override that say the same thing in two ways: one of them would be in vain."""
    said = {
        "--data": options.data is not None,
        "--ephemeral": options.ephemeral,
        "--listen": options.listen is not None,
    }
    for flag, names in _CONFIGS_OF_FLAGS.items():
        for name in names:
            if said[flag] and name in overridden:
                raise Failure(f"{flag} and --override {name}={overridden[name]} contradict each other: use one of them")


def _asked_for(options: argparse.Namespace, given: Mapping[str, str], temporary: str | None) -> dict[str, str]:
    asked: dict[str, str] = {}
    data = options.data if temporary is None else temporary
    if data is not None:
        asked["log.dirs"] = single_node.absolute(data)
    if options.listen is not None:
        asked.update(_listeners(options.listen, given))
    return asked


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


def named(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty")
    return text


def listener(text: str) -> Listen:
    """`HOST:PORT`, or as Kafka's listeners have it, `PLAINTEXT://HOST:PORT`."""
    protocol, scheme, rest = text.rpartition("://")
    if not scheme or protocol.upper() == "PLAINTEXT":
        return address(rest)
    if protocol.upper() not in PROTOCOLS:
        raise argparse.ArgumentTypeError(f"expected HOST:PORT or PLAINTEXT://HOST:PORT, not {text!r}")
    raise argparse.ArgumentTypeError(
        f"it serves PLAINTEXT only; write --override listeners={text} --override security.inter.broker.protocol="
        f"{protocol.upper()}, with what that protocol needs (ssl.*, sasl.*), or have it in a file of --config"
    )


def address(text: str) -> Listen:
    """`HOST:PORT`, with brackets around an IPv6 host."""
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()):
        raise argparse.ArgumentTypeError(f"expected HOST:PORT, not {text!r}")
    if int(port) > PORT_MAX:
        raise argparse.ArgumentTypeError(f"{port} is no port: they go up to {PORT_MAX}, and 0 is any free one")
    return host.strip("[]"), int(port)


if __name__ == "__main__":
    from odradek.cli.main import main

    sys.exit(main(["start", *sys.argv[1:]]))
