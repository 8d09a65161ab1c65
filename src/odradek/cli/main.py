"""`odradek`: one command, one subcommand per surface. What goes wrong is one line, and an exit status as below."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from odradek.cli.command_parser import CommandParser
from odradek.cli.failure import Failure
from odradek.cli.output import OutputLost, complain, guarded_errors, guarded_output
from odradek.version import VERSION

COMMANDS = ("start", "storage", "log", "protocol")  # each is a module of this package, imported when it is needed
INTERRUPTED = 130  # 128 and the number of SIGINT, as a shell reports it

EXIT_STATUS = """\
exit status:
  0    done; also when the reader of a pipe has seen enough
  1    it failed on the way: a port or a dir in use, a disk that fails; differences or damage were found
  2    a mistake in the command, in a config or in the input
  130  interrupted
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit status is as `odradek --help` says."""
    with guarded_errors():
        return _status(arguments)


def _status(arguments: Sequence[str] | None) -> int:
    """A verdict that was reached before the reader of a pipe left still counts."""
    status = 0
    try:
        with guarded_output():
            status = _run(arguments)
    except OutputLost as lost:
        if not lost.reader_left:
            complain(lost)
            status = 1
    except BrokenPipeError:  # of standard error: nobody is left to tell
        pass
    except KeyboardInterrupt:
        status = INTERRUPTED
    return status


def _run(arguments: Sequence[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    parser = _parser(given[0] if given else None)
    try:
        options = parser.parse_args(given)
        if options.wants_version:
            print(_version())
        elif options.run is None:
            parser.print_help()
        else:
            return int(options.run(options))
    except SystemExit as stop:  # argparse has helped or complained already
        return int(stop.code or 0)
    except Failure as failure:
        complain(failure)
        return failure.status
    return 0


def _parser(command: str | None) -> argparse.ArgumentParser:
    """The parser of one command, if its name comes first: a broker should not wait for what the others import."""
    parser = CommandParser(
        prog="odradek",
        description="Apache Kafka in Python.",
        epilog=EXIT_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version",
        action="store_true",
        dest="wants_version",  # `version` is what several commands call a message's
        help="print the version and which executors serve",
    )
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(metavar="COMMAND")
    for name in (command,) if command in COMMANDS else COMMANDS:
        import_module(f"odradek.cli.{name}").add_to(commands)
    return parser


def _version() -> str:
    # Loading them is what tells whether they load.
    from odradek import native
    from odradek.protocol import declare  # noqa: F401
    from odradek.records import kernel  # noqa: F401

    reason = native.why_pure()
    serving = "compiled codec and record kernel" if reason is None else f"pure Python: {reason}"
    return f"odradek {VERSION} ({serving}; Python {sys.version.split()[0]})"


if __name__ == "__main__":
    sys.exit(main())
