"""`consume --decode`: keys and values as what they mean: json, or numbers by the codes of Python's struct, as >iq."""

import json
import re
import struct
from collections.abc import Callable, Iterable

from odradek.cli.client.escaping import shown
from odradek.cli.client.record_json import Decoded
from odradek.cli.failure import Failure

Decode = Callable[[bytes], Decoded | None]

_CODES = re.compile(r"[<>=!]?[bBhHiIlLqQfdc?x\d]*s?\Z")


class Decoders:
    """Of a record's key and value; None where nothing is to be decoded."""

    def __init__(self, key: Decode | None = None, value: Decode | None = None) -> None:
        self.key = key
        self.value = value


def decoders(given: Iterable[str]) -> Decoders:
    """`json`, `>iq`, `key=>q`, `value=json`: of the value unless it says key. Failure for what is none."""
    found = Decoders()
    for text in given:
        part, equals, form = text.partition("=")
        if not equals or part not in ("key", "value"):
            part, form = "value", text
        setattr(found, part, decoder(form))
    return found


def decoder(form: str) -> Decode:
    if form == "json":
        return _json
    if not form or not _CODES.match(form):
        raise Failure(
            f"--decode {form}: expected json, or codes such as >iq (an int and a long) or >is (an int, then text)"
        )
    try:
        struct.calcsize(form.removesuffix("s"))
    except struct.error as error:
        raise Failure(f"--decode {form}: {error}") from None
    return _of_codes(form)


def decoded_text(decoded: Decoded) -> str:
    """As a line of text: a document as JSON, numbers with spaces between them."""
    if isinstance(decoded.value, list) and not any(isinstance(each, (list, dict)) for each in decoded.value):
        return " ".join(map(str, decoded.value))
    return json.dumps(decoded.value, ensure_ascii=False)


def _json(data: bytes) -> Decoded | None:
    try:
        return Decoded(json.loads(data))
    except ValueError:
        return None


def _of_codes(form: str) -> Decode:
    """An `s` at the end takes whatever is left."""
    fixed, takes_rest = form.removesuffix("s"), form.endswith("s")
    numbers = struct.Struct(fixed if fixed[:1] in "<>=!" and fixed else f">{fixed}")

    def decode(data: bytes) -> Decoded | None:
        if len(data) < numbers.size or (len(data) > numbers.size and not takes_rest):
            return None
        values = [shown(each) if isinstance(each, bytes) else each for each in numbers.unpack_from(data)]
        return Decoded([*values, shown(data[numbers.size :])] if takes_rest else values)

    return decode
