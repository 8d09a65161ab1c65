"""Which words may stand where somebody has pressed Tab: read off the parsers, and asked of the cluster for names."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from odradek.cli.client import contexts_file
from odradek.cli.command_parser import CommandParser
from odradek.cli.failure import Failure

if TYPE_CHECKING:
    from odradek.client.admin.admin_client import AdminClient

FILES = ":files"
SHELLS = ("bash", "zsh", "fish")
ASK_TIMEOUT_S = 1.0  # whoever waits for a Tab has no patience


class Place:
    """Where in a command the cursor is: the parser that counts there, and what was typed for it so far."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser
        self.waiting: argparse.Action | None = None  # a flag that needs a value
        self.positionals = 0
        self._connection = _connection_parser()._option_string_actions  # these may stand before an action

    def take(self, word: str) -> None:
        if self.waiting is not None:
            self.waiting = None
        elif word.startswith("-") and word != "-":
            flag = self.parser._option_string_actions.get(word) or self._connection.get(word)
            self.waiting = flag if flag is not None and flag.nargs != 0 else None
        elif (inner := self._subparsers().get(word)) is not None and self.positionals == 0:
            self.parser, self.positionals = inner, 0
        else:
            self.positionals += 1

    def _subparsers(self) -> dict[str, argparse.ArgumentParser]:
        for action in self.parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                return dict(action.choices)
        return {}

    def positional(self) -> argparse.Action | None:
        """The argument that the next word belongs to; the last one may take several words."""
        found = [action for action in self.parser._actions if not action.option_strings]
        if self.positionals < len(found):
            return found[self.positionals]
        return found[-1] if found and found[-1].nargs in ("*", "+") else None


def candidates(words: Sequence[str]) -> list[str]:
    """What the last of the words may become."""
    from odradek.cli.main import COMMANDS, flags_behind_words

    typed, current = flags_behind_words(list(words[:-1])), words[-1] if words else ""
    if not typed or typed[0] not in COMMANDS:
        return _beginning(current, COMMANDS) if not typed else []
    place = Place(_parser_of(typed[0], COMMANDS[typed[0]][0]))
    for word in typed[1:]:
        place.take(word)
    if place.waiting is not None:
        return _beginning(current, _values(place.waiting, typed))
    if current.startswith("-"):
        return _beginning(current, [flag for flag in place.parser._option_string_actions if flag.startswith("--")])
    argument = place.positional()
    return [] if argument is None else _beginning(current, _values(argument, typed))


def _parser_of(command: str, module: str) -> argparse.ArgumentParser:
    commands = CommandParser().add_subparsers()
    import_module(f"odradek.cli.{module}").add_to(commands)
    return commands.choices[command]


def _beginning(current: str, found: Iterable[str]) -> list[str]:
    words = list(found)
    return words if words == [FILES] else [word for word in words if word.startswith(current)]


def _values(action: argparse.Action, typed: Sequence[str]) -> Iterable[str]:
    if action.choices is not None:
        return list(map(str, action.choices))
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    if metavar == "SHELL":
        return SHELLS
    if (typed[0] == "contexts" and metavar == "NAME") or "--context" in action.option_strings:
        return _contexts()
    if typed[0] == "configs" and metavar == "NAME":
        return _named(_OF_KIND.get(next((word for word in typed if word in _OF_KIND), ""), ""), typed)
    if metavar in ("FILE", "PATH", "DIR"):
        return [FILES]
    return _named(metavar.partition("[")[0], typed)


_OF_KIND = {"topic": "TOPIC", "group": "GROUP", "broker": "BROKER"}


def _contexts() -> list[str]:
    with suppress(Failure):
        return sorted(contexts_file.read().by_name)
    return []


def _named(kind: str, typed: Sequence[str]) -> list[str]:
    """The names that the cluster knows, none if it does not answer at once."""
    if kind not in _ASK:
        return []
    from odradek.cli.client.connection import admin_of

    options = _connection(typed)
    with suppress(Failure), admin_of(options, is_long=True) as admin:
        return sorted(_ASK[kind](admin))
    return []


def _topics(admin: "AdminClient") -> Iterable[str]:
    return admin.list_topics()


def _groups(admin: "AdminClient") -> Iterable[str]:
    return admin.list_groups()


def _transactions(admin: "AdminClient") -> Iterable[str]:
    return admin.list_transactions()


def _brokers(admin: "AdminClient") -> Iterable[str]:
    return ["default", *(str(node.id) for node in admin.describe_cluster().nodes)]


_ASK: "dict[str, Callable[[AdminClient], Iterable[str]]]" = {
    "TOPIC": _topics,
    "GROUP": _groups,
    "ID": _transactions,
    "BROKER": _brokers,
}


def _connection(typed: Sequence[str]) -> argparse.Namespace:
    """The flags that say which cluster is meant, wherever they stand."""
    parser = _connection_parser()
    options = parser.parse_args([])
    with suppress(argparse.ArgumentError, argparse.ArgumentTypeError):
        options, _ = parser.parse_known_args(list(typed))
    options.timeout = options.timeout or ASK_TIMEOUT_S
    return options


def _connection_parser() -> argparse.ArgumentParser:
    from odradek.cli.client.settings import add_connection_options

    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    add_connection_options(parser)
    return parser
