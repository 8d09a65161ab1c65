"""The writing side of the pure-Python executor. Whatever does not fit is the caller's mistake: `EncodeError`.

A value may be anything that a caller has put into a field. It is `Any` where Python itself says whether it fits, or the
plan has said so already.
"""

from collections.abc import Callable
from itertools import pairwise
from struct import Struct as Packer
from struct import error as StructError  # noqa: N812 - the name says what it is here
from struct import pack
from typing import Any

from odradek.broken_rule import BrokenRuleError
from odradek.protocol.errors import EncodeError
from odradek.protocol.field import ARRAY, BYTES, FORMATS, KIND_NAMES, RECORDS, STRING, STRUCT, UUID
from odradek.protocol.parts import Part
from odradek.protocol.plan import FIXED, LENGTH_MAX, STRING_BYTES_MAX, TAG_MAX, Plan, Step, StructLike

_INT16 = Packer(">h")
_INT32 = Packer(">i")


class Encoder:
    __slots__ = ("out", "parts")

    def __init__(self) -> None:
        self.out = bytearray()
        self.parts: list[Part] = []

    def finish(self) -> list[Part]:
        if self.out or not self.parts:
            self.parts.append(bytes(self.out))
        return self.parts

    def struct(self, plan: Plan[StructLike], message: Any) -> None:
        if type(message) is not plan.cls:
            raise EncodeError(f"{type(message).__name__} where {plan.name} is expected")
        if plan.refused:
            _check_refused(plan, message)
        for step in plan.steps:
            kind = step.kind
            if kind == FIXED:
                values = step.get(message)
                self.pack(plan, step, values if len(step.names) > 1 else (values,))
            else:
                _WRITE[kind](self, plan, step, step.get(message))
        if plan.flexible:
            if plan.tagged or message.unknown_tags:
                self.tags(plan, message)
            else:
                self.out.append(0)

    def pack(self, plan: Plan[StructLike], step: Step, values: tuple[object, ...]) -> None:
        for index in step.uuids:
            check_uuid(plan.name, step.names[index], values[index])
        try:
            self.out += step.packer.pack(*values)
        except (StructError, TypeError, OverflowError):
            raise _misfit(plan, step, values) from None

    def string(self, plan: Plan[StructLike], step: Step, value: object) -> None:
        if value is None:
            self.null(plan, step, b"\xff\xff")
            return
        if not isinstance(value, str):
            raise EncodeError(f"{plan.name}.{step.name} is {_kind_of(value)} where a str is expected")
        try:
            encoded = value.encode()
        except UnicodeEncodeError:
            raise EncodeError(f"{plan.name}.{step.name} holds a lone surrogate, which UTF-8 cannot carry") from None
        if len(encoded) > STRING_BYTES_MAX:
            raise EncodeError(f"{plan.name}.{step.name} has {len(encoded)} bytes, at most {STRING_BYTES_MAX} fit")
        self.length(plan, step, len(encoded), _INT16)
        self.out += encoded

    def bytes_(self, plan: Plan[StructLike], step: Step, value: object) -> None:
        if value is None:
            self.null(plan, step, b"\xff\xff\xff\xff")
            return
        view = _buffer(plan, step, value)
        self.length(plan, step, view.nbytes, _INT32)
        self.out += view

    def records(self, plan: Plan[StructLike], step: Step, value: Any) -> None:
        if value is None:
            self.null(plan, step, b"\xff\xff\xff\xff")
            return
        size = getattr(value, "size", None)
        if size is None:
            size = _buffer(plan, step, value).nbytes
        elif not isinstance(size, int):
            raise EncodeError(f"{plan.name}.{step.name} has the size {size!r} where a number of bytes is expected")
        self.length(plan, step, size, _INT32)
        if size:
            self.parts += (bytes(self.out), value)
            self.out = bytearray()

    def nested(self, plan: Plan[StructLike], step: Step, value: Any) -> None:
        if step.plan is None:
            raise BrokenRuleError("the step of a struct has the plan of that struct")
        if step.nullable:
            if value is None:
                self.out.append(0 if step.tag is not None else 0xFF)
                return
            self.out.append(1)
        elif value is None:
            raise _null(plan, step)
        self.struct(step.plan, value)

    def array(self, plan: Plan[StructLike], step: Step, value: object) -> None:
        item = step.item
        if item is None:
            raise BrokenRuleError("the step of an array has the step of its elements")
        if value is None:
            self.null(plan, step, b"\xff\xff\xff\xff")
            return
        if not isinstance(value, (list, tuple)):
            raise EncodeError(f"{plan.name}.{step.name} is {_kind_of(value)} where a list is expected")
        self.length(plan, step, len(value), _INT32)
        if item.plan is not None:
            for element in value:
                self.struct(item.plan, element)
        elif item.kind == FIXED:
            self.pack_all(plan, item, value)
        else:
            for element in value:
                self.string(plan, item, element)

    def pack_all(self, plan: Plan[StructLike], item: Step, values: list[Any] | tuple[Any, ...]) -> None:
        if item.uuids:
            for value in values:
                check_uuid(plan.name, item.name, value)
            self.out += b"".join(values)
            return
        try:
            if len(values) < len(item.short):
                self.out += item.short[len(values)].pack(*values)
            else:
                self.out += pack(f">{len(values)}{FORMATS[item.kinds[0]]}", *values)
        except (StructError, TypeError, OverflowError):
            for value in values:
                self.pack(plan, item, (value,))  # says which one it is

    def tags(self, plan: Plan[StructLike], message: StructLike) -> None:
        present: list[tuple[int, Step | None, object]] = []
        for step in plan.tagged:
            try:
                value = step.stored(message)
            except AttributeError:  # an unwritten slot is the default
                continue
            if value != (step.default[0] if step.kind == FIXED else step.default):
                present.append((step.tag or 0, step, value))
        if message.unknown_tags:
            check_unknown_tags(plan.name, message.unknown_tags)
            present += [(tag, None, data) for tag, data in message.unknown_tags]
            present.sort(key=lambda row: row[0])
            _check_tags(plan, present)
        self.varint(len(present))
        for tag, known, value in present:
            self.varint(tag)
            self.tag_value(plan, known, value)

    def tag_value(self, plan: Plan[StructLike], step: Step | None, value: Any) -> None:
        if step is None:
            self.varint(len(value))
            self.out += value
            return
        outer, self.out = self.out, bytearray()
        if step.kind == FIXED:
            self.pack(plan, step, (value,))
        else:
            _WRITE[step.kind](self, plan, step, value)
        inner, self.out = self.out, outer
        self.varint(len(inner))
        self.out += inner

    def null(self, plan: Plan[StructLike], step: Step, plain: bytes) -> None:
        if not step.nullable:
            raise _null(plan, step)
        self.out += b"\x00" if step.compact else plain

    def length(self, plan: Plan[StructLike], step: Step, length: int, plain: Packer) -> None:
        if length < 0 or length > LENGTH_MAX:
            raise EncodeError(f"{plan.name}.{step.name} has the size {length}, at most {LENGTH_MAX} fits")
        if step.compact:
            self.varint(length + 1)
        else:
            self.out += plain.pack(length)

    def varint(self, value: int) -> None:
        if value < 0x80:
            self.out.append(value)
            return
        while value > 0x7F:
            self.out.append(value & 0x7F | 0x80)
            value >>= 7
        self.out.append(value)


