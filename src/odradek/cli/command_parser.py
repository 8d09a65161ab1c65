"""A parser that tells a mistake in one line: by the command that it is a mistake of, with what was probably meant."""

import argparse
from collections.abc import Iterable
from typing import Any, NoReturn

from odradek.cli.flags_anywhere import flags_first


class CommandParser(argparse.ArgumentParser):
    """argparse prints the usage first, and lets the outermost parser complain about what an inner one could not use.

    `synonyms`: words that are no flags here, and the flag that somebody who types them means.
    `flag_of_a_stray_file`: the flag that belongs before a file that was named without one.
    `has_flags_anywhere`: flags may stand between words that belong together.
    """

    synonyms: dict[str, str] = {}
    flag_of_a_stray_file: str | None = None
    has_flags_anywhere = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # Any: argparse has overloads here
        if self.has_flags_anywhere and args is not None:
            args = flags_first(self, args)
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._meant(unknown)}")
        return options, unknown

    def error(self, message: str) -> NoReturn:
        hint = f"; see {self.prog} --help" if message.startswith("the following arguments are required") else ""
        self.exit(2, f"{self.prog}: error: {message}{hint}\n")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """argparse's own complaint has as many forms as Python has versions, and no guess."""
        if action.choices is not None and value not in action.choices:
            there_are = ", ".join(map(str, action.choices))
            guess = _did_you_mean(_similar([str(value)], map(str, action.choices)))
            raise argparse.ArgumentError(action, f"there is no {value!r}{guess}; there are {there_are}")

    def _meant(self, unknown: list[str]) -> str:
        words = [text.partition("=")[0] for text in unknown if text.startswith("-")]
        found = [self.synonyms[word] for word in words if word in self.synonyms]
        found += _similar((word for word in words if word not in self.synonyms), self._option_string_actions)
        if not words and self.flag_of_a_stray_file is not None and "." in unknown[0]:
            found = [f"{self.flag_of_a_stray_file} {unknown[0]}"]
        return _did_you_mean(dict.fromkeys(found)) or f"; see {self.prog} --help"


class ToolParser(CommandParser):
    """The parser of the commands that stand in for Kafka's own tools: like these, it shows the usage with a mistake."""

    def error(self, message: str) -> NoReturn:
        argparse.ArgumentParser.error(self, message)


def _similar(words: Iterable[str], known: Iterable[str]) -> list[str]:
    from difflib import get_close_matches  # only a mistake needs it

    # Two letters are like any other two, and two dashes make every flag like every other.
    bare = {name.lstrip("-"): name for name in known if len(name) > 2}
    return [bare[match] for word in words for match in get_close_matches(word.lstrip("-"), bare, 1)]


def _did_you_mean(found: Iterable[str]) -> str:
    guesses = " and ".join(found)
    return f" (did you mean {guesses}?)" if guesses else ""
