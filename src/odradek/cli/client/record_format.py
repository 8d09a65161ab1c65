"""How `consume -f` prints a record: kcat's letters, with modifiers in braces.

    %t topic   %p partition   %o offset   %T timestamp in ms   %d{%H:%M:%S} timestamp as a date   %e leader epoch
    %k key   %s value   %h headers   %K %S their lengths, -1 for null   %R length of the value, four bytes   %H headers
    %%   \\n \\t \\r \\0 \\xNN

Behind %k, %s and %h: {hex} {base64} {escape} {json}. Behind a number: {hex}, or {big8} {big16} {big32} {big64} and
{little8} ... for its bytes. A format is compiled once, into one function for each piece.
"""

import re
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime

from odradek.cli.client.escaping import escaped, unescaped
from odradek.cli.client.record import Record
from odradek.cli.failure import Failure

Piece = Callable[[Record], bytes]

LETTERS = "tpoTdekshKSRH%"

_PIECE = re.compile(r"%(.)(?:\{([^}]*)\})?|([^%]+)", re.DOTALL)
_BINARY = re.compile(r"(big|little)(8|16|32|64)\Z")

_NUMBERS: dict[str, Callable[[Record], int]] = {
    "p": lambda record: int(record.partition),
    "o": lambda record: int(record.offset),
    "T": lambda record: int(record.timestamp),
    "e": lambda record: int(record.leader_epoch),
    "K": lambda record: _length(record.key),
    "S": lambda record: _length(record.value),
    "H": lambda record: len(record.headers),
}
_TEXTS: dict[str, Callable[[Record], bytes]] = {
    "t": lambda record: str(record.topic).encode(),
    "k": lambda record: record.key or b"",
    "s": lambda record: record.value or b"",
}


class Format:
    """`shown` are the key and value that a decoder made, in their places."""

    def __init__(self, pieces: list[Piece]) -> None:
        self._pieces = pieces

    def render(self, record: Record) -> bytes:
        return b"".join([piece(record) for piece in self._pieces])


def compiled(text: str) -> Format:
    """Failure for a letter or a modifier that there is not."""
    pieces: list[Piece] = []
    position = 0
    while position < len(text):
        found = _PIECE.match(text, position)
        if found is None:
            raise Failure(f"-f {text!r}: a format ends with a single %; %% is a percent sign")
        letter, modifier, plain = found.groups()
        pieces.append(_constant(unescaped(plain.encode())) if plain is not None else _piece(letter, modifier))
        position = found.end()
    return Format(pieces)


def _piece(letter: str, modifier: str | None) -> Piece:
    if letter == "%":
        return _constant(b"%" if modifier is None else f"%{{{modifier}}}".encode())
    if letter in _NUMBERS:
        return _number(_NUMBERS[letter], letter, modifier)
    if letter == "R":
        return _number(_NUMBERS["S"], letter, modifier or "big32")
    if letter in _TEXTS:
        return _text(_TEXTS[letter], letter, modifier)
    if letter == "h":
        return _headers(modifier)
    if letter == "d":
        return _date(modifier or "%Y-%m-%dT%H:%M:%S")
    raise Failure(f"-f: there is no %{letter}; there are {', '.join('%' + each for each in LETTERS)}")


def _constant(data: bytes) -> Piece:
    return lambda record: data


def _number(number: Callable[[Record], int], letter: str, modifier: str | None) -> Piece:
    if modifier in (None, "ascii", ""):
        return lambda record: b"%d" % number(record)
    if modifier == "hex":
        return lambda record: b"%x" % number(record)
    binary = _BINARY.match(modifier or "")
    if binary is None:
        raise Failure(f"-f %{letter}{{{modifier}}}: expected {{hex}}, {{big32}}, {{little64}} and the like")
    order, bits = binary.groups()
    size = int(bits) // 8
    mask = (1 << int(bits)) - 1
    return lambda record: (number(record) & mask).to_bytes(size, "big" if order == "big" else "little")


def _text(text: Callable[[Record], bytes], letter: str, modifier: str | None) -> Piece:
    change = modified(letter, modifier)
    return lambda record: change(text(record))


def _headers(modifier: str | None) -> Piece:
    """name=value, with commas between them."""
    change = modified("h", modifier)

    def piece(record: Record) -> bytes:
        return b",".join(b"%b=%b" % (name.encode(), change(value or b"")) for name, value in record.headers)

    return piece


def modified(letter: str, modifier: str | None) -> Callable[[bytes], bytes]:
    changes: dict[str | None, Callable[[bytes], bytes]] = {
        None: bytes,
        "": bytes,
        "hex": lambda data: data.hex().encode(),
        "base64": b64encode,
        "escape": lambda data: escaped(data).encode(),
        "json": _quoted,
    }
    if modifier not in changes:
        raise Failure(f"-f %{letter}{{{modifier}}}: expected {{hex}}, {{base64}}, {{escape}} or {{json}}")
    return changes[modifier]


def _quoted(data: bytes) -> bytes:
    import json

    return json.dumps(data.decode("utf-8", "replace"), ensure_ascii=False).encode()


def _date(pattern: str) -> Piece:
    def piece(record: Record) -> bytes:
        try:
            moment = datetime.fromtimestamp(record.timestamp / 1000, UTC).astimezone()
        except (ValueError, OverflowError, OSError):  # a program may write any number as a time
            return b"%d" % record.timestamp
        return moment.strftime(pattern).encode()

    return piece


def _length(data: bytes | None) -> int:
    return -1 if data is None else len(data)