_WRITE: dict[int, Callable[[Encoder, Plan[StructLike], Step, object], None]] = {
    STRING: Encoder.string,
    BYTES: Encoder.bytes_,
    RECORDS: Encoder.records,
    STRUCT: Encoder.nested,
    ARRAY: Encoder.array,
}


def check_uuid(owner: str, name: str, value: object) -> None:
    if not isinstance(value, bytes) or len(value) != 16:
        raise EncodeError(f"{owner}.{name} is {value!r} where the 16 bytes of an id are expected")


def _buffer(plan: Plan[StructLike], step: Step, value: Any) -> memoryview:
    try:
        view = memoryview(value)
    except TypeError:
        raise EncodeError(f"{plan.name}.{step.name} is {_kind_of(value)} where bytes are expected") from None
    if not view.c_contiguous:
        raise EncodeError(f"{plan.name}.{step.name} is a view with gaps where bytes are expected")
    return view


def _kind_of(value: object) -> str:
    return "null" if value is None else f"of type {type(value).__name__}"


def _null(plan: Plan[StructLike], step: Step) -> EncodeError:
    return EncodeError(f"{plan.name}.{step.name} is null, which version {plan.version} does not allow")


def _check_refused(plan: Plan[StructLike], message: object) -> None:
    for stored, field in plan.refused:
        try:
            value = stored(message)
        except AttributeError:
            continue
        if value != field.fresh_default():
            raise EncodeError(f"{plan.name}.{field.name} is set, but version {plan.version} does not carry it")


def _misfit(plan: Plan[StructLike], step: Step, values: tuple[object, ...]) -> EncodeError:
    """Which of the values was it? Asked only after a failure."""
    for name, kind, value in zip(step.names, step.kinds, values, strict=True):
        if kind == UUID:
            continue
        try:
            pack(f">{FORMATS[kind]}", value)
        except (StructError, TypeError, OverflowError):
            return EncodeError(f"{plan.name}.{name} is {value!r}, which does not fit {KIND_NAMES[kind]}")
    raise BrokenRuleError(f"{plan.name}: one of the values of a group does not fit, if the group does not")


def check_unknown_tags(owner: str, tags: object) -> None:
    """EncodeError for tags that cannot be written. Decoded ones are right, but a caller may set anything."""
    for row in tags if isinstance(tags, (tuple, list)) else (tags,):
        match row:
            case (int(tag), bytes()) if 0 <= tag <= TAG_MAX:
                continue
        raise EncodeError(f"{owner}.unknown_tags holds {row!r} where a tag and its bytes are expected")


def _check_tags(plan: Plan[StructLike], present: list[tuple[int, Step | None, object]]) -> None:
    for (tag, _, _), (following, _, _) in pairwise(present):
        if tag == following:
            raise EncodeError(f"{plan.name} has the tag {tag} twice")
