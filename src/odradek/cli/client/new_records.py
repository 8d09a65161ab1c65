"""What `produce` writes: from lines, whole files, lines of JSON, or the command itself."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from odradek.cli.client.escaping import unescaped
from odradek.cli.client.json_input import opened
from odradek.cli.client.record_json import NewRecord, from_line
from odradek.cli.failure import Failure

_PLAIN = NewRecord(None, None, [], None, None, None)


def new_records(options: argparse.Namespace) -> Iterator[NewRecord]:
    """One by one: the input may be a pipe that never ends."""
    if options.values:
        yield from _of_lines(options, (value.encode("utf-8", "surrogateescape") for value in options.values))
    elif options.file and not options.json:
        for path in options.file:
            with opened(path) as file:
                yield _record(options, None, file.read())
    else:
        for path in options.file or ["-"]:
            with opened(path) as file:
                yield from _of_json(options, file) if options.json else _of_lines(options, _lines(options, file))


def _of_json(options: argparse.Namespace, file: BinaryIO) -> Iterator[NewRecord]:
    """What the flags say wins over what the line says."""
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        record = from_line(line, number)
        if options.key is not None:
            record = record._replace(key=_bytes(options, options.key))
        partition = record.partition if options.keep_partition else None
        yield record._replace(
            headers=[*record.headers, *_headers(options)],
            partition=partition if options.partition is None else options.partition,
        )


def _of_lines(options: argparse.Namespace, lines: Iterable[bytes]) -> Iterator[NewRecord]:
    delimiter = None if options.key_delimiter is None else unescaped(options.key_delimiter.encode())
    if delimiter is None and _is_plain(options):
        yield from (_PLAIN._replace(value=line) for line in lines)
        return
    for number, line in enumerate(lines, 1):
        key: bytes | None = None
        value = line
        if delimiter is not None:
            key, found, value = line.partition(delimiter)
            if not found:
                raise Failure(f"line {number} has no {options.key_delimiter!r}, which ends its key (-K)")
        yield _record(options, key, value)


def _lines(options: argparse.Namespace, file: BinaryIO) -> Iterator[bytes]:
    """Without their ends."""
    for line in file:
        yield line[:-2] if line.endswith(b"\r\n") else line.removesuffix(b"\n")


def _record(options: argparse.Namespace, key: bytes | None, value: bytes) -> NewRecord:
    if options.escaped:
        key, value = None if key is None else unescaped(key), unescaped(value)
    if options.key is not None:
        key = _bytes(options, options.key)
    return NewRecord(
        _nulled(options, key), _nulled(options, value), _headers(options), options.partition, options.timestamp, None
    )


def _is_plain(options: argparse.Namespace) -> bool:
    """Nothing but values: no flag says anything about a record."""
    asked = (options.escaped, options.null, options.headers)
    given = (options.key, options.partition, options.timestamp)
    return not any(asked) and all(each is None for each in given)


def _nulled(options: argparse.Namespace, data: bytes | None) -> bytes | None:
    return None if options.null and not data else data


def _headers(options: argparse.Namespace) -> list[tuple[str, bytes | None]]:
    found: list[tuple[str, bytes | None]] = []
    for text in options.headers:
        name, equals, value = text.partition("=")
        if not equals:
            raise Failure(f"-H {text}: expected NAME=VALUE")
        found.append((name, _bytes(options, value)))
    return found


def _bytes(options: argparse.Namespace, text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    return unescaped(data) if options.escaped else data


def is_typed(options: argparse.Namespace) -> bool:
    """Somebody sits at a terminal and types the records."""
    return not options.values and not options.file and sys.stdin is not None and sys.stdin.isatty()
