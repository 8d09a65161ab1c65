"""`kafka-run-class.sh`: Kafka's tools by the names of their Java classes, so that every harness finds what it calls.

    run_class [-daemon] [-name NAME] [-loggc] CLASS [ARGUMENT...]

`-daemon` leaves a process behind that has its output in $LOG_DIR/NAME.out, as Kafka's script does.
"""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module

from odradek.cli.failure import Failure
from odradek.cli.kafka.scripts import by_class
from odradek.cli.output import complain, guarded_errors

Tool = Callable[[Sequence[str]], int]

# Both releases' names: several tools moved from kafka.admin and kafka.tools to org.apache.kafka.tools.
CLASSES = {
    "kafka.Kafka": "odradek.cli.kafka_server:main",
    "kafka.tools.StorageTool": "odradek.cli.storage:main",
}

_USAGE = "USAGE: kafka-run-class.sh [-daemon] [-name servicename] [-loggc] classname [opts]"


def main(arguments: Sequence[str] | None = None) -> int:
    with guarded_errors():
        try:
            return _run(list(sys.argv[1:] if arguments is None else arguments))
        except Failure as failure:
            complain(failure)
            return 1


def _run(arguments: list[str]) -> int:
    is_daemon, name = False, "kafka"
    while arguments and arguments[0].startswith("-"):
        flag = arguments.pop(0)
        if flag == "-daemon":
            is_daemon = True
        elif flag == "-name" and arguments:
            name = arguments.pop(0)
        elif flag != "-loggc":
            raise Failure(f"{flag} is no option here. {_USAGE}")
    if not arguments:
        raise Failure(_USAGE)
    tool = find(arguments.pop(0))
    if is_daemon and not _leave_behind(name):
        return 0
    return tool(arguments)


def find(class_name: str) -> Tool:
    known = CLASSES | by_class()
    target = known.get(class_name)
    if target is None:
        raise Failure(f"the class {class_name} is not served; there are {', '.join(sorted(known))}")
    module, _, function = target.partition(":")
    found: Tool = getattr(import_module(module), function)
    return found


def _leave_behind(name: str) -> bool:
    """True in the process that stays."""
    output = _opened_output(os.environ.get("LOG_DIR") or "logs", name)
    if os.fork():
        return False
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for old, new in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(old, new)
    with suppress(OSError):
        os.close(output)
        os.close(nothing)
    return True


def _opened_output(directory: str, name: str) -> int:
    try:
        os.makedirs(directory, exist_ok=True)
        return os.open(os.path.join(directory, f"{name}.out"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    except OSError as error:
        raise Failure(
            f"the output of a daemon goes to {directory}, which cannot be written: {error.strerror}; set LOG_DIR"
        ) from None


if __name__ == "__main__":
    sys.exit(main())
