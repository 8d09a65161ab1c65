"""How a script runs: what goes wrong is one line and an exit status, never a traceback."""

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING

from odradek.cli.failure import Failure
from odradek.cli.kafka.options import Given, HelpWanted
from odradek.cli.output import OutputLost, complain, guarded_errors, guarded_output

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient

INTERRUPTED = 130

Body = Callable[[Sequence[str]], int]
Main = Callable[[Sequence[str] | None], int]


def tool(body: Body) -> Main:
    """The `main` of a script of what it does with its arguments."""

    @wraps(body)
    def main(arguments: Sequence[str] | None = None) -> int:
        with guarded_errors():
            return _status(body, sys.argv[1:] if arguments is None else arguments)

    return main


def _status(body: Body, arguments: Sequence[str]) -> int:
    status = 0
    try:
        with guarded_output():
            status = _said(body, arguments)
    except OutputLost as lost:
        if not lost.reader_left:
            complain(lost)
            status = 1
    except BrokenPipeError:  # of standard error: nobody is left to tell
        pass
    except KeyboardInterrupt:
        status = INTERRUPTED
    return status


def _said(body: Body, arguments: Sequence[str]) -> int:
    from odradek.config.errors import ConfigError
    from odradek.protocol.errors import KafkaError

    try:
        return body(arguments)
    except HelpWanted as wanted:
        print(wanted)
        return 0
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    except (KafkaError, ConfigError) as error:
        print(in_one_line(error), file=sys.stderr)
        return 1


def opened_admin(given: Given, *, config_option: str = "command-config", **defaults: object) -> "AdminClient":
    """The admin client that a command line asks for. `defaults` are overruled by its file of properties."""
    from odradek.client.admin.admin_client import AdminClient

    servers = given.text("bootstrap-server")
    if not servers and given.options.has("bootstrap-controller") and given.has("bootstrap-controller"):
        raise Failure("controllers are not asked directly yet: name brokers with --bootstrap-server")
    return AdminClient(client_properties(given.value(config_option), servers, defaults))


def client_properties(path: str | None, servers: str, defaults: dict[str, object]) -> dict[str, object]:
    """The configs of a client: its file over the defaults of the script, and the brokers named on the command line."""
    properties: dict[str, object] = {name.replace("_", "."): value for name, value in defaults.items()}
    if path:
        from odradek.cli.server_properties import read_properties, resolved

        properties |= resolved(read_properties(path))
    return properties | {"bootstrap.servers": servers}


def in_one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
