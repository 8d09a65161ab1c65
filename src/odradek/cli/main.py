"""`odradek`: one command, one subcommand per surface. What goes wrong is one line, and an exit status as below."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from odradek.cli.command_parser import CommandParser
from odradek.cli.failure import Failure
from odradek.cli.output import OutputLost, complain, guarded_errors, guarded_output
from odradek.version import VERSION

# Each is a module, imported when it is needed; those below `client` talk to a cluster.
COMMANDS = {
    "start": ("start", "start a broker"),
    "topics": ("client.topics", "topics: list, show, create, delete, set, grow, trim, offsets"),
    "groups": ("client.groups", "groups of consumers: list, show, lag, reset, copy, delete"),
    "consume": ("client.consume", "read records: from any place to any other, filtered, as text or JSON"),
    "produce": ("client.produce", "write records: lines, files, JSON, or what the command itself says"),
    "copy": ("client.copy", "copy records from a topic into another, in this cluster or into another one"),
    "configs": ("client.configs", "configs of topics, brokers, groups and clients: list, show, set, unset"),
    "acls": ("client.acls", "who may do what: list, allow, deny, delete"),
    "users": ("client.users", "users that log in with SCRAM: list, set, delete"),
    "cluster": ("client.cluster", "the cluster: info, health, features"),
    "transactions": ("client.transactions", "transactions: list, show, abort, hanging"),
    "quorum": ("client.quorum", "the controllers that keep the metadata: status, replicas"),
    "wait": ("client.wait", "wait for brokers, a topic, or a group that has read everything"),
    "bench": ("client.bench", "how fast a cluster takes and gives records: produce, consume"),
    "spark": ("spark", "pipelines over topics, with Spark: run, plan, status"),
    "contexts": ("client.contexts", "clusters by name: list, show, use, set, delete"),
    "completion": ("client.completion", "what a shell needs to complete commands, topics and groups: bash, zsh, fish"),
    "storage": ("storage", "the directories of a node: format, info, random-uuid"),
    "log": ("log", "the files of a log dir: dump, check, repair"),
    "protocol": ("protocol", "messages: show, decode, encode, verify"),
}
_CLUSTER_FLAGS = ("-b", "--bootstrap", "-c", "--context", "--config", "-X", "--timeout")
_FLAG_WITH_ITS_VALUE = ("--bootstrap=", "--context=", "--config=", "--timeout=")
INTERRUPTED = 130  # 128 and the number of SIGINT, as a shell reports it

EXIT_STATUS = """\
exit status:
  0    done; also when the reader of a pipe has seen enough
  1    it failed on the way: no broker answers, a topic is not there, a port or a dir is in use, a disk fails;
       differences or damage were found
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
    given = flags_behind_words(list(sys.argv[1:] if arguments is None else arguments))
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
        description="Apache Kafka in Python. `odradek COMMAND --help` tells more, with examples.",
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
    if command in COMMANDS:
        import_module(f"odradek.cli.{COMMANDS[command][0]}").add_to(commands)
    else:
        for name, (_, text) in COMMANDS.items():
            commands.add_parser(name, help=text)
    return parser


def flags_behind_words(given: list[str]) -> list[str]:
    """`odradek -b HOST:PORT topics list` is `odradek topics list -b HOST:PORT`: the flags of the commands that talk to
    a cluster may stand before the words.
    """
    words: list[str] = []
    flags: list[str] = []
    rest = list(given)
    while rest and len(words) < 2:
        first = rest[0]
        size = 1 if first == "--json" or first.startswith(_FLAG_WITH_ITS_VALUE) else 2 if first in _CLUSTER_FLAGS else 0
        if size:
            flags += rest[:size]
            del rest[:size]
        elif first.startswith("-") or (not words and not _talks_to_a_cluster(first)):
            break
        else:
            words.append(rest.pop(0))
    return [*words, *flags, *rest] if words and flags else given


def _talks_to_a_cluster(command: str) -> bool:
    return command in COMMANDS and COMMANDS[command][0].startswith("client.")


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
