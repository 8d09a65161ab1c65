"""How `consume` prints: the value of each record on a line, a format, or JSON."""

import argparse
import os
import select
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress

from odradek.cli.client import record_decode, record_format, record_json
from odradek.cli.client.escaping import shown
from odradek.cli.client.record import Record
from odradek.cli.failure import Failure

LONG = "%d{%Y-%m-%d %H:%M:%S} %t:%p:%o %k\\t%s\\n"
DEFAULT = "%s\\n"
KEPT_ON_TERMINALS = "\n\t"


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("how they are printed").add_argument
    add(
        "-f",
        "--format",
        metavar="FORMAT",
        help="%%t topic, %%p partition, %%o offset, %%k key, %%s value, %%h headers, %%T time in ms, "
        "%%d{%%H:%%M:%%S} as a date, %%K %%S lengths; {hex} {base64} {escape} {big32} behind a letter; \\n \\t",
    )
    add("-l", "--long", action="store_true", help="time, topic, partition, offset, key and value")
    add(
        "--decode",
        action="append",
        default=[],
        metavar="FORM",
        help="values as json, avro, or numbers by the codes of Python's struct: '>iq'; key=FORM for keys",
    )
    add("--registry", metavar="URL", help="the schema registry, for avro (default: $ODRADEK_REGISTRY)")


def printer_of(options: argparse.Namespace) -> "Printer":
    if options.json and (options.format or options.long):
        raise Failure("--json and a format are two ways to print: choose one")
    registry = options.registry or os.environ.get(record_decode.REGISTRY_VARIABLE)
    decoders = record_decode.decoders(options.decode, registry)
    if options.json:
        return Printer(lambda record: _json_line(record, decoders))
    text = options.format or (LONG if options.long else DEFAULT)
    render = record_format.compiled(text).render
    if not options.decode:
        return Printer(render)
    return Printer(lambda record: render(_Decoded(record, decoders)))


class Printer:
    def __init__(self, render: Callable[[Record], bytes]) -> None:
        self._render = render
        self._is_terminal = sys.stdout.isatty()
        self._reader = _Reader()

    def has_reader(self) -> bool:
        """Whether somebody reads what is printed. `head` leaves, and who waits for records would not notice."""
        return self._reader.is_there()

    def show(self, records: Iterable[Record]) -> None:
        """All at once, and out of every buffer: a program that reads from a pipe waits for it."""
        data = b"".join(map(self._render, records))
        if not data:
            return
        if self._is_terminal:
            data = shown(data, keep=KEPT_ON_TERMINALS).encode()
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()


class _Reader:
    """The other end of standard output, if that is a pipe."""

    def __init__(self) -> None:
        self._errors = select.poll()
        with suppress(OSError):  # a caller's StringIO, which has no other end
            self._errors.register(sys.stdout.fileno(), 0)  # errors are told in any case

    def is_there(self) -> bool:
        return not any(event & select.POLLERR for _, event in self._errors.poll(0))


class _Decoded:
    """A record with its key and value as text of what they mean."""

    def __init__(self, record: Record, decoders: record_decode.Decoders) -> None:
        self.topic, self.partition, self.offset = record.topic, record.partition, record.offset
        self.timestamp, self.leader_epoch, self.headers = record.timestamp, record.leader_epoch, record.headers
        self.key = _text(record.key, decoders.key)
        self.value = _text(record.value, decoders.value)


def _text(data: bytes | None, decode: record_decode.Decode | None) -> bytes | None:
    decoded = None if data is None or decode is None else decode(data)
    return data if decoded is None else record_decode.decoded_text(decoded).encode()


def _json_line(record: Record, decoders: record_decode.Decoders) -> bytes:
    key = None if decoders.key is None or record.key is None else decoders.key(record.key)
    value = None if decoders.value is None or record.value is None else decoders.value(record.value)
    return (record_json.as_line(record, key, value) + "\n").encode()
