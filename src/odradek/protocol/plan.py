"""How one version of a struct lies on the wire, as data that both executors follow step for step.

Neighbouring fields of fixed width are one step, with one check of what remains and one `struct` for all of them. Sizes
and costs are known here, so that an executor can refuse a hostile count before it allocates anything.

A plan knows the class of its struct, so that who decodes by one gets an object of that class. The values of fields are
`Any` here: which types they have is what a plan says at run time.
"""

from collections.abc import Callable
from itertools import groupby
from operator import attrgetter
from struct import Struct as Packer
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from odradek.protocol.field import ARRAY, BYTES, FORMATS, RECORDS, STRING, STRUCT, UUID, Field

FIXED = 14  # a step of neighbouring fields of fixed width; the other steps have the kind of their one field

STRING_BYTES_MAX = 32767
LENGTH_MAX = 2147483647
TAG_MAX = 0xFFFFFFFF
TAGS_COST_BYTES = 128  # what one unknown tag occupies once decoded: a tuple, an int and the bytes object

# A decoded message may occupy 1 MiB plus 32 times the bytes it came in. Honest messages stay below 25 times: the
# dearest are structs of two small integers, or of one short name. An array that would pass the limit is hostile.
DECODED_BYTES_BASE = 1 << 20
DECODED_BYTES_PER_BYTE = 32
# However long its frame: what a request names, records and other payload apart. A fetch may ask for 90,000 partitions.
REQUEST_DECODED_BYTES_MAX = 32 << 20
CHARACTER_BYTES_MAX = 4  # of a string: one odd character makes all of them wide

SHORT_ARRAY_MAX = 8  # replicas, in-sync replicas: arrays of numbers are mostly short

POINTER_BYTES = 8
GC_HEAD_BYTES = 16
VALUE_COST_BYTES = 32  # an int or float object
STRING_COST_BYTES = 56
LIST_COST_BYTES = 72
VIEW_COST_BYTES = 200


class StructLike(Protocol):
    """What a plan and its executors need of the structs of `declare.py`."""

    fields: ClassVar[tuple[Field, ...]]
    plans: "ClassVar[dict[tuple[int, bool], Plan[Any]]]"  # Any: of the struct itself, which a class variable cannot say
    decoded_bytes_max: ClassVar[int]
    unknown_tags: tuple[tuple[int, bytes], ...]


M = TypeVar("M", bound=StructLike)
M_co = TypeVar("M_co", bound=StructLike, covariant=True)


class Step:
    """One move of an executor: a group of fixed fields (`names`, `kinds`, `packer`) or a single field (`name`)."""

    __slots__ = (
        *("compact", "default", "get", "item", "item_cost", "kind", "kinds", "name", "names", "nullable"),
        *("packer", "plan", "short", "size_min", "stored", "tag", "uuids"),
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
        self.item_cost = 0  # what one element of an array occupies once decoded
        self.plan: Plan[StructLike] | None = None  # of a struct
        # Any: elements of arrays have neither of these, and are never asked
        self.get: Any = None  # an attrgetter: the field's value or default, of a group the values of all its names
        self.stored: Any = None  # the slot itself: AttributeError if nobody has written it
        self.names: tuple[str, ...] = ()
        self.kinds: tuple[int, ...] = ()
        self.packer = Packer("")
        self.short: tuple[Packer, ...] = ()  # of an array's fixed elements: for so many of them at once
        self.uuids: tuple[int, ...] = ()  # which of the names are uuids: their length is checked when written


class Plan(Generic[M_co]):
    """A struct class in one version. `compiled` is where the compiled executor keeps its own form of it."""

    __slots__ = (
        "cls",
        "compiled",
        "cost_bytes",
        "decoded_bytes_max",
        "flexible",
        "name",
        "new",
        "refused",
        "size_min",
        "steps",
        "tagged",
        "version",
    )

    def __init__(self, cls: type[M_co], version: int, flexible: bool) -> None:
        self.cls = cls
        self.new: Callable[[type[M_co]], M_co] = cls.__new__
        self.name = cls.__name__
        self.version = version
        self.flexible = flexible
        self.steps: tuple[Step, ...] = ()
        self.tagged: tuple[Step, ...] = ()  # by rising tag
        # Not in this version, and an error if set to anything but the default: the slot and its field.
        self.refused: tuple[tuple[Callable[[object], object], Field], ...] = ()
        self.size_min = 0
        self.cost_bytes = 0
        self.decoded_bytes_max = cls.decoded_bytes_max
        self.compiled: object = None


def decoded_bytes_budget(plan: Plan[StructLike], frame_bytes: int) -> int:
    """What a message may occupy once decoded, the bytes of its payload apart."""
    return min(DECODED_BYTES_BASE + DECODED_BYTES_PER_BYTE * frame_bytes, plan.decoded_bytes_max)


def make_plan(cls: type[M], version: int, flexible: bool) -> Plan[M]:
    """The plan of a struct class; one that stands in several messages has one for all of them."""
    plan: Plan[M] | None = cls.plans.get((version, flexible))
    if plan is not None:
        return plan
    plan = Plan(cls, version, flexible)
    carried = [field for field in cls.fields if field.in_version(version)]
    absent = [field for field in cls.fields if not field.in_version(version)]
    tagged = [field for field in carried if field.tag is not None]
    plain = [field for field in carried if field.tag is None]
    plan.steps = tuple(_steps(plain, version, flexible))
    plan.tagged = tuple(sorted((_step(field, version, flexible) for field in tagged), key=_tag_of))
    plan.refused = tuple((_slot(cls, field.name), field) for field in absent if not field.ignorable)
    for step in plan.tagged:
        step.stored = _slot(cls, step.name)
    plan.size_min = sum(step.size_min for step in plan.steps) + flexible
    plan.cost_bytes = cls.__basicsize__ + GC_HEAD_BYTES + sum(_cost(field) for field in carried)
    cls.plans[(version, flexible)] = plan
    return plan


def _tag_of(step: "Step") -> int:
    return -1 if step.tag is None else step.tag


def _slot(cls: type, name: str) -> Callable[[object], object]:
    read: Callable[[object], object] = getattr(cls, name).__get__
    return read


def _steps(fields: list[Field], version: int, flexible: bool) -> list[Step]:
    """Neighbours of fixed width become one step."""
    steps: list[Step] = []
    for is_fixed, neighbours in groupby(fields, key=lambda field: field.kind <= UUID):
        if is_fixed:
            steps.append(_fixed(list(neighbours)))
        else:
            steps += [_step(field, version, flexible) for field in neighbours]
    return steps


def _fixed(fields: list[Field]) -> Step:
    step = Step(FIXED, fields[0].name)
    step.names = tuple(field.name for field in fields)
    step.get = attrgetter(*step.names) if fields[0].name else None
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
        step.get = attrgetter(field.name) if field.name else None
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
        step.item.names = (field.name,)
        if step.item.kind == FIXED:
            one = FORMATS[step.item.kinds[0]]
            step.item.short = tuple(Packer(">" + one * count) for count in range(SHORT_ARRAY_MAX + 1))
        step.item.size_min = max(1, step.item.size_min)
        step.item_cost = POINTER_BYTES + _element_cost(step.item)
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


def _element_cost(item: Step) -> int:
    if item.plan is not None:
        return item.plan.cost_bytes
    is_number = item.kind == FIXED and item.kinds[0] != UUID
    return VALUE_COST_BYTES if is_number else STRING_COST_BYTES
