"""The pure-Python executor of a plan. `_codec.pyx` is its compiled twin, branch for branch, and says the same words.

Decoding trusts nothing: every length, count, tag and varint is compared with what remains before anything is allocated,
and the result of any byte string is a message or `PeerProtocolError`. Encoding blames the caller: `EncodeError`.
"""

from collections.abc import Callable
from itertools import pairwise
from struct import Struct as Packer
from struct import error as StructError  # noqa: N812 - the name says what it is here
from struct import pack
from typing import Any, Protocol

from odradek.protocol.errors import EncodeError, PeerProtocolError
from odradek.protocol.field import ARRAY, BYTES, FORMATS, KIND_NAMES, RECORDS, STRING, STRUCT, UUID
from odradek.protocol.plan import (
    DECODED_BYTES_BASE,
    DECODED_BYTES_PER_BYTE,
    FIXED,
    LENGTH_MAX,
    STRING_BYTES_MAX,
    TAG_MAX,
    TAGS_COST_BYTES,
    Plan,
    Step,
)


class FileRange(Protocol):
    """Records that stay in their file until they are sent."""

    @property
    def size(self) -> int: ...


RecordsLike = bytes | bytearray | memoryview | FileRange
Part = bytes | bytearray | memoryview | FileRange


class Executor(Protocol):
    """What both executors offer."""

    def decode(self, plan: Plan, data: Any, at: int) -> tuple[Any, int]: ...
    def encode(self, plan: Plan, message: Any) -> list[Part]: ...


def decode(plan: Plan, data: Any, at: int = 0) -> tuple[Any, int]:
    """The message at byte `at` of `data`, and the position behind it."""
    if at < 0:
        raise ValueError(f"no message begins at byte {at}")
    decoder = _Decoder(memoryview(data).cast("B"), at)
    return decoder.struct(plan), decoder.position


def encode(plan: Plan, message: Any) -> list[Part]:
    encoder = _Encoder()
    encoder.struct(plan, message)
    return encoder.finish()


_INT16 = Packer(">h")
_INT32 = Packer(">i")


