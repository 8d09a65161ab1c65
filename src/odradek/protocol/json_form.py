"""Messages as JSON in the form of Kafka's own converters.

Field names in lowerCamel; bytes and records in standard base64; ids in their 22 characters; a tagged field that has its
default is left out, every other field of the version is there. So one program's dump is the other's input.
"""

from base64 import b64decode, b64encode
from typing import Any

from odradek.protocol import field as kinds
from odradek.protocol.declare import Message, Struct
from odradek.protocol.errors import EncodeError
from odradek.protocol.field import Field
from odradek.protocol.uuids import format_uuid, parse_uuid


def to_json(message: Struct, version: int) -> dict[str, Any]:
    """The fields that `version` carries."""
    form: dict[str, Any] = {}
    for field in message.fields:
        if not field.in_version(version):
            continue
        value = getattr(message, field.name)
        if field.tag is not None and value == field.fresh_default():
            continue
        form[field.json_name] = _value_to_json(field, value, version)
    return form


def _value_to_json(field: Field, value: Any, version: int) -> Any:
    if value is None:
        return None
    if field.kind == kinds.ARRAY:
        return [_value_to_json(field.item, element, version) for element in value]
    if field.kind == kinds.STRUCT:
        return to_json(value, version)
    if field.kind == kinds.UUID:
        return format_uuid(value)
    if field.kind in (kinds.BYTES, kinds.RECORDS):
        return b64encode(value).decode("ascii")
    return value


def from_json(cls: type[Message], form: Any, version: int) -> Message:
    """The message; a missing field of the version, an unknown name or a wrong type is an EncodeError."""
    message = _struct_from_json(cls, form, version, cls.__name__)
    assert isinstance(message, Message)
    return message


def _struct_from_json(cls: type[Struct], form: Any, version: int, where: str) -> Struct:
    if not isinstance(form, dict):
        raise EncodeError(f"{where} is {form!r} where an object is expected")
    left = dict(form)
    values: dict[str, Any] = {}
    for field in cls.fields:
        if not field.in_version(version):
            continue
        if field.json_name in left:
            inside = f"{where}.{field.json_name}"
            values[field.name] = _value_from_json(field, left.pop(field.json_name), version, inside)
        elif field.tag is None:
            raise EncodeError(f"{where} lacks {field.json_name!r}, which version {version} carries")
    if left:
        raise EncodeError(f"{where} has no field {next(iter(left))!r} in version {version}")
    return cls(**values)


def _value_from_json(field: Field, form: Any, version: int, where: str) -> Any:
    if form is None:
        return None  # whether the version allows it is the encoder's to say
    if field.kind == kinds.ARRAY:
        if not isinstance(form, list):
            raise EncodeError(f"{where} is {form!r} where a list is expected")
        return [_value_from_json(field.item, element, version, where) for element in form]
    if field.kind == kinds.STRUCT:
        return _struct_from_json(field.item, form, version, where)
    if field.kind >= kinds.UUID:
        return _text_value(field, form, where)
    if isinstance(form, bool) is not (field.kind == kinds.BOOLEAN) or isinstance(form, (str, list, dict)):
        raise EncodeError(f"{where} is {form!r} where {field.type_name} is expected")
    return form


def _text_value(field: Field, form: Any, where: str) -> Any:
    if not isinstance(form, str):
        raise EncodeError(f"{where} is {form!r} where a string is expected")
    if field.kind == kinds.STRING:
        return form
    try:
        return parse_uuid(form) if field.kind == kinds.UUID else b64decode(form, validate=True)
    except ValueError as error:
        raise EncodeError(f"{where}: {error}") from None
