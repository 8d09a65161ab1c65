"""`kafka-server-stop.sh`: SIGTERM to the servers of this machine that `kafka-server-start.sh` has started.

    kafka-server-stop.sh [--process-role=ROLE | --node-id=ID]

Kafka's script looks for its class in the list of processes; so do we, among the processes of this user.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence

from odradek.cli.failure import Failure
from odradek.cli.kafka_server import overridden
from odradek.cli.output import complain, guarded_errors
from odradek.cli.server_properties import overrides, read_properties

_MODULE, _CLASS = "odradek.cli.run_class", "kafka.Kafka"
_FILTERS = {"--process-role": "process.roles", "--node-id": "node.id"}


def main(arguments: Sequence[str] | None = None) -> int:
    with guarded_errors():
        try:
            return stop(list(sys.argv[1:] if arguments is None else arguments))
        except Failure as failure:
            complain(failure)
            return 1


def stop(arguments: Sequence[str]) -> int:
    wanted = _wanted(arguments)
    found = [pid for pid, arguments in servers() if not wanted or _has(properties_of(pid, arguments), wanted)]
    if not found:
        print("No kafka server to stop")
        return 1
    for pid in found:
        os.kill(pid, signal.SIGTERM)
    return 0


def _wanted(arguments: Sequence[str]) -> dict[str, str]:
    wanted = {}
    left = list(arguments)
    while left:
        flag, equals, value = left.pop(0).partition("=")
        if flag not in _FILTERS:
            raise Failure(f"{flag} is not understood here; there are {' and '.join(_FILTERS)}")
        if not equals and not left:
            raise Failure(f"{flag} needs a value")
        wanted[_FILTERS[flag]] = value if equals else left.pop(0)
    return wanted


def servers() -> Iterator[tuple[int, list[str]]]:
    """The process id and the arguments of every such server: its properties file, and what was set beside it."""
    for name in os.listdir("/proc"):
        if name.isdecimal():
            command = _command_line(int(name))
            if _MODULE in command and _CLASS in command[:-1]:
                yield int(name), command[command.index(_CLASS) + 1 :]


def _command_line(pid: int) -> list[str]:
    try:
        if os.stat(f"/proc/{pid}").st_uid != os.getuid():
            return []
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode("utf-8", "replace").split("\0")[:-1]
    except OSError:  # it has ended meanwhile
        return []


def properties_of(pid: int, arguments: Sequence[str]) -> dict[str, str]:
    """Nothing if they cannot be told: the file is gone, or the server is."""
    file, *flags = arguments
    try:
        given = read_properties(os.path.join(f"/proc/{pid}/cwd", file))  # a relative path is the server's
        return {**given, **overrides(overridden(flags))}
    except Failure:
        return {}


def _has(values: dict[str, str], wanted: dict[str, str]) -> bool:
    return all(value in values.get(name, "").replace(" ", "").split(",") for name, value in wanted.items())


if __name__ == "__main__":
    sys.exit(main())
