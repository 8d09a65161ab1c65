"""A parser whose commands speak for themselves: an argument that nobody knows is told with the usage of its command."""

import argparse
from typing import Any


class CommandParser(argparse.ArgumentParser):
    """argparse lets the outermost parser complain about what an inner one could not use."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._similar(unknown)}")
        return options, unknown

    def _similar(self, unknown: list[str]) -> str:
        from difflib import get_close_matches  # only a mistake needs it

        flags = [text.partition("=")[0] for text in unknown if text.startswith("--")]
        known = [flag for flag in self._option_string_actions if flag.startswith("--")]
        found = [match for flag in flags for match in get_close_matches(flag, known, 1)]
        return f" (did you mean {' and '.join(found)}?)" if found else ""
