"""Which records `consume` and `copy` let through, by key, value or header, before anything is decoded."""

import argparse
import re
from collections.abc import Callable
from fnmatch import translate

from odradek.cli.client.record import Record
from odradek.cli.failure import Failure

Test = Callable[[Record], bool]


def add_filters(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("which records").add_argument
    add("--key", metavar="PATTERN", help="only with this key; * stands for anything")
    add("--grep", metavar="REGEX", help="only with a value that this regular expression is found in")
    add("--header", action="append", default=[], metavar="NAME[=PATTERN]", help="only with this header")


def filter_of(options: argparse.Namespace) -> Test | None:
    """None if everything goes through. Failure for a regular expression that is none."""
    tests = [] if options.key is None else [_key(options.key)]
    if options.grep is not None:
        tests.append(_value(options.grep))
    tests += [_header(text) for text in options.header]
    if not tests:
        return None
    return tests[0] if len(tests) == 1 else lambda record: all(test(record) for test in tests)


def _glob(pattern: str) -> "re.Pattern[bytes]":
    return re.compile(translate(pattern).encode())


def _key(pattern: str) -> Test:
    wanted = _glob(pattern)
    return lambda record: record.key is not None and wanted.match(record.key) is not None


def _value(pattern: str) -> Test:
    try:
        wanted = re.compile(pattern.encode())
    except re.error as error:
        raise Failure(f"--grep {pattern}: it is no regular expression: {error}") from None
    return lambda record: record.value is not None and wanted.search(record.value) is not None


def _header(text: str) -> Test:
    name, equals, pattern = text.partition("=")
    wanted = _glob(pattern)
    if not equals:
        return lambda record: any(each == name for each, _ in record.headers)
    return lambda record: any(each == name and wanted.match(value or b"") is not None for each, value in record.headers)
