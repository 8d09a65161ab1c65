"""A third encoder, as plain as can be: straight from the declared fields, noting where every length stands.

The executors share one plan; this one knows nothing of it, so that a wrong plan shows. `Place` is a length, a count or
the size of a tag: what a hostile peer would lie about.
"""

from struct import pack
from typing import NamedTuple

from odradek.protocol import field as kinds
from odradek.protocol.field import Field


class Place(NamedTuple):
    position: int
    width: int
    is_varint: bool
    nullable: bool
    field: Field | None  # None of a count or a size of tags


class ReferenceEncoder:
    def __init__(self, version):
        self.version = version
        self.out = bytearray()
        self.places = []

    def message(self, message):
        self.struct(message, message.is_flexible(self.version))
        return bytes(self.out)

    def struct(self, struct, flexible):
        carried = [field for field in struct.fields if field.in_version(self.version)]
        for field in carried:
            if field.tag is None:
                self.value(field, getattr(struct, field.name), flexible, flexible and field.flexible)
        if flexible:
            self.tags([field for field in carried if field.tag is not None], struct)

    def tags(self, fields, struct):
        rows = [(tag, None, data) for tag, data in struct.unknown_tags]
        for field in fields:
            value = getattr(struct, field.name)
            if value != field.fresh_default():
                rows.append((field.tag, field, value))
        self.varint_place(len(rows))
        for tag, field, value in sorted(rows, key=lambda row: row[0]):
            self.out += varint(tag)
            self.tag(field, value)

    def tag(self, field, value):
        inner = ReferenceEncoder(self.version)
        if field is None:
            inner.out += value
        elif field.kind == kinds.STRUCT and value is None:
            inner.out.append(0)
        else:
            inner.value(field, value, True, True)
        self.varint_place(len(inner.out))
        start = len(self.out)
        self.out += inner.out
        self.places += [place._replace(position=start + place.position) for place in inner.places]

    def value(self, field, value, flexible, compact):
        if field.kind <= kinds.UUID:
            self.out += pack(f">{kinds.FORMATS[field.kind]}", value)
        elif field.kind == kinds.STRUCT:
            self.nested(field, value, flexible)
        elif field.kind == kinds.ARRAY:
            self.length(field, value, 4, compact)
            for element in value or ():
                self.value(field.item, element, flexible, compact)
        else:
            content = value.encode() if isinstance(value, str) else value
            self.length(field, content, 2 if field.kind == kinds.STRING else 4, compact)
            self.out += content or b""

    def nested(self, field, value, flexible):
        if field.nullable_in(self.version):
            self.out.append(0xFF if value is None else 1)
        if value is not None:
            self.struct(value, flexible)

    def length(self, field, content, width, compact):
        length = -1 if content is None else len(content)
        nullable = field.nullable_in(self.version)
        if compact:
            self.varint_place(length + 1, nullable, field)
        else:
            self.places.append(Place(len(self.out), width, False, nullable, field))
            self.out += length.to_bytes(width, "big", signed=True)

    def varint_place(self, value, nullable=False, field=None):
        encoded = varint(value)
        self.places.append(Place(len(self.out), len(encoded), True, nullable, field))
        self.out += encoded


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
