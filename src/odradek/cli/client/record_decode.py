"""`consume --decode`: keys and values as what they mean: json, avro, or numbers by codes of Python's struct, as >iq."""

import json
import re
import struct
from collections.abc import Callable, Iterable

from odradek.cli.client.escaping import shown
from odradek.cli.client.record_json import Decoded, bytes_form
from odradek.cli.failure import Failure

REGISTRY_VARIABLE = "ODRADEK_REGISTRY"

Decode = Callable[[bytes], Decoded | None]

_CODES = re.compile(r"[<>=!]?[bBhHiIlLqQfdc?x\d]*s?\Z")


class Decoders:
    """Of a record's key and value; None where nothing is to be decoded."""

    def __init__(self, key: Decode | None = None, value: Decode | None = None) -> None:
        self.key = key
        self.value = value


def decoders(given: Iterable[str], registry: str | None = None) -> Decoders:
    """`json`, `avro`, `>iq`, `key=>q`, `value=json`: of the value unless it says key. Failure for what is none.

    `registry` is the address of the schema registry that Avro needs.
    """
    found = Decoders()
    for text in given:
        part, equals, form = text.partition("=")
        if not equals or part not in ("key", "value"):
            part, form = "value", text
        setattr(found, part, _avro(registry) if form == "avro" else decoder(form))
    return found


def decoder(form: str) -> Decode:
    if form == "json":
        return _json
    if not form or not _CODES.match(form):
        raise Failure(
            f"--decode {form}: expected json, avro, or codes such as >iq (an int and a long) or >is (an int, then text)"
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


def _avro(address: str | None) -> Decode:
    """As it was written: the registry has the schema of each record."""
    from odradek.serde import AvroSerde, SchemaRegistry
    from odradek.serde.errors import SerializationError
    from odradek.serde.registry import RegistryError

    if address is None:
        raise Failure(f"--decode avro needs the schema registry: --registry URL, or ${REGISTRY_VARIABLE}")
    try:
        serde = AvroSerde(SchemaRegistry(address), reads_as_written=True)
    except (ImportError, ValueError) as error:
        raise Failure(f"--decode avro: {error}") from None

    def decode(data: bytes) -> Decoded | None:
        try:
            return Decoded(json.loads(json.dumps(serde.deserialize("", (), data), default=_plain)))
        except RegistryError:
            raise  # which concerns all that follow, too
        except SerializationError:
            return None

    return decode


def _plain(value: object) -> object:
    """What Avro has and JSON has not: bytes, dates, decimals."""
    return bytes_form(value) if isinstance(value, bytes) else str(value)


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
