"""How a command with actions is put together: each action has its help, its examples and the flags that all share."""

import argparse
from collections.abc import Callable

from odradek.cli.client.settings import add_connection_options
from odradek.cli.command_parser import CommandParser

EXAMPLE_WIDTH = 50

Run = Callable[[argparse.Namespace], int]

# What the flags of other tools are called here.
SYNONYMS = {
    "--bootstrap-server": "--bootstrap",
    "--bootstrap-servers": "--bootstrap",
    "--brokers": "--bootstrap",
    "--broker": "--bootstrap",
    "--broker-list": "--bootstrap",
    "--command-config": "--config",
    "--consumer.config": "--config",
    "--producer.config": "--config",
    "--profile": "--context",
    "--property": "-X",
    "--from-beginning": "--from start",
    "--max-messages": "-n",
    "--count": "-n",
    "--offset": "--from",
    "--dry-run": "no flag: the plan is shown unless --execute is given",
    "--output": "--json",
    "-o": "--from",
    "-J": "--json",
    "-t": "no flag before the topic",
    "--topic": "no flag before the topic",
}


class Group:
    """A command whose first word is an action: `odradek topics list`."""

    def __init__(self, commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, text: str) -> None:
        parser = commands.add_parser(name, help=text, description=_sentence(text))
        parser.set_defaults(run=lambda _: print(parser.format_help()) or 0)
        self._name = name
        self._actions = parser.add_subparsers(metavar="ACTION")

    def action(
        self, name: str, text: str, run: Run, examples: str, *, json: bool = True, connects: bool = True
    ) -> argparse.ArgumentParser:
        """`examples` are commands without `odradek` before them, one on each line, and what they do behind a #."""
        parser = self._actions.add_parser(name, help=text)
        complete(parser, text, run, examples, json=json, connects=connects)
        return parser


def complete(
    parser: argparse.ArgumentParser, text: str, run: Run, examples: str, *, json: bool = True, connects: bool = True
) -> None:
    """What every command that talks to a cluster has."""
    parser.description = _sentence(text)
    parser.epilog = _shown_examples(examples)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.set_defaults(run=run)
    if isinstance(parser, CommandParser):
        parser.has_flags_anywhere = True
        parser.synonyms = {word: flag for word, flag in SYNONYMS.items() if word not in parser._option_string_actions}
    if json:
        parser.add_argument("--json", action="store_true", help="an object on a line for each row, for programs")
    if connects:
        add_connection_options(parser)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _shown_examples(examples: str) -> str:
    """What a command does stands behind it, and before one that is long."""
    lines = []
    for line in examples.strip().splitlines():
        command, _, words = line.strip().partition(" # ")
        shown = f"  odradek {command.strip()}"
        if len(shown) <= EXAMPLE_WIDTH:
            lines.append(f"{shown:{EXAMPLE_WIDTH}}{'  # ' if words else ''}{words}".rstrip())
        else:
            lines += [f"  # {words}", shown] if words else [shown]
    return "examples:\n" + "\n".join(lines)
