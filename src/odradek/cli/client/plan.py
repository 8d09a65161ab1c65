"""A plan that is shown before anything is done, and done with --execute."""

import argparse
import sys
from collections.abc import Mapping
from typing import TypeVar

from odradek.cli.client.connection import tell_errors

K = TypeVar("K")


def add_execute(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--execute", action="store_true", help="do it; without this the plan is shown, and nothing done"
    )


def is_to_be_done(options: argparse.Namespace, *, is_empty: bool = False) -> bool:
    """Says on standard error what becomes of the plan that was just shown."""
    if is_empty:
        print("nothing to do", file=sys.stderr)
        return False
    if not options.execute:
        print("this is the plan, nothing was done: --execute does it", file=sys.stderr)
    return bool(options.execute)


def outcome(errors: Mapping[K, Exception]) -> int:
    """The exit status of what was to be done, told on standard error."""
    if not errors:
        print("done", file=sys.stderr)
    return tell_errors(errors)
