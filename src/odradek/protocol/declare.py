"""The language of the declarations in `messages/`.

A struct is a class whose body names its fields in wire order, each with a function from here:

    class FetchTopic(Struct):
        topic      = string("0-12", ignorable=True)
        topic_id   = uuid("13+", ignorable=True)
        partitions = array(FetchPartition)

The functions return a `Field` and say that they return the Python type, so that mypy and editors know what
`request.topics[0].partitions` is. The metaclass turns the fields into slots. Inside, values of fields are objects of
any type: the declared types are those that the class body shows, and no code of this file depends on one of them.

A slot that nobody has written reads as the field's default. So a new object costs nothing per field, a decoder writes
only what the version carries, and an encoder knows an untouched field without comparing.
"""

import sys
from typing import TYPE_CHECKING, Any, ClassVar, NewType, Self, TypeVar, cast, overload

from odradek import native
from odradek.protocol import codec as pure_codec
from odradek.protocol import field as kinds
from odradek.protocol.codec import Executor
from odradek.protocol.errors import UnsupportedVersion
from odradek.protocol.field import ARRAY, STRUCT, ZERO_UUID, Field, parse_versions
from odradek.protocol.parts import Buffer, Part, RecordsLike, records_size
from odradek.protocol.plan import DECODED_BYTES_BASE, REQUEST_DECODED_BYTES_MAX, Plan, make_plan
from odradek.protocol.uuids import format_uuid

Uuid = NewType("Uuid", bytes)
T = TypeVar("T")
S = TypeVar("S", bound="Struct")

executor = cast(Executor, native.load("odradek.protocol._codec") or pure_codec)


def boolean(versions: str = "", *, default: bool = False, tag: int | None = None, ignorable: bool = False) -> bool:
    """True or false, one byte."""
    return cast(bool, Field(kinds.BOOLEAN, versions, default=default, tag=tag, ignorable=ignorable))


def int8(versions: str = "", *, default: int = 0, tag: int | None = None, ignorable: bool = False) -> int:
    """A signed number of one byte."""
    return cast(int, Field(kinds.INT8, versions, default=default, tag=tag, ignorable=ignorable))


def int16(versions: str = "", *, default: int = 0, tag: int | None = None, ignorable: bool = False) -> int:
    """A signed number of two bytes."""
    return cast(int, Field(kinds.INT16, versions, default=default, tag=tag, ignorable=ignorable))


def uint16(versions: str = "", *, default: int = 0, tag: int | None = None, ignorable: bool = False) -> int:
    """An unsigned number of two bytes."""
    return cast(int, Field(kinds.UINT16, versions, default=default, tag=tag, ignorable=ignorable))


def int32(versions: str = "", *, default: int = 0, tag: int | None = None, ignorable: bool = False) -> int:
    """A signed number of four bytes."""
    return cast(int, Field(kinds.INT32, versions, default=default, tag=tag, ignorable=ignorable))


def uint32(versions: str = "", *, default: int = 0, tag: int | None = None, ignorable: bool = False) -> int:
    """An unsigned number of four bytes."""
    return cast(int, Field(kinds.UINT32, versions, default=default, tag=tag, ignorable=ignorable))


def int64(versions: str = "", *, default: int = 0, tag: int | None = None, ignorable: bool = False) -> int:
    """A signed number of eight bytes."""
    return cast(int, Field(kinds.INT64, versions, default=default, tag=tag, ignorable=ignorable))


def float64(versions: str = "", *, default: float = 0.0, tag: int | None = None, ignorable: bool = False) -> float:
    """A floating-point number of eight bytes."""
    return cast(float, Field(kinds.FLOAT64, versions, default=default, tag=tag, ignorable=ignorable))


def uuid(versions: str = "", *, tag: int | None = None, ignorable: bool = False) -> Uuid:
    """An id of 16 bytes; all zeros stand for none."""
    return cast(Uuid, Field(kinds.UUID, versions, default=ZERO_UUID, tag=tag, ignorable=ignorable))


def string(versions: str = "", *, default: str = "", tag: int | None = None, ignorable: bool = False) -> str:
    """A string that is never null, at most 32767 bytes of UTF-8."""
    return cast(str, Field(kinds.STRING, versions, default=default, tag=tag, ignorable=ignorable))


def nullable_string(
    versions: str = "",
    *,
    nullable: str = "",
    default: str | None = None,
    tag: int | None = None,
    ignorable: bool = False,
    flexible: bool = True,
) -> str | None:
    """A string that may be null in the versions `nullable`. `flexible=False` keeps the two-byte length everywhere."""
    field = Field(
        kinds.STRING,
        versions,
        default=default,
        nullable=nullable,
        tag=tag,
        ignorable=ignorable,
        flexible=flexible,
    )
    return cast("str | None", field)


