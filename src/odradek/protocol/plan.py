"""How one version of a struct lies on the wire, as data that both executors follow step for step.

Neighbouring fields of fixed width are one step, with one check of what remains and one `struct` for all of them. Sizes
and costs are known here, so that an executor can refuse a hostile count before it allocates anything.
"""

from struct import Struct as Packer
from typing import Any

from odradek.protocol.field import ARRAY, BYTES, FORMATS, RECORDS, STRING, STRUCT, UUID, Field

FIXED = 14  # a step of neighbouring fields of fixed width; the other steps have the kind of their one field

STRING_BYTES_MAX = 32767
LENGTH_MAX = 2147483647
TAGS_COST_BYTES = 128  # what one unknown tag occupies once decoded: a tuple, an int and the bytes object

# A decoded message may occupy 1 MiB plus 32 times the bytes it came in. Honest messages stay below 25 times: the
# dearest are structs of two small integers, or of one short name. An array that would pass the limit is hostile.
DECODED_BYTES_BASE = 1 << 20
DECODED_BYTES_PER_BYTE = 32

POINTER_BYTES = 8
GC_HEAD_BYTES = 16
VALUE_COST_BYTES = 32  # an int or float object
STRING_COST_BYTES = 56
LIST_COST_BYTES = 72
VIEW_COST_BYTES = 200


class Step:
    """One move of an executor: a group of fixed fields (`names`, `kinds`, `packer`) or a single field (`name`)."""

    __slots__ = (
        *("compact", "default", "item", "kind", "kinds", "name", "names", "nullable", "packer", "plan"),
        *("size_min", "tag", "uuids"),
    )

    def __init__(self, kind: int, name: str) -> None:
        self.kind = kind
        self.name = name
        self.compact = False
        self.nullable = False
        self.default: Any = None
        self.tag: int | None = None
        self.size_min = 0
        self.item: Step | None = None  # the element of an array
        self.plan: Plan | None = None  # of a struct
        self.names: tuple[str, ...] = ()
        self.kinds: tuple[int, ...] = ()
        self.packer = Packer("")
        self.uuids: tuple[int, ...] = ()  # which of the names are uuids: their length is checked when written


class Plan:
    """A struct class in one version. `compiled` is where the compiled executor keeps its own form of it."""

    __slots__ = (
        "cls",
        "compiled",
        "cost_bytes",
        "flexible",
        "name",
        "new",
        "refused",
        "size_min",
        "steps",
        "tagged",
        "version",
    )

    def __init__(self, cls: Any, version: int, flexible: bool) -> None:
        self.cls = cls
        self.new = cls.__new__
        self.name = cls.__name__
        self.version = version
        self.flexible = flexible
        self.steps: tuple[Step, ...] = ()
        self.tagged: tuple[Step, ...] = ()  # by rising tag
        self.refused: tuple[Field, ...] = ()  # not in this version, and an error if set to anything but the default
        self.size_min = 0
        self.cost_bytes = 0
        self.compiled: Any = None


def make_plan(cls: Any, version: int, flexible: bool) -> Plan:
    plan: Plan | None = cls.plans.get((version, flexible))
    if plan is not None:
        return plan
    plan = Plan(cls, version, flexible)
    carried = [field for field in cls.fields if field.in_version(version)]
    tagged = [field for field in carried if field.tag is not None]
    plain = [field for field in carried if field.tag is None]
    plan.steps = tuple(_steps(plain, version, flexible))
    plan.tagged = tuple(sorted((_step(field, version, flexible) for field in tagged), key=lambda step: step.tag or 0))
    plan.refused = tuple(field for field in cls.fields if not field.in_version(version) and not field.ignorable)
    plan.size_min = sum(step.size_min for step in plan.steps) + flexible
    plan.cost_bytes = cls.__basicsize__ + GC_HEAD_BYTES + sum(_cost(field) for field in carried)
    cls.plans[(version, flexible)] = plan
    return plan


def _steps(fields: list[Field], version: int, flexible: bool) -> list[Step]:
    steps: list[Step] = []
    group: list[Field] = []
    for field in fields:
        if field.kind <= UUID:
            group.append(field)
            continue
        if group:
            steps.append(_fixed(group))
            group = []
        steps.append(_step(field, version, flexible))
    if group:
        steps.append(_fixed(group))
    return steps


def _fixed(fields: list[Field]) -> Step:
    step = Step(FIXED, fields[0].name)
    step.names = tuple(field.name for field in fields)
    step.kinds = tuple(field.kind for field in fields)
    step.default = tuple(field.default for field in fields)
    step.packer = Packer(">" + "".join(FORMATS[kind] for kind in step.kinds))
    step.uuids = tuple(index for index, kind in enumerate(step.kinds) if kind == UUID)
    step.size_min = step.packer.size
    return step


def _step(field: Field, version: int, flexible: bool) -> Step:
    if field.kind <= UUID:
        step = _fixed([field])
    else:
        step = Step(field.kind, field.name)
        step.compact = flexible and field.flexible
        step.nullable = field.nullable_in(version)
        step.default = field.fresh_default()
        _complete(step, field, version, flexible)
    step.tag = field.tag
    return step


def _complete(step: Step, field: Field, version: int, flexible: bool) -> None:
    if field.kind == STRUCT:
        step.plan = make_plan(field.item, version, flexible)
        step.size_min = 1 if step.nullable else step.plan.size_min
        return
    if field.kind == ARRAY:
        step.item = _step(field.item, version, flexible)
        step.item.name = field.name
        step.item.size_min = max(1, step.item.size_min)
    step.size_min = 1 if step.compact else 2 if field.kind == STRING else 4


def _cost(field: Field) -> int:
    """What a decoded field occupies beside its slot, its own bytes and the elements of an array apart."""
    if field.kind == STRUCT:
        cls = field.item
        return int(cls.__basicsize__) + GC_HEAD_BYTES + sum(_cost(inner) for inner in cls.fields)
    if field.kind == ARRAY:
        return LIST_COST_BYTES
    if field.kind == RECORDS:
        return VIEW_COST_BYTES
    return STRING_COST_BYTES if field.kind in (STRING, BYTES, UUID) else VALUE_COST_BYTES


def item_cost(step: Step) -> int:
    """What one element of the array `step` occupies once decoded."""
    item = step.item
    assert item is not None
    if item.plan is not None:
        return POINTER_BYTES + item.plan.cost_bytes
    is_value = item.kind == FIXED and item.kinds[0] != UUID
    return POINTER_BYTES + (VALUE_COST_BYTES if is_value else STRING_COST_BYTES)
