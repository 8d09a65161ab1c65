"""What a command has printed with --json, read back by another one."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from odradek.cli.failure import Failure

if TYPE_CHECKING:
    from odradek.protocol.json_value import JsonObject


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """The bytes of a file; - is standard input. Failure if it cannot be read."""
    if path == "-":
        if sys.stdin is None:
            raise Failure("standard input is closed; name a file")
        yield sys.stdin.buffer
        return
    try:
        file = open(path, "rb")  # noqa: SIM115 - it is closed below
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    with file:
        yield file


def json_rows(path: str, needed: Sequence[str]) -> "list[JsonObject]":
    """An object on each line, or one list of them; each has the fields that are `needed`."""
    name = "standard input" if path == "-" else path
    with opened(path) as file:
        try:
            text = file.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise Failure(f"{name}: it is no text; expected objects of JSON, one on each line") from None
    rows = _rows(text, name)
    for number, row in enumerate(rows, 1):
        missing = [field for field in needed if not isinstance(row, dict) or field not in row]
        if missing:
            raise Failure(f"{name}: object {number} has no {missing[0]!r}")
    return rows


def _rows(text: str, name: str) -> "list[JsonObject]":
    import json

    try:
        if text.lstrip().startswith("["):
            return list(json.loads(text))
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise Failure(f"{name}: it is no JSON: {error}") from None
