"""What a command reads: the bytes of a file or of standard input, as hex or as JSON."""

import json
import re
import sys
from typing import Any

from odradek.cli.failure import Failure
from odradek.protocol.json_value import JsonObject, shown


def read_input(path: str) -> bytes:
    """All bytes of a file; `-` is standard input."""
    try:
        if path != "-":
            with open(path, "rb") as file:
                return file.read()
        if sys.stdin is None:
            raise Failure("standard input is closed; name a file with --input")
        return sys.stdin.buffer.read()
    except OSError as error:
        raise Failure(f"{'standard input' if path == '-' else path}: {error.strerror}") from None


def from_hex(text: bytes) -> bytes:
    """Hex digits in pairs, with white space and `0x` before any group of them."""
    try:
        return bytes.fromhex(re.sub(r"\b0[xX]", "", text.decode("ascii")))
    except ValueError:
        raise Failure("the input is not hex; give raw bytes with --binary") from None


def parse_json(text: bytes) -> Any:
    """Any: a JSON value of whatever type, in which no object has a key twice."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:  # numbers and nesting without end are such, too
        raise Failure(f"the input is not JSON: {error}") from None


def _object(pairs: list[tuple[str, object]]) -> JsonObject:
    """An object with each key once. Where a key comes twice, Python would take the last and say nothing."""
    form: JsonObject = {}
    for name, value in pairs:
        if name in form:
            raise Failure(f"the key {shown(name)} comes twice in one object")
        form[name] = value
    return form
