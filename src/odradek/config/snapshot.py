"""Immutable, typed excerpts of a parsed config: what one component needs, under Python names.

    class LogConfig(Snapshot, of=topic.TABLE):
        segment_bytes = field("segment.bytes", int)
        cleanup_policy = strings("cleanup.policy")
        internal_segment_bytes = optional("internal.segment.bytes", int)

    log_config = LogConfig.from_config(config)

The functions claim to return the value's type, which is what an attribute of a snapshot holds; an editor and mypy need
no more. A field is checked against the table when the class is made: a name that the table does not have, a wrong type,
and a plain `field` for a config that may be null are errors of the program.
"""

import re
from typing import NoReturn, Self, TypeVar, cast

from odradek.config.definition import RELEASES, Definition, Table
from odradek.config.errors import ConfigError
from odradek.config.parsed import Config
from odradek.config.types import BOOLEAN, CLASS, DOUBLE, INT, LIST, LONG, PASSWORD, SHORT, STRING, Password, Type

T = TypeVar("T")

_PYTHON: dict[Type, type] = {
    BOOLEAN: bool,
    STRING: str,
    INT: int,
    SHORT: int,
    LONG: int,
    DOUBLE: float,
    LIST: tuple,
    CLASS: object,
    PASSWORD: Password,
}


class _Field:
    __slots__ = ("is_optional", "kind", "name")

    def __init__(self, name: str, kind: type, is_optional: bool) -> None:
        self.name = name
        self.kind = kind
        self.is_optional = is_optional

    def check(self, table: Table) -> None:
        row = table.rows.get(self.name) or table.companions.get(self.name)
        if row is None:
            raise TypeError(f"{self.name} is no config of a {table.name}")
        for release in row.releases:
            self._check_type(row.at(release))
        may_be_absent = row.releases != RELEASES or any(row.at(release).default is None for release in RELEASES)
        if may_be_absent and not self.is_optional:
            raise TypeError(f"{self.name} may be null or unknown to a release: declare it as optional")

    def _check_type(self, row: Definition) -> None:
        python = _PYTHON[row.type]
        # 3.3 has some lists as strings: `strings` splits them
        if python is not self.kind and not (self.kind is tuple and python is str):
            raise TypeError(f"{self.name} is {row.type.name}: a field of {python.__name__}, not {self.kind.__name__}")

    def value(self, config: Config) -> object:
        value = config.get(self.name)
        if value is None and not self.is_optional:
            # a few validators let null pass although the default is none
            raise ConfigError("Value must be non-null", self.name, value)
        if self.kind is tuple and isinstance(value, str):
            return tuple(item for item in re.split(r"\s*,\s*", value.strip()) if item)
        return value


def field(name: str, kind: type[T]) -> T:
    """A config that always has a value."""
    return cast(T, _Field(name, kind, is_optional=False))


def optional(name: str, kind: type[T]) -> T | None:
    """A config that may be null, or that one of the releases does not have."""
    return cast("T | None", _Field(name, kind, is_optional=True))


def strings(name: str) -> tuple[str, ...]:
    """A LIST."""
    return cast("tuple[str, ...]", _Field(name, tuple, is_optional=False))


def optional_strings(name: str) -> tuple[str, ...] | None:
    return cast("tuple[str, ...] | None", _Field(name, tuple, is_optional=True))


class _SnapshotMeta(type):
    """Turns the declared fields into slots: an attribute then costs what a local one does, and nothing else fits in."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, object], of: Table | None = None
    ) -> "_SnapshotMeta":
        fields = {key: value for key, value in namespace.items() if isinstance(value, _Field)}
        if fields and of is None:
            raise TypeError(f"{name} declares fields, but not the table they are of")
        rest = {key: value for key, value in namespace.items() if key not in fields}
        rest["__slots__"] = tuple(fields)
        rest["_fields"] = {key: value for base in bases for key, value in getattr(base, "_fields", {}).items()} | fields
        for declared in fields.values():
            declared.check(cast(Table, of))
        return super().__new__(mcs, name, bases, rest)

    def __init__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, object], of: Table | None = None
    ) -> None:
        super().__init__(name, bases, namespace)


class Snapshot(metaclass=_SnapshotMeta):
    _fields: dict[str, _Field]

    @classmethod
    def from_config(cls, config: Config) -> Self:
        return cls._of({key: declared.value(config) for key, declared in cls._fields.items()})

    def replace(self, **changes: object) -> Self:
        """A snapshot with some fields changed. They are taken as given: a test may go below Kafka's limits."""
        unknown = next((key for key in changes if key not in self._fields), None)
        if unknown is not None:
            raise TypeError(f"{type(self).__name__} has no field {unknown}")
        return self._of({key: changes.get(key, getattr(self, key)) for key in self._fields})

    @classmethod
    def _of(cls, values: dict[str, object]) -> Self:
        snapshot = cls.__new__(cls)
        for key, value in values.items():
            object.__setattr__(snapshot, key, value)
        return snapshot

    def __setattr__(self, key: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: use replace({key}=...)")

    def __delattr__(self, key: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, key) for key in self._fields)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._values() == self._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        pairs = ", ".join(f"{key}={getattr(self, key)!r}" for key in self._fields)
        return f"{type(self).__name__}({pairs})"