class _Decoder:
    """The reading side. Its methods are the interpreter's inner loop: a one-byte varint is read in place, twice."""

    __slots__ = ("budget", "end", "position", "view")

    def __init__(self, view: memoryview, at: int) -> None:
        self.view = view
        self.position = at
        self.end = len(view)
        self.budget = DECODED_BYTES_BASE + DECODED_BYTES_PER_BYTE * max(0, self.end - at)

    def struct(self, plan: Plan) -> Any:
        message = plan.new(plan.cls)
        for step in plan.steps:
            kind = step.kind
            if kind == FIXED:
                packer = step.packer
                position = self.position
                if self.end - position < packer.size:
                    raise self.truncated(step, packer.size)
                self.position = position + packer.size
                for name, value in zip(step.names, packer.unpack_from(self.view, position)):  # noqa: B905
                    setattr(message, name, value)
            elif kind == ARRAY:
                self.array(step, message)
            else:
                setattr(message, step.name, _READ[kind](self, step))
        if plan.flexible:
            position = self.position
            if position < self.end and self.view[position] == 0:
                self.position = position + 1
            else:
                self.tags(plan, message)
        return message

    def string(self, step: Step) -> str | None:
        length = self.length(step, _INT16)
        if length < 0:
            return None
        if length > STRING_BYTES_MAX:
            raise self.error(f"{step.name} is a string of {length} bytes, at most {STRING_BYTES_MAX} are allowed")
        start = self.position
        if length > self.end - start:
            raise self.lacking(step, length)
        self.position = end = start + length
        return str(self.view[start:end], "utf-8", "replace")

    def bytes_(self, step: Step) -> bytes | None:
        view = self.records(step)
        return None if view is None else bytes(view)

    def records(self, step: Step) -> memoryview | None:
        length = self.length(step, _INT32)
        if length < 0:
            return None
        start = self.position
        if length > self.end - start:
            raise self.lacking(step, length)
        self.position = end = start + length
        return self.view[start:end]

    def nested(self, step: Step) -> Any:
        assert step.plan is not None
        if step.nullable:
            position = self.position
            if position >= self.end:
                raise self.lacking(step, 1)
            self.position = position + 1
            # A present struct has a 1 before it. Kafka writes null as -1, but as 0 where the struct is a tagged field.
            marker = self.view[position]
            if marker > 127 or (step.tag is not None and marker == 0):
                return None
        return self.struct(step.plan)

    def array(self, step: Step, message: Any) -> None:
        position = self.position
        if step.compact and position < self.end and 0 < (byte := self.view[position]) < 0x80:
            self.position = position + 1
            count = byte - 1
        else:
            count = self.length(step, _INT32)
        if count <= 0:
            if count < 0:
                setattr(message, step.name, None)
            elif step.default is None or step.tag is not None:  # otherwise an unwritten slot reads as an empty list
                setattr(message, step.name, [])
            return
        item = step.item
        assert item is not None
        if count > (self.end - self.position) // item.size_min:
            raise self.error(f"{step.name} claims {count} elements, {self.end - self.position} bytes remain")
        self.budget -= count * step.item_cost
        if self.budget < 0:
            raise self.error(f"{step.name} would occupy more memory than an honest message of this size")
        setattr(message, step.name, self.elements(item, count))

    def elements(self, item: Step, count: int) -> list[Any]:
        if item.plan is not None:
            plan, read = item.plan, self.struct
            return [read(plan) for _ in range(count)]
        if item.kind == FIXED:
            start = self.position
            self.position = start + count * item.packer.size
            if count < len(item.short):
                return list(item.short[count].unpack_from(self.view, start))
            return [value for (value,) in item.packer.iter_unpack(self.view[start : self.position])]
        return [self.string(item) for _ in range(count)]

    def tags(self, plan: Plan, message: Any) -> None:
        count = self.varint(plan.name)
        if count == 0:
            return
        remains = self.end - self.position
        if count > remains // 2:
            raise self.error(f"{plan.name} claims {count} tagged fields, {remains} bytes remain")
        self.budget -= count * TAGS_COST_BYTES
        if self.budget < 0:
            raise self.error(f"{plan.name} claims {count} tagged fields, more than an honest message holds")
        unknown: list[tuple[int, bytes]] = []
        for _ in range(count):
            tag = self.varint(plan.name)
            size = self.varint(plan.name)
            if size > self.end - self.position:
                raise self.error(f"tag {tag} of {plan.name} claims {size} bytes, {self.end - self.position} remain")
            if not self.known_tag(plan, message, tag, size):
                start = self.position
                self.position = start + size
                unknown.append((tag, bytes(self.view[start : self.position])))
        if unknown:
            message.unknown_tags = tuple(sorted(unknown))

    def known_tag(self, plan: Plan, message: Any, tag: int, size: int) -> bool:
        for step in plan.tagged:
            if step.tag == tag:
                break
        else:
            return False
        outer, self.end = self.end, self.position + size
        self.tagged_value(step, message)
        if self.position != self.end:
            raise self.error(f"{step.name} ends {self.end - self.position} bytes before its tag does")
        self.end = outer
        return True

    def tagged_value(self, step: Step, message: Any) -> None:
        if step.kind == ARRAY:
            self.array(step, message)
        elif step.kind != FIXED:
            setattr(message, step.name, _READ[step.kind](self, step))
        elif self.end - self.position < step.packer.size:
            raise self.truncated(step, step.packer.size)
        else:
            (value,) = step.packer.unpack_from(self.view, self.position)
            self.position += step.packer.size
            setattr(message, step.name, value)

    def length(self, step: Step, plain: Packer) -> int:
        """A length or count, -1 for null where null is allowed."""
        position = self.position
        length: int
        if step.compact:
            if position < self.end and (byte := self.view[position]) < 0x80:
                self.position = position + 1
                length = byte - 1
            else:
                length = self.varint(step.name) - 1
        else:
            if self.end - position < plain.size:
                raise self.truncated(step, plain.size)
            (length,) = plain.unpack_from(self.view, position)
            self.position = position + plain.size
        if length < 0:
            if not step.nullable:
                raise self.error(f"{step.name} is null, which this version does not allow")
            return -1
        return length

    def varint(self, name: str) -> int:
        value = shift = 0
        position = self.position
        while True:
            if position >= self.end:
                raise self.error(f"a varint of {name} is cut off")
            byte = self.view[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 28:
                raise self.error(f"a varint of {name} is longer than five bytes")
        if value > 0xFFFFFFFF:
            raise self.error(f"a varint of {name} does not fit 32 bits")
        self.position = position
        return value

    def lacking(self, step: Step, size: int) -> PeerProtocolError:
        return self.error(f"{step.name} claims {size} bytes, {self.end - self.position} remain")

    def truncated(self, step: Step, size: int) -> PeerProtocolError:
        return self.error(f"{step.name} needs {size} bytes, {max(0, self.end - self.position)} remain")

    def error(self, reason: str) -> PeerProtocolError:
        return PeerProtocolError(reason, self.position)


_READ: dict[int, Callable[[_Decoder, Step], Any]] = {
    STRING: _Decoder.string,
    BYTES: _Decoder.bytes_,
    RECORDS: _Decoder.records,
    STRUCT: _Decoder.nested,
}


def records_size(value: RecordsLike) -> int:
    """The bytes of records: of a buffer its own, of a file range what it will send."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return memoryview(value).nbytes
    return value.size


class _Encoder:
    __slots__ = ("out", "parts")

    def __init__(self) -> None:
        self.out = bytearray()
        self.parts: list[Part] = []

    def finish(self) -> list[Part]:
        if self.out or not self.parts:
            self.parts.append(bytes(self.out))
        return self.parts

    def struct(self, plan: Plan, message: Any) -> None:
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

    def pack(self, plan: Plan, step: Step, values: tuple[Any, ...]) -> None:
        for index in step.uuids:
            check_uuid(plan.name, step.names[index], values[index])
        try:
            self.out += step.packer.pack(*values)
        except (StructError, TypeError, OverflowError):
            raise _misfit(plan, step, values) from None

    def string(self, plan: Plan, step: Step, value: Any) -> None:
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

    def bytes_(self, plan: Plan, step: Step, value: Any) -> None:
        if value is None:
            self.null(plan, step, b"\xff\xff\xff\xff")
            return
        view = _buffer(plan, step, value)
        self.length(plan, step, view.nbytes, _INT32)
        self.out += view

    def records(self, plan: Plan, step: Step, value: Any) -> None:
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

    def nested(self, plan: Plan, step: Step, value: Any) -> None:
        assert step.plan is not None
        if step.nullable:
            if value is None:
                self.out.append(0 if step.tag is not None else 0xFF)
                return
            self.out.append(1)
        elif value is None:
            raise _null(plan, step)
        self.struct(step.plan, value)

    def array(self, plan: Plan, step: Step, value: Any) -> None:
        item = step.item
        assert item is not None
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

    def pack_all(self, plan: Plan, item: Step, values: list[Any] | tuple[Any, ...]) -> None:
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

    def tags(self, plan: Plan, message: Any) -> None:
        present: list[tuple[int, Step | None, Any]] = []
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

    def tag_value(self, plan: Plan, step: Step | None, value: Any) -> None:
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

    def null(self, plan: Plan, step: Step, plain: bytes) -> None:
        if not step.nullable:
            raise _null(plan, step)
        self.out += b"\x00" if step.compact else plain

    def length(self, plan: Plan, step: Step, length: int, plain: Packer) -> None:
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


_WRITE: dict[int, Callable[[_Encoder, Plan, Step, Any], None]] = {
    STRING: _Encoder.string,
    BYTES: _Encoder.bytes_,
    RECORDS: _Encoder.records,
    STRUCT: _Encoder.nested,
    ARRAY: _Encoder.array,
}


def check_uuid(owner: str, name: str, value: Any) -> None:
    if not isinstance(value, bytes) or len(value) != 16:
        raise EncodeError(f"{owner}.{name} is {value!r} where the 16 bytes of an id are expected")


def _buffer(plan: Plan, step: Step, value: Any) -> memoryview:
    try:
        view = memoryview(value)
    except TypeError:
        raise EncodeError(f"{plan.name}.{step.name} is {_kind_of(value)} where bytes are expected") from None
    if not view.c_contiguous:
        raise EncodeError(f"{plan.name}.{step.name} is a view with gaps where bytes are expected")
    return view


def _kind_of(value: Any) -> str:
    return "null" if value is None else f"of type {type(value).__name__}"


def _null(plan: Plan, step: Step) -> EncodeError:
    return EncodeError(f"{plan.name}.{step.name} is null, which version {plan.version} does not allow")


def _check_refused(plan: Plan, message: Any) -> None:
    for stored, field in plan.refused:
        try:
            value = stored(message)
        except AttributeError:
            continue
        if value != field.fresh_default():
            raise EncodeError(f"{plan.name}.{field.name} is set, but version {plan.version} does not carry it")


def _misfit(plan: Plan, step: Step, values: tuple[Any, ...]) -> EncodeError:
    """Which of the values was it? Asked only after a failure."""
    for name, kind, value in zip(step.names, step.kinds, values, strict=True):
        if kind == UUID:
            continue
        try:
            pack(f">{FORMATS[kind]}", value)
        except (StructError, TypeError, OverflowError):
            return EncodeError(f"{plan.name}.{name} is {value!r}, which does not fit {KIND_NAMES[kind]}")
    raise AssertionError("every value fits by itself")


def check_unknown_tags(owner: str, tags: Any) -> None:
    """Those that came from a peer are right; a caller may set anything."""
    for row in tags if isinstance(tags, (tuple, list)) else (tags,):
        match row:
            case (int(tag), bytes()) if 0 <= tag <= TAG_MAX:
                continue
        raise EncodeError(f"{owner}.unknown_tags holds {row!r} where a tag and its bytes are expected")


def _check_tags(plan: Plan, present: list[tuple[int, Step | None, Any]]) -> None:
    for (tag, _, _), (following, _, _) in pairwise(present):
        if tag == following:
            raise EncodeError(f"{plan.name} has the tag {tag} twice")
