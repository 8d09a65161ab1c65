"""Messages as JSON in the form of Kafka's own converters.

Field names in lowerCamel; bytes and records in standard base64; ids in their 22 characters; a tagged field that has its
default is left out, every other field of the version is there. So one program's dump is the other's input.

Kafka's form has no place for tagged fields that nobody declares. `to_json(..., unknown_tags=True)` shows them under a
name that no field can have, `"_unknownTags": [{"tag": 5, "bytes": "AA=="}]`, and `from_json` reads them back.
"""

from base64 import b64encode
from typing import Any, TypeVar

from odradek.protocol import field as kinds
from odradek.protocol.declare import Message, Struct
from odradek.protocol.errors import EncodeError
from odradek.protocol.field import Field
from odradek.protocol.json_value import JsonObject, parse_base64, parse_value, shown
from odradek.protocol.parts import Buffer
from odradek.protocol.plan import TAG_MAX
from odradek.protocol.uuids import format_uuid

M = TypeVar("M", bound=Message)
S = TypeVar("S", bound=Struct)

UNKNOWN_TAGS = "_unknownTags"


def to_json(message: Struct, version: int, *, unknown_tags: bool = False) -> JsonObject:
    """The fields that `version` carries, as Kafka shows them; with `unknown_tags` also those that it does not show."""
    form: JsonObject = {}
    for field in message.fields:
        if not field.in_version(version):
            continue
        value = getattr(message, field.name)
        if field.tag is not None and value == field.fresh_default():
            continue
        form[field.json_name] = _value_to_json(field, value, version, unknown_tags)
    if unknown_tags and message.unknown_tags:
        form[UNKNOWN_TAGS] = [{"tag": tag, "bytes": _base64(data)} for tag, data in message.unknown_tags]
    return form


def _value_to_json(field: Field, value: Any, version: int, unknown_tags: bool) -> object:
    """Any: a value of the type that the field's kind stands for."""
    if value is None:
        return None
    if field.kind == kinds.ARRAY:
        return [_value_to_json(field.item, element, version, unknown_tags) for element in value]
    if field.kind == kinds.STRUCT:
        return to_json(value, version, unknown_tags=unknown_tags)
    if field.kind == kinds.UUID:
        return format_uuid(value)
    return _base64(value) if field.kind in (kinds.BYTES, kinds.RECORDS) else value


def _base64(data: Buffer) -> str:
    return b64encode(data).decode("ascii")


def from_json(cls: type[M], form: object, version: int, *, unknown_tags: bool = False, where: str | None = None) -> M:
    """The message. Whatever `version` cannot carry is an EncodeError that names the place: `X.topics[2].name`.

    With `unknown_tags` those that `to_json` shows are read too; `where` is the place of `form` in a larger one.
    """
    reader = _Reader(version, unknown_tags, cls.is_flexible(version))
    return reader.struct(cls, form, where or cls.__name__)


class _Reader:
    __slots__ = ("flexible", "unknown_tags", "version")

    def __init__(self, version: int, unknown_tags: bool, flexible: bool) -> None:
        self.version = version
        self.unknown_tags = unknown_tags
        self.flexible = flexible

    def struct(self, cls: type[S], form: object, where: str) -> S:
        if not isinstance(form, dict):
            raise EncodeError(f"{where} is {shown(form)} where an object is expected")
        left = dict(form)
        values: dict[str, object] = {}
        for field in cls.fields:
            name = field.json_name
            if not field.in_version(self.version):
                continue
            if name in left:
                values[field.name] = self.value(field, left.pop(name), f"{where}.{name}")
            elif field.tag is None:
                raise EncodeError(f"{where} lacks {shown(name)}, which version {self.version} carries")
        if self.unknown_tags and UNKNOWN_TAGS in left:
            values["unknown_tags"] = self.tags(cls, left.pop(UNKNOWN_TAGS), f"{where}.{UNKNOWN_TAGS}")
        if left:
            raise EncodeError(f"{where} has no field {shown(next(iter(left)))} in version {self.version}")
        return cls(**values)

    def value(self, field: Field, form: object, where: str) -> object:
        if form is None:
            if not field.nullable_in(self.version):
                raise EncodeError(f"{where} is null, which version {self.version} does not allow")
            return None
        if field.kind == kinds.ARRAY:
            rows = enumerate(_checked_list(form, where))
            return [self.value(field.item, element, f"{where}[{index}]") for index, element in rows]
        if field.kind == kinds.STRUCT:
            return self.struct(field.item, form, where)
        return parse_value(field.kind, form, where)

    def tags(self, cls: type[Struct], form: object, where: str) -> tuple[tuple[int, bytes], ...]:
        if not self.flexible:
            raise EncodeError(f"{where} is set, but version {self.version} carries no tagged fields")
        taken = {field.tag: field.json_name for field in cls.fields if field.in_version(self.version)}
        found: dict[int, bytes] = {}
        for index, row in enumerate(_checked_list(form, where)):
            tag, data = _unknown_tag(row, f"{where}[{index}]")
            if tag in found:
                raise EncodeError(f"{where} has the tag {tag} twice")
            if tag in taken:
                raise EncodeError(f"{where}[{index}].tag is {tag}, which is that of {shown(taken[tag])}")
            found[tag] = data
        return tuple(sorted(found.items()))


def _checked_list(form: object, where: str) -> list[object]:
    if not isinstance(form, list):
        raise EncodeError(f"{where} is {shown(form)} where a list is expected")
    return form


def _unknown_tag(form: object, where: str) -> tuple[int, bytes]:
    if not isinstance(form, dict) or form.keys() != {"tag", "bytes"}:
        raise EncodeError(f'{where} is {shown(form)} where an object with "tag" and "bytes" is expected')
    tag: int = parse_value(kinds.INT64, form["tag"], f"{where}.tag")
    if not 0 <= tag <= TAG_MAX:
        raise EncodeError(f"{where}.tag is {tag} where 0-{TAG_MAX} is expected")
    return tag, parse_base64(form["bytes"], f"{where}.bytes")
