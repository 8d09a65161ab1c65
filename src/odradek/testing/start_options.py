"""What a test asks for, as the flags of `odradek start`: a broker in a test is the one that users start."""

import argparse
from collections.abc import Mapping, Sequence
from typing import NoReturn

from odradek.cli.failure import Failure
from odradek.cli.server_process import ServerOptions
from odradek.cli.start import add_options, server_options


def start_arguments(
    *, release: str | None, data: str, listen: str, config: Mapping[str, object], log: str | None
) -> list[str]:
    """A config that says where to serve or keep the data goes before what would be said of it otherwise."""
    arguments = [] if "log.dirs" in config or "log.dir" in config else ["--data", data]
    if "listeners" not in config:
        arguments += ["--listen", listen]
    if release is not None:
        arguments += ["--release-version", release]
    if log is not None:
        arguments += ["--log", log]
    for name, value in config.items():
        arguments += ["--override", f"{name}={_as_property(value)}"]
    return arguments


def _as_property(value: object) -> str:
    """The value as text, written as in a server.properties."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Failure(message)


def parse(arguments: Sequence[str]) -> ServerOptions:
    """Failure if the flags or what they name make no sense."""
    parser = _Parser(prog="odradek.testing", add_help=False)
    add_options(parser)
    return server_options(parser.parse_args(arguments))
