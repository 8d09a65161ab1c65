"""`kafka.Kafka`: the server as Kafka's own script starts it, its log on standard output.

kafka-server-start.sh [-daemon] server.properties [--override property=value]* [--version]
"""

from collections.abc import Sequence

from odradek.cli.failure import Failure
from odradek.cli.server_process import ServerOptions, run_server
from odradek.cli.server_properties import overrides, read_properties, resolved
from odradek.version import VERSION

_USAGE = "USAGE: kafka-server-start.sh [-daemon] server.properties [--override property=value]*"


def main(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] in ("--help", "-h"):
        raise Failure(_USAGE)
    if "--version" in arguments:
        print(f"{VERSION} (odradek)")
        return 0
    values = {**read_properties(arguments[0]), **overrides(overridden(arguments[1:]))}
    return 1 if run_server(ServerOptions(resolved(values))) else 0  # Kafka's script knows no other failure


def overridden(arguments: Sequence[str]) -> list[str]:
    found = []
    left = list(arguments)
    while left:
        flag = left.pop(0)
        if flag.startswith("--override="):
            found.append(flag.partition("=")[2])
        elif flag == "--override" and left:
            found.append(left.pop(0))
        else:
            raise Failure(f"{flag} is not understood here. {_USAGE}")
    return found
