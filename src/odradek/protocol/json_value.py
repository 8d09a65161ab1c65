"""Single values of a message's JSON form. What is said about a wrong one is in the words of JSON, not of Python."""

from base64 import b64decode
from typing import Any

from odradek.protocol import field as kinds
from odradek.protocol.errors import EncodeError
from odradek.protocol.plan import STRING_BYTES_MAX
from odradek.protocol.uuids import parse_uuid

SHOWN_CHARS_MAX = 60

JsonObject = dict[str, Any]  # what `json` makes of an object. Any: a value is of whichever of JSON's types

RANGES = {
    kinds.INT8: (-(1 << 7), (1 << 7) - 1),
    kinds.INT16: (-(1 << 15), (1 << 15) - 1),
    kinds.UINT16: (0, (1 << 16) - 1),
    kinds.INT32: (-(1 << 31), (1 << 31) - 1),
    kinds.UINT32: (0, (1 << 32) - 1),
    kinds.INT64: (-(1 << 63), (1 << 63) - 1),
}


def shown(form: object) -> str:
    """The value as the user wrote it, if it is short enough to repeat."""
    from json import dumps  # wanted after a failure only

    if isinstance(form, dict):
        return "an object"
    if isinstance(form, list):
        return "a list"
    text = dumps(form, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARS_MAX else f"{text[:SHOWN_CHARS_MAX]}..."


def parse_value(kind: int, form: object, where: str) -> Any:  # Any: of the type that the kind stands for
    """The Python value of a field of that kind, neither null nor a list nor a struct; or EncodeError."""
    if kind in RANGES:
        return _whole_number(kind, form, where)
    if kind == kinds.BOOLEAN:
        if not isinstance(form, bool):
            raise EncodeError(f"{where} is {shown(form)} where true or false is expected")
        return form
    if kind == kinds.FLOAT64:
        return _number(form, where)
    if kind == kinds.UUID:
        return _uuid(form, where)
    return _string(form, where) if kind == kinds.STRING else parse_base64(form, where)


def _whole_number(kind: int, form: object, where: str) -> int:
    low, high = RANGES[kind]
    if isinstance(form, float):
        if not form.is_integer():
            raise EncodeError(f"{where} is {shown(form)}, which is not a whole number")
        raise EncodeError(f"{where} is {shown(form)}: write a whole number without a point or an exponent")
    if not isinstance(form, int) or isinstance(form, bool):
        raise EncodeError(f"{where} is {shown(form)} where a whole number is expected")
    if not low <= form <= high:
        raise EncodeError(f"{where} is {shown(form)}, which does not fit {kinds.KIND_NAMES[kind]} ({low} to {high})")
    return form


def _number(form: object, where: str) -> float:
    if not isinstance(form, (int, float)) or isinstance(form, bool):
        raise EncodeError(f"{where} is {shown(form)} where a number is expected")
    try:
        float(form)
    except OverflowError:
        raise EncodeError(f"{where} is {shown(form)}, which does not fit float64") from None
    return form


def _text(form: object, where: str) -> str:
    if not isinstance(form, str):
        raise EncodeError(f"{where} is {shown(form)} where a string is expected")
    return form


def _string(form: object, where: str) -> str:
    text = _text(form, where)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise EncodeError(f"{where} holds a lone surrogate, which UTF-8 cannot carry") from None
    if size > STRING_BYTES_MAX:
        raise EncodeError(f"{where} has {size} bytes, at most {STRING_BYTES_MAX} fit")
    return text


def _uuid(form: object, where: str) -> bytes:
    text = _text(form, where)
    try:
        return parse_uuid(text)
    except ValueError:
        expected = "22 characters of URL-safe base64"
        raise EncodeError(f"{where} is {shown(text)} where an id is expected: {expected}") from None


def parse_base64(form: object, where: str) -> bytes:
    """The bytes that a string of standard base64 stands for."""
    text = _text(form, where)
    try:
        return b64decode(text, validate=True)
    except ValueError as error:
        raise EncodeError(f"{where} is {shown(text)}, which is not base64: {error}") from None
