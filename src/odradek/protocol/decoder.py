"""The reading side of the pure-Python executor.

It trusts nothing: every length, count, tag and varint is compared with what remains before anything is allocated. The
methods are the inner loop of an interpreter, which is why a one-byte varint is read in place in two of them.
"""

from collections.abc import Callable
from struct import Struct as Packer

from odradek.broken_rule import BrokenRuleError
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.field import ARRAY, BYTES, RECORDS, STRING, STRUCT
from odradek.protocol.plan import (
    CHARACTER_BYTES_MAX,
    FIXED,
    STRING_BYTES_MAX,
    TAGS_COST_BYTES,
    M,
    Plan,
    Step,
    StructLike,
)
from odradek.protocol.words import counted, remaining

_INT16 = Packer(">h")
_INT32 = Packer(">i")


class Decoder:
    __slots__ = ("budget", "end", "position", "view")

    def __init__(self, view: memoryview, at: int, budget: int) -> None:
        self.view = view
        self.position = at
        self.end = len(view)
        self.budget = budget

    def struct(self, plan: Plan[M]) -> M:
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
            raise self.lacking(step.name, length)
        self.budget -= length * CHARACTER_BYTES_MAX
        if self.budget < 0:
            raise self.too_dear(step)
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
            raise self.lacking(step.name, length)
        self.position = end = start + length
        return self.view[start:end]

    def nested(self, step: Step) -> object:
        if step.plan is None:
            raise BrokenRuleError("the step of a struct has the plan of that struct")
        if step.nullable:
            position = self.position
            if position >= self.end:
                raise self.lacking(step.name, 1)
            self.position = position + 1
            # A present struct has a 1 before it. Kafka writes null as -1, but as 0 where the struct is a tagged field.
            marker = self.view[position]
            if marker > 127 or (step.tag is not None and marker == 0):
                return None
        return self.struct(step.plan)

    def array(self, step: Step, message: object) -> None:
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
        if item is None:
            raise BrokenRuleError("the step of an array has the step of its elements")
        if count > (self.end - self.position) // item.size_min:
            remains = remaining(self.end - self.position)
            raise self.error(f"{step.name} claims {counted(count, 'element')}, {remains}")
        self.budget -= count * step.item_cost
        if self.budget < 0:
            raise self.too_dear(step)
        setattr(message, step.name, self.elements(item, count))

    def elements(self, item: Step, count: int) -> list[object]:
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

    def tags(self, plan: Plan[StructLike], message: StructLike) -> None:
        count = self.varint(plan.name)
        if count == 0:
            return
        remains = self.end - self.position
        if count > remains // 2:
            raise self.error(f"{plan.name} claims {counted(count, 'tagged field')}, {remaining(remains)}")
        self.budget -= count * TAGS_COST_BYTES
        if self.budget < 0:
            raise self.error(f"{plan.name} claims {count} tagged fields, more than an honest message holds")
        unknown: list[tuple[int, bytes]] = []
        for _ in range(count):
            tag = self.varint(plan.name)
            size = self.varint(plan.name)
            if size > self.end - self.position:
                raise self.lacking(f"tag {tag} of {plan.name}", size)
            if not self.known_tag(plan, message, tag, size):
                start = self.position
                self.position = start + size
                unknown.append((tag, bytes(self.view[start : self.position])))
        if unknown:
            message.unknown_tags = tuple(sorted(unknown))

    def known_tag(self, plan: Plan[StructLike], message: object, tag: int, size: int) -> bool:
        for step in plan.tagged:
            if step.tag == tag:
                break
        else:
            return False
        outer, self.end = self.end, self.position + size
        self.tagged_value(step, message)
        if self.position != self.end:
            early = counted(self.end - self.position, "byte")
            raise self.error(f"{step.name} ends {early} before its tag does")
        self.end = outer
        return True

    def tagged_value(self, step: Step, message: object) -> None:
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

    def lacking(self, what: str, size: int) -> PeerProtocolError:
        return self.error(f"{what} claims {counted(size, 'byte')}, {remaining(self.end - self.position)}")

    def truncated(self, step: Step, size: int) -> PeerProtocolError:
        remains = remaining(max(0, self.end - self.position))
        return self.error(f"{step.name} needs {counted(size, 'byte')}, {remains}")

    def too_dear(self, step: Step) -> PeerProtocolError:
        return self.error(f"{step.name} would occupy more memory than an honest message of this size")

    def error(self, reason: str) -> PeerProtocolError:
        return PeerProtocolError(reason, self.position)


_READ: dict[int, Callable[[Decoder, Step], object]] = {
    STRING: Decoder.string,
    BYTES: Decoder.bytes_,
    RECORDS: Decoder.records,
    STRUCT: Decoder.nested,
}
