"""`odradek`: one command, one subcommand per surface. A mistake of the user is one line and exit status 2."""

import argparse
import sys
from collections.abc import Sequence

from odradek import __version__
from odradek.cli import protocol
from odradek.cli.failure import Failure


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.wants_version:
        print(_version())
        return 0
    if options.run is None:
        parser.print_help()
        return 0
    try:
        return int(options.run(options))
    except Failure as failure:
        print(f"odradek: {failure}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of a pipe has seen enough
        sys.stderr.close()
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="odradek", description="Apache Kafka in Python.")
    parser.add_argument(
        "--version",
        action="store_true",
        dest="wants_version",  # `version` is what several commands call a message's
        help="print the version and which executors serve",
    )
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(metavar="COMMAND")
    protocol.add_to(commands)
    return parser


def _version() -> str:
    # Loading them is what tells whether they load.
    from odradek import native
    from odradek.protocol import declare  # noqa: F401
    from odradek.records import kernel  # noqa: F401

    reason = native.why_pure()
    serving = "compiled codec and record kernel" if reason is None else f"pure Python: {reason}"
    return f"odradek {__version__} ({serving}; Python {sys.version.split()[0]})"


if __name__ == "__main__":
    sys.exit(main())
