"""Records as lines of JSON, from `consume --json` to `produce --json` and back without a loss.

    {"topic": "orders", "partition": 0, "offset": 7, "timestamp": 1700000000000,
     "key": "k", "value": {"base64": "/w=="}, "headers": [["trace", "1"]]}

Bytes that are UTF-8 are text; others are an object with their base64. Null is null. What a decoder has made of a value
is any other JSON, and is written as that JSON again.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import NamedTuple, TypeGuard

from odradek.cli.client.record import Record
from odradek.cli.failure import Failure


class Decoded:
    """What a decoder made of bytes; None if they are not what it expects."""

    def __init__(self, value: object) -> None:
        self.value = value


class NewRecord(NamedTuple):
    """What a line of JSON asks to be written. `partition` and `timestamp_ms` are None where the line has none."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    partition: int | None
    timestamp_ms: int | None
    topic: str | None


def as_line(record: Record, key: Decoded | None = None, value: Decoded | None = None) -> str:
    form = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": _form(record.key, key),
        "value": _form(record.value, value),
        "headers": [[name, bytes_form(data)] for name, data in record.headers],
    }
    return json.dumps(form, ensure_ascii=False, separators=(",", ":"))


def bytes_form(data: bytes | None) -> object:
    if data is None:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}


def _form(data: bytes | None, decoded: Decoded | None) -> object:
    """A document that looks like our own base64 stays text: it would come back as other bytes."""
    if decoded is None or isinstance(decoded.value, (str, type(None))) or _is_base64(decoded.value):
        return bytes_form(data)
    return decoded.value


def from_line(line: bytes, number: int) -> NewRecord:
    """Failure for what is no such line; `number` is that of the line."""
    try:
        form = json.loads(line)
    except ValueError as error:
        raise Failure(f"line {number} is no JSON: {error}") from None
    if not isinstance(form, dict):
        raise Failure(f"line {number}: expected an object, as consume --json prints it")
    try:
        return NewRecord(
            _bytes(form.get("key")),
            _bytes(form.get("value")),
            [(str(name), _bytes(value)) for name, value in _pairs(form.get("headers"))],
            _integer(form, "partition"),
            _integer(form, "timestamp"),
            form.get("topic"),
        )
    except (TypeError, ValueError) as error:
        raise Failure(f"line {number}: {error}") from None


def _pairs(headers: object) -> list[tuple[object, object]]:
    if headers is None:
        return []
    if isinstance(headers, Mapping):
        return list(headers.items())
    if isinstance(headers, list) and all(isinstance(each, list) and len(each) == 2 for each in headers):
        return [(name, value) for name, value in headers]
    raise ValueError('headers are pairs of a name and a value, as in [["trace", "1"]]')


def _bytes(form: object) -> bytes | None:
    if form is None:
        return None
    if isinstance(form, str):
        return form.encode("utf-8")
    if _is_base64(form):
        return b64decode(form["base64"], validate=True)
    return json.dumps(form, ensure_ascii=False, separators=(",", ":")).encode()


def _is_base64(form: object) -> TypeGuard[dict[str, str]]:
    return isinstance(form, dict) and list(form) == ["base64"] and isinstance(form["base64"], str)


def _integer(form: Mapping[str, object], name: str) -> int | None:
    value = form.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} has to be a number, not {value!r}")
    return value