def bytes_(versions: str = "", *, tag: int | None = None, ignorable: bool = False) -> bytes:
    """Bytes that are never null; a copy when decoded."""
    return cast(bytes, Field(kinds.BYTES, versions, default=b"", tag=tag, ignorable=ignorable))


def nullable_bytes(
    versions: str = "",
    *,
    nullable: str = "",
    default: bytes | None = None,
    tag: int | None = None,
    ignorable: bool = False,
) -> bytes | None:
    """Bytes that may be null in the versions `nullable`."""
    field = Field(kinds.BYTES, versions, default=default, nullable=nullable, tag=tag, ignorable=ignorable)
    return cast("bytes | None", field)


def records_(versions: str = "", *, nullable: str = "none", ignorable: bool = False) -> RecordsLike | None:
    """Record data: a view into the frame when decoded; a buffer or a range of a file when encoded. Never copied."""
    return cast("RecordsLike | None", Field(kinds.RECORDS, versions, nullable=nullable, ignorable=ignorable))


def struct(item: type[S], versions: str = "", *, tag: int | None = None, ignorable: bool = False) -> S:
    """A struct of its own fields inside this one, never null."""
    return cast(S, Field(STRUCT, versions, default=item, tag=tag, ignorable=ignorable, item=item))


def nullable_struct(
    item: type[S],
    versions: str = "",
    *,
    nullable: str = "",
    default: type[S] | None = None,
    tag: int | None = None,
    ignorable: bool = False,
) -> S | None:
    """A struct that may be null in the versions `nullable`: one byte before it tells."""
    field = Field(STRUCT, versions, default=default, nullable=nullable, tag=tag, ignorable=ignorable, item=item)
    return cast("S | None", field)


@overload
def array(item: type[S], versions: str = "", *, tag: int | None = None, ignorable: bool = False) -> list[S]: ...
@overload
def array(item: T, versions: str = "", *, tag: int | None = None, ignorable: bool = False) -> list[T]: ...
def array(item: object, versions: str = "", *, tag: int | None = None, ignorable: bool = False) -> object:
    """An array of structs, `array(FetchTopic)`, or of values, `array(int32())`."""
    return Field(ARRAY, versions, default=[], tag=tag, ignorable=ignorable, item=_element(item))


@overload
def nullable_array(
    item: type[S],
    versions: str = "",
    *,
    nullable: str = "",
    default: list[S] | None = None,
    tag: int | None = None,
    ignorable: bool = False,
) -> list[S] | None: ...
@overload
def nullable_array(
    item: T,
    versions: str = "",
    *,
    nullable: str = "",
    default: list[T] | None = None,
    tag: int | None = None,
    ignorable: bool = False,
) -> list[T] | None: ...
def nullable_array(
    item: object,
    versions: str = "",
    *,
    nullable: str = "",
    default: object = None,
    tag: int | None = None,
    ignorable: bool = False,
) -> object:
    """An array that may be null in the versions `nullable`."""
    element = _element(item)
    return Field(ARRAY, versions, default=default, nullable=nullable, tag=tag, ignorable=ignorable, item=element)


def _element(item: object) -> Field:
    return item if isinstance(item, Field) else Field(STRUCT, "", default=item, item=item)


