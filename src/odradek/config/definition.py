"""One line of the config table, and the table: what a config is called, allows and means, in which release.

Two release profiles read the table: 3.3 and 4.3. A row is written as 4.3 has it, or as the one release that has it;
`in_3_3` holds what 3.3 had different. Rows that only 3.9 had are listed, so that a file of that release is understood,
but belong to neither profile.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from odradek.config.errors import ConfigError
from odradek.config.reasons import Reason
from odradek.config.types import HIDDEN, PASSWORD, Type
from odradek.config.validators import ANY, Validator

if TYPE_CHECKING:
    from typing import TypedDict, Unpack

    from odradek.config.parsed import Config

    class OfRelease(TypedDict, total=False):
        """The columns that may be others in another release."""

        type: Type
        default: object
        validator: Validator
        importance: str
        update_mode: str | None
        doc: str
        internal: bool
        synonyms: "tuple[Synonym, ...]"
        not_served: Reason | None
        partly: str | None

    class Columns(OfRelease, total=False):
        """All of them."""

        name: str
        only: str | None
        in_3_3: OfRelease | None

    class Keywords(TypedDict, total=False):
        """Those that a row names."""

        only: str | None
        internal: bool
        synonyms: "tuple[Synonym, ...]"
        in_3_3: OfRelease | None
        not_served: Reason | None
        partly: str | None


RELEASES = ("3.3", "4.3")

HIGH, MEDIUM, LOW = "HIGH", "MEDIUM", "LOW"
READ_ONLY, PER_BROKER, CLUSTER_WIDE = "read-only", "per-broker", "cluster-wide"


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()


class Definition:
    """A row. `not_served` is the reason why the config has no effect; None when it is honoured.

    `partly` says of one that is honoured which of its values are not.
    """

    __slots__ = (
        "_in_3_3",
        "default",
        "doc",
        "importance",
        "internal",
        "name",
        "not_served",
        "partly",
        "releases",
        "synonyms",
        "type",
        "update_mode",
        "validator",
    )

    def __init__(
        self,
        name: str,
        type: Type,  # noqa: A002 - Kafka's word, and the order of the columns is the interface
        default: object,
        validator: Validator,
        importance: str,
        update_mode: str | None,
        doc: str,
        *,
        only: str | None = None,
        internal: bool = False,
        synonyms: "tuple[Synonym, ...]" = (),
        in_3_3: "OfRelease | None" = None,  # columns and what they are there
        not_served: Reason | None = None,
        partly: str | None = None,
    ) -> None:
        self.name = name
        self.type = type
        self.default = default
        self.validator = validator
        self.importance = importance
        self.update_mode = update_mode
        self.doc = doc
        self.releases = RELEASES if only is None else (only,)
        self.internal = internal
        self.synonyms = synonyms
        self.not_served = not_served
        self.partly = partly
        self._in_3_3 = in_3_3

    def at(self, release: str) -> "Definition":
        """The row as the release profile has it."""
        return self if release != "3.3" or self._in_3_3 is None else self.like(in_3_3=None, **self._in_3_3)

    def like(self, **changes: "Unpack[Columns]") -> "Definition":
        """This row with some columns changed: the security configs of brokers and clients share their text."""
        columns: Columns = {
            "name": self.name,
            "type": self.type,
            "default": self.default,
            "validator": self.validator,
            "importance": self.importance,
            "update_mode": self.update_mode,
            "doc": self.doc,
            "only": self.releases[0] if len(self.releases) == 1 else None,
            "internal": self.internal,
            "synonyms": self.synonyms,
            "in_3_3": self._in_3_3,
            "not_served": self.not_served,
            "partly": self.partly,
            **changes,
        }
        return Definition(**columns)

    @property
    def is_required(self) -> bool:
        return self.default is REQUIRED

    @property
    def is_dynamic(self) -> bool:
        """Whether a running broker takes a new value."""
        return self.update_mode in (PER_BROKER, CLUSTER_WIDE)

    @property
    def is_sensitive(self) -> bool:
        """Whether a value is never shown. A SCRAM credential is a STRING for Kafka, and yet it is a secret."""
        return self.type is PASSWORD or self.name.startswith("SCRAM-SHA-")

    @property
    def served(self) -> bool:
        return self.not_served is None

    def parse(self, value: object) -> Any:
        """The typed and checked value, or ConfigError. Any: what it is, the type of the row says."""
        return self.checked(self.type.parse(self.name, value))

    def checked(self, value: object) -> object:
        if self.validator.drops_duplicates and isinstance(value, tuple):
            value = tuple(dict.fromkeys(value))
        if value is None and self.validator is ANY and self.default is not None:
            # Kafka lets it pass, and fails where the value is used
            raise ConfigError("Value must be non-null", self.name, value)
        reason = self.validator.check(value)
        if reason is not None:
            raise ConfigError(reason, self.name, HIDDEN if self.is_sensitive else self.validator.culprit(value))
        return value

    def __repr__(self) -> str:
        return f"Definition({self.name}, {self.type.name}, default={self.default!r}, valid={self.validator!r})"


class Synonym:
    """A broker config that stands in for a topic config, in another unit perhaps: `factor` turns one into the other."""

    __slots__ = ("factor", "name")

    def __init__(self, name: str, factor: int = 1) -> None:
        self.name = name
        self.factor = factor

    def convert(self, value: Any) -> Any:
        """Any: a value of the type of the row. Only numbers have a factor."""
        return value if self.factor == 1 or value is None else value * self.factor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Synonym) and (self.name, self.factor) == (other.name, other.factor)

    def __hash__(self) -> int:
        return hash((self.name, self.factor))

    def __repr__(self) -> str:
        return self.name if self.factor == 1 else f"{self.name} x {self.factor}"


class Rule:
    """A condition over several configs; `check` answers with the reason against them, or with None."""

    __slots__ = ("check", "why")

    def __init__(self, why: str, check: "Callable[[Config], str | None]") -> None:
        self.why = why
        self.check = check


def nothing_scoped(name: str) -> str | None:
    return None


class Table:
    """The configs of one kind of resource. `companions` are read beside them, but are none of ConfigDef's.

    `scoped` maps a prefixed name (`listener.name.internal.ssl.key.password`) to the config that it overrides;
    `open_prefixes` are the names handed through to plugins; `prepare` completes the values before they are parsed.
    """

    __slots__ = ("_at", "companions", "name", "open_prefixes", "prepare", "rows", "rules", "scoped")

    def __init__(
        self,
        name: str,
        rows: Iterable[Definition],
        *,
        companions: Iterable[Definition] = (),
        scoped: Callable[[str], str | None] = nothing_scoped,
        open_prefixes: tuple[str, ...] = (),
        prepare: Callable[[Mapping[str, object]], dict[str, object]] = dict,
        rules: tuple[Rule, ...] = (),
    ) -> None:
        self.name = name
        self.rows = {row.name: row for row in rows}
        self.companions = {row.name: row for row in companions}
        self.scoped = scoped
        self.open_prefixes = open_prefixes
        self.prepare = prepare
        self.rules = rules
        self._at: dict[str, dict[str, Definition]] = {}

    def at(self, release: str) -> dict[str, Definition]:
        """Every row of the release profile, by name. Made on first use."""
        rows = self._at.get(release)
        if rows is None:
            if release not in RELEASES:
                raise ValueError(f"there is no release profile {release!r}: use one of {', '.join(RELEASES)}")
            rows = {name: row.at(release) for name, row in self.rows.items() if release in row.releases}
            self._at[release] = rows
        return rows

    def find(self, name: str, release: str) -> Definition | None:
        """The row that rules over the name: its own, a companion, or the one that a prefixed name overrides."""
        rows = self.at(release)
        row = rows.get(name)
        if row is not None:
            return row
        companion = self.companions.get(name)
        if companion is not None and release in companion.releases:
            return companion
        base = self.scoped(name)
        found = rows.get(base) if base is not None else None
        return None if found is None else found.like(name=name)

    def hands_through(self, name: str) -> bool:
        return name.startswith(self.open_prefixes)

    def parse(self, values: Mapping[str, object], release: str = "4.3") -> "Config":
        """Every config of the release, from `values` where given, else its default. ConfigError for a bad one."""
        from odradek.config.parsed import parse

        return parse(self, values, release)

    def __repr__(self) -> str:
        return f"Table({self.name}, {len(self.rows)} configs)"


def section(not_served: Reason | None, *rows: Definition) -> tuple[Definition, ...]:
    """Rows that wait for the same part of the broker, unless a row says otherwise."""
    for row in rows:
        if row.not_served is None:
            row.not_served = not_served
    return rows


def row(
    name: str,
    type: Type,  # noqa: A002
    default: object,
    validator: Validator,
    importance: str,
    doc: str,
    **more: "Unpack[Keywords]",
) -> Definition:
    """A row of a table whose configs have no update mode of their own: clients, topics, groups, quotas."""
    return Definition(name, type, default, validator, importance, None, doc, **more)


broker_row = Definition
