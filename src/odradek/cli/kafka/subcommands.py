"""Scripts with subcommands, as `kafka-cluster.sh cluster-id --bootstrap-server ...`.

A flag has a short form (`--id`, `-i`) and may come before the subcommand or after it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Never

from odradek.cli.kafka.options import NONE, Given, HelpWanted, Misuse, Option, Options


class Subcommands:
    """`commands`: the flags of each. `common`: those of all. `short`: the one letter for a flag."""

    def __init__(
        self,
        script: str,
        about: str,
        common: Sequence[Option],
        commands: Mapping[str, Sequence[Option]],
        short: Mapping[str, str],
        *,
        complaint: str = "{prog}: error: {reason}",
    ) -> None:
        self.prog = script.removesuffix(".sh")
        self._complaint = complaint
        self._about = about
        self._common = common
        self._commands = commands
        self._short = dict(short)
        self._long = {letter: name for name, letter in short.items()}

    def parse(self, arguments: Sequence[str]) -> tuple[str, Given]:
        if any(word in ("-h", "--help") for word in arguments):
            raise HelpWanted(self._help())
        command, rest = self._split(arguments)
        known = [*self._common, *self._commands[command]]
        options = Options(self.prog, self._about, known)
        found = self._flags(rest, {option.name: option for option in known})
        return command, Given(options, found)

    def require(self, given: Given, *names: str) -> None:
        for name in names:
            if not given.has(name):
                self.fail(f"argument {self.shown(name)} is required")

    def integer(self, given: Given, name: str) -> int | None:
        text = given.value(name)
        try:
            return None if text is None else int(text)
        except ValueError:
            self.fail(
                f"argument {self.shown(name)}: could not convert '{text}' to Integer (For input string: \"{text}\")"
            )

    def fail(self, reason: str) -> Never:
        raise Misuse(self._complaint.format(prog=self.prog, reason=reason))

    def shown(self, name: str) -> str:
        letter = self._short.get(name)
        return f"--{name}" if letter is None else f"--{name}/-{letter}"

    def _split(self, arguments: Sequence[str]) -> tuple[str, list[str]]:
        """The subcommand is the first word that belongs to no flag."""
        with_value = {option.name for option in self._all() if option.takes != NONE}
        rest, words = [], iter(arguments)
        for word in words:
            if word.startswith("-"):
                rest.append(word)
                name = self._name(word.partition("=")[0])
                if name in with_value and "=" not in word:
                    rest += [value for value in [next(words, None)] if value is not None]
            elif word in self._commands:
                return word, [*rest, *words]
            else:
                there_are = ", ".join(f"'{command}'" for command in self._commands)
                self.fail(f"invalid choice: '{word}' (choose from {there_are})")
        return self.fail("too few arguments")

    def _all(self) -> Iterable[Option]:
        yield from self._common
        for options in self._commands.values():
            yield from options

    def _name(self, word: str) -> str:
        bare = word.lstrip("-")
        return bare if word.startswith("--") else self._long.get(bare, bare)

    def _flags(self, arguments: Sequence[str], known: Mapping[str, Option]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        left = list(arguments)
        while left:
            word, equals, text = left.pop(0).partition("=")
            name = self._name(word)
            option = known.get(name) if word.startswith("-") else None
            if option is None:
                self.fail(f"unrecognized arguments: '{word}{equals}{text}'")
            values = found.setdefault(name, [])
            if option.takes != NONE:
                if not equals and not left:
                    self.fail(f"argument {self.shown(name)}: expected one argument")
                values.append(text if equals else left.pop(0))
        return found

    def _help(self) -> str:
        lines = [f"{self.prog}: {self._about}", *self._of(self._common)]
        for command, options in self._commands.items():
            lines += [f"{self.prog} {command}", *self._of(options)]
        return "\n".join(lines)

    def _of(self, options: Iterable[Option]) -> list[str]:
        return [f"  {self.shown(each.name)} {each.metavar or ''}".rstrip() + f": {each.help}" for each in options]
