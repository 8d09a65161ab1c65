"""The flags of Kafka's scripts: `--name`, `--name value` or `--name=value`, never abbreviated.

Who runs such a script may know it from Kafka, and so may a program that reads what it says: mistakes are told in the
words of Kafka's tools, in one line. `--help` lists the flags.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from odradek.cli.failure import Refusal

RELEASE = "4.3.0"  # whose scripts these are: `--version`

NONE, REQUIRED, OPTIONAL = "none", "required", "optional"  # what follows a flag


class Misuse(Refusal):
    """A command that makes no sense. Kafka's tools have one exit status for all that goes wrong."""


class HelpWanted(Exception):  # noqa: N818 - nothing has failed
    """What is to be printed instead of doing anything."""


class Option(NamedTuple):
    name: str
    metavar: str | None
    help: str
    takes: str
    default: str | None = None


def flag(name: str, text: str) -> Option:
    return Option(name, None, text, NONE)


def value(name: str, metavar: str, text: str, default: str | None = None) -> Option:
    return Option(name, metavar, text, REQUIRED, default)


def optional(name: str, metavar: str, text: str) -> Option:
    """A flag that may be followed by a value."""
    return Option(name, metavar, text, OPTIONAL)


BOOTSTRAP = value("bootstrap-server", "HOST:PORT,...", "brokers to ask first")
COMMAND_CONFIG = value("command-config", "FILE", "a file of properties for the client")
HELP = flag("help", "print this and do nothing")
VERSION = flag("version", "print the release whose script this is")


class Given:
    """What stands on a command line."""

    def __init__(self, options: "Options", found: dict[str, list[str]]) -> None:
        self.options = options
        self._found = found

    def has(self, name: str) -> bool:
        return name in self._found

    def names(self) -> list[str]:
        return list(self._found)

    def value(self, name: str) -> str | None:
        """The only value of a flag, or its default."""
        values = self._found.get(name) or []
        if len(values) > 1:
            raise Misuse(f"Found multiple arguments for option {name}, but you asked for only one")
        return values[0] if values else self.options.default(name)

    def text(self, name: str) -> str:
        return self.value(name) or ""

    def values(self, name: str) -> list[str]:
        return list(self._found.get(name) or ())

    def integer(self, name: str) -> int | None:
        text = self.value(name)
        if text is None:
            return None
        return as_integer(name, text)

    def require(self, *names: str) -> None:
        for name in names:
            if not self.has(name):
                raise Misuse(f'Missing required argument "[{name}]"')

    def refuse(self, name: str, others: Iterable[str]) -> None:
        """What must not stand beside a flag."""
        if not self.has(name):
            return
        for other in others:
            if other != name and self.has(other):
                raise Misuse(f'Option "[{name}]" can\'t be used with option "[{other}]"')


class Options:
    def __init__(self, script: str, about: str, options: Sequence[Option]) -> None:
        self.script = script
        self.about = about
        self._by_name = {option.name: option for option in (*options, HELP, VERSION)}

    def has(self, name: str) -> bool:
        return name in self._by_name

    def default(self, name: str) -> str | None:
        return self._by_name[name].default

    def parse(self, arguments: Sequence[str]) -> Given:
        """Misuse for what is no flag; words that belong to none are passed over, as Kafka's tools do it."""
        found: dict[str, list[str]] = {}
        left = list(arguments)
        while left:
            word = left.pop(0)
            if word == "--":
                break
            if word.startswith("-") and len(word) > 1:
                self._take(word, left, found)
        self._maybe_help(found)
        return Given(self, found)

    def _take(self, word: str, left: list[str], found: dict[str, list[str]]) -> None:
        name, equals, text = word.lstrip("-").partition("=")
        option = self._by_name.get(name)
        if option is None:
            raise Misuse(f"{name} is not a recognized option")
        values = found.setdefault(name, [])
        if option.takes == NONE:
            return
        if equals:
            values.append(text)
        elif option.takes == REQUIRED:
            if not left:
                raise Misuse(f"Option {name} requires an argument")
            values.append(left.pop(0))
        elif left and not left[0].startswith("-"):
            values.append(left.pop(0))

    def _maybe_help(self, found: dict[str, list[str]]) -> None:
        if "help" in found:
            raise HelpWanted(self.help())
        if "version" in found:
            raise HelpWanted(RELEASE)

    def help(self) -> str:
        names = [_shown(option) for option in self._by_name.values()]
        width = max(map(len, names))
        lines = [
            f"  {name:<{width}}  {option.help}" for name, option in zip(names, self._by_name.values(), strict=True)
        ]
        return "\n".join([f"{self.script}: {self.about}", *lines])


def as_integer(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Misuse(f"Cannot parse argument '{text}' of option {name}") from None


def _shown(option: Option) -> str:
    if option.takes == NONE:
        return f"--{option.name}"
    return f"--{option.name} {option.metavar}" if option.takes == REQUIRED else f"--{option.name} [{option.metavar}]"
