"""Flags between the words of a command: `produce orders -k anna 'two chairs'`.

argparse gives words to an argument that may have none of them as soon as it can, so that those behind a flag are too
many. So the flags, with their values, are put before the words.
"""

import argparse
from collections.abc import Sequence


def flags_first(parser: argparse.ArgumentParser, given: Sequence[str]) -> list[str]:
    flags: list[str] = []
    words: list[str] = []
    left = list(given)
    while left:
        first = left.pop(0)
        if first == "--":
            return [*flags, "--", *words, *left]
        if not first.startswith("-") or first == "-":
            words.append(first)
            continue
        action = parser._option_string_actions.get(first)
        if action is not None and action.nargs is None and not left:
            return [*flags, *words, first]  # its value is missing: no word may take the place
        flags.append(first)
        if action is not None and _takes_next(action, left):
            flags.append(left.pop(0))
    return [*flags, *words]


def _takes_next(action: argparse.Action, left: list[str]) -> bool:
    if not left or action.nargs == 0:
        return False
    if action.nargs != "?":
        return True
    try:
        return action.type is None or action.type(left[0]) is not None  # type: ignore[operator]  # it makes a value of text
    except (ValueError, argparse.ArgumentTypeError):
        return False