class StructType(type):
    """Collects the fields of the class body and makes them slots."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, object], **options: object) -> "StructType":
        fields: list[Field] = []
        for field_name, value in body.items():
            if type(value) is Field:
                value.name = field_name
                fields.append(value)
        for field in fields:
            del body[field.name]
        body.setdefault("__slots__", tuple(field.name for field in fields))
        body["fields"] = tuple(fields)
        return super().__new__(mcs, name, bases, body, **options)


class Struct(metaclass=StructType):
    """A struct of the protocol: one object for all versions, ordinary Python values in slots."""

    __slots__ = ("unknown_tags",)
    fields: ClassVar[tuple[Field, ...]]
    # Any: a plan of the class itself, which a class variable cannot say, here and in `Message`
    plans: ClassVar[dict[tuple[int, bool], Plan[Any]]]
    decoded_bytes_max: ClassVar[int] = sys.maxsize  # beside what the size of its frame allows
    constants: ClassVar[dict[str, object]]  # defaults that need no copy, noted as they are asked for
    variables: ClassVar[dict[str, Field]]  # fields with a default of which everybody gets a new one, noted likewise
    # What proves who somebody is, in whichever struct: one is shown in log lines and tracebacks, these fields never.
    secret_fields: ClassVar[frozenset[str]] = frozenset(
        {"auth_bytes", "hmac", "salt", "salted_password", "server_key", "stored_key"}
    )
    unknown_tags: tuple[tuple[int, bytes], ...]  # tag and bytes by rising tag: written back by encode

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        cls.plans = {}
        cls.constants = {"unknown_tags": ()}
        cls.variables = {}

    def __init__(self, **values: object) -> None:
        for name, value in values.items():
            try:
                setattr(self, name, value)
            except AttributeError:
                raise TypeError(f"{type(self).__name__} has no field {name!r}") from None

    if not TYPE_CHECKING:  # which would take every name for that of a field

        def __getattr__(self, name: str) -> object:
            """An unwritten slot reads as its default; one that the caller may change in place is kept."""
            try:
                return self.constants[name]
            except KeyError:
                return self._default_of(name)

    def _default_of(self, name: str) -> object:
        field = self.variables.get(name)
        if field is None:
            field = next((each for each in self.fields if each.name == name), None)
            if field is None:
                raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        value = field.fresh_default()
        if isinstance(value, (list, Struct)):
            self.variables[name] = field
            setattr(self, name, value)
        else:
            self.constants[name] = value
        return value

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (
            all(getattr(self, field.name) == getattr(other, field.name) for field in self.fields)
            and self.unknown_tags == other.unknown_tags
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        secret = self.secret_fields
        shown = [
            f"{field.name}={'[hidden]' if field.name in secret else _show(field, value)}"
            for field, value in self._non_defaults()
        ]
        if self.unknown_tags:
            shown.append(f"unknown_tags={self.unknown_tags!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def _non_defaults(self) -> list[tuple[Field, object]]:
        values = [(field, getattr(self, field.name)) for field in self.fields]
        return [(field, value) for field, value in values if value != field.fresh_default()]


def _show(field: Field, value: Any) -> str:  # Any: of the type that the field's kind stands for
    if field.kind == kinds.UUID:
        return format_uuid(value)
    if field.kind == ARRAY and field.item.kind == kinds.UUID and value is not None:
        return f"[{', '.join(format_uuid(item) for item in value)}]"
    if field.kind == kinds.RECORDS and value is not None:
        return f"<{records_size(value)} bytes>"
    return repr(value)


class Message(Struct):
    """A struct that stands by itself on the wire or in a log, in the versions that it names."""

    versions: ClassVar[range]
    version_plans: ClassVar[dict[int, Plan[Any]]]
    flexible_versions: ClassVar[tuple[int, int]]
    api_key: ClassVar[int | None] = None  # of an internal record: its type id

    def __init_subclass__(cls, *, versions: str = "0", flexible: str = "none", key: int | None = None) -> None:
        super().__init_subclass__()
        low, high = parse_versions(versions)
        cls.versions = range(low, high + 1)
        cls.version_plans = {}
        cls.flexible_versions = parse_versions(flexible)
        cls.api_key = key

    @classmethod
    def is_flexible(cls, version: int) -> bool:
        """Whether the version has compact lengths and tagged fields."""
        low, high = cls.flexible_versions
        return low <= version <= high

    @classmethod
    def plan(cls, version: int) -> Plan[Self]:
        """The plan of a version, made on first use."""
        plan: Plan[Self] | None = cls.version_plans.get(version)
        if plan is None:
            _check_version(cls, version)
            plan = cls.version_plans[version] = make_plan(cls, version, cls.is_flexible(version))
        return plan

    @classmethod
    def decode(cls, data: Buffer, version: int, at: int = 0) -> Self:
        """The message that stands in `data` from byte `at` on; what follows it is ignored, as Kafka does."""
        message, _ = executor.decode(cls.plan(version), data, at)
        return message

    @classmethod
    def decode_prefix(cls, data: Buffer, version: int, at: int = 0) -> tuple[Self, int]:
        """The message, and the position behind it."""
        return executor.decode(cls.plan(version), data, at)

    def encode(self, version: int) -> list[Part]:
        """The parts to send in order: bytes, and between them the records as they were handed in."""
        return executor.encode(self.plan(version), self)

    def to_bytes(self, version: int) -> bytes:
        """The encoding as one piece: for internal records, tests and tools, where nothing is sent from a file."""
        return b"".join(cast("list[bytes]", self.encode(version)))


def _check_version(cls: type[Message], version: object) -> None:
    """`True in range(9)` holds and so does `1.0`: a plan made for either would be found under the number."""
    if not isinstance(version, int) or isinstance(version, bool):
        raise TypeError(f"a version of {cls.__name__} is an int, not {version!r}")
    if version not in cls.versions:
        served = f"{cls.versions[0]}-{cls.versions[-1]}"
        raise UnsupportedVersion(f"{cls.__name__} has versions {served}, not {version}")


class Header(Message):
    """Stands before a request or response."""

    decoded_bytes_max = DECODED_BYTES_BASE


class Request(Message):
    """What a client or a broker asks."""

    api_key: ClassVar[int]  # no request is without one
    decoded_bytes_max = REQUEST_DECODED_BYTES_MAX


class Response(Message):
    """What is answered."""


class Data(Message):
    """A message that is not sent by itself: an internal record, or bytes inside a field of another message."""
