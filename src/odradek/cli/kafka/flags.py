"""Scripts whose flags are told of in one line each, without subcommands: mistakes as argparse words them."""

from collections.abc import Sequence
from typing import Never

from odradek.cli.kafka.options import Given, HelpWanted, Misuse, Option, Options


class Flags:
    def __init__(self, prog: str, about: str, options: Sequence[Option], *, required: Sequence[str]) -> None:
        self.prog = prog
        self._options = Options(prog, about, options)
        self._required = required

    def parse(self, arguments: Sequence[str]) -> Given:
        try:
            given = self._options.parse(arguments)
        except HelpWanted:
            raise
        except Misuse as misuse:
            name, _, rest = str(misuse).partition(" is not a recognized option")
            if rest or name == str(misuse):
                raise
            self.fail(f"unrecognized arguments: '--{name}'")
        for name in self._required:
            if not given.has(name):
                self.fail(f"argument --{name} is required")
        return given

    def fail(self, reason: str) -> Never:
        raise Misuse(f"{self.prog}: error: {reason}")
