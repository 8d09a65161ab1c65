"""The values of a table's configs: parsed, checked against each other, and ready for snapshots."""

from collections.abc import Iterator, Mapping
from typing import Any

from odradek.config.definition import Table
from odradek.config.errors import ConfigError, missing, one_line
from odradek.config.types import HIDDEN, shown

_VALUES_MAX = 100_000  # names in one set of values, known or not
_NAME_CHARS_MAX = 100  # of an unknown name, for which a similar one is looked for


class Config(Mapping[str, Any]):
    """Every config of a release with its value. `given` holds the names that were set, `warnings` what was odd.

    A value is Any: its type is in its row of the table, which no type checker reads; a `Snapshot` has types.
    """

    __slots__ = ("_values", "given", "release", "table", "warnings")

    def __init__(
        self,
        table: Table,
        release: str,
        values: dict[str, object],
        given: frozenset[str],
        warnings: tuple[str, ...] = (),
    ) -> None:
        self.table = table
        self.release = release
        self._values = values
        self.given = given
        self.warnings = warnings

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def listener(self, listener: str, name: str, mechanism: str | None = None) -> Any:
        """A config as one listener has it: its own value, that of its mechanism before it, else the broker's."""
        prefix = f"listener.name.{listener.lower()}."
        if mechanism is not None and f"{prefix}{mechanism.lower()}.{name}" in self._values:
            return self._values[f"{prefix}{mechanism.lower()}.{name}"]
        return self._values.get(prefix + name, self._values[name])

    def shown(self, name: str) -> str | None:
        """The value as text, `[hidden]` for a secret."""
        return _shown(self.table, self.release, name, self._values[name])

    def __repr__(self) -> str:
        pairs = ", ".join(f"{name}={self.shown(name)}" for name in sorted(self.given))
        return f"Config({self.table.name} {self.release}: {pairs})"


def parse(table: Table, values: Mapping[str, object], release: str) -> Config:
    config = typed(table, values, release)
    check_rules(config)
    return config


def typed(table: Table, values: Mapping[str, object], release: str) -> Config:
    """Each value by itself; whether they hold together is not looked at."""
    if len(values) > _VALUES_MAX:
        raise ConfigError(f"{len(values)} configs are more than the {_VALUES_MAX} that are read")
    complete = table.prepare(values)
    found: dict[str, object] = {}
    for name, row in table.at(release).items():
        if name in complete:
            found[name] = row.parse(complete[name])
        elif row.is_required:
            raise missing(name)
        else:
            found[name] = row.default
    warnings = _take_others(table, complete, release, found)
    return Config(table, release, found, frozenset(values) & found.keys(), tuple(warnings))


def check_rules(config: Config) -> None:
    """Holds the configs against each other; ConfigError for the first rule that is broken."""
    for rule in config.table.rules:
        reason = rule.check(config)
        if reason is not None:
            raise ConfigError(reason)


def _take_others(table: Table, values: Mapping[str, object], release: str, typed: dict[str, object]) -> list[str]:
    """Adds the names that are no rows of the release, and returns a warning for each that nothing will read."""
    warnings = []
    for name, row in table.companions.items():
        if name not in values and release in row.releases:
            typed[name] = row.default
    for name, value in values.items():
        if name in typed and name not in table.companions:
            continue
        row_found = table.find(name, release)
        if row_found is not None:
            typed[name] = row_found.parse(value)
        elif table.hands_through(name):
            typed[name] = value
        else:
            warnings.append(_unknown(table, name, release))
    return warnings


def _unknown(table: Table, name: str, release: str) -> str:
    elsewhere = table.rows.get(name)
    if elsewhere is not None:
        return f"{name} is no config of release {release}, but of {', '.join(elsewhere.releases)}: ignored"
    return f"{one_line(name)} is no config of a {table.name}: ignored{_similar(table, name)}"


def _similar(table: Table, name: str) -> str:
    from difflib import get_close_matches  # only a mistake needs it

    found = get_close_matches(name[:_NAME_CHARS_MAX], table.rows, 1, cutoff=0.8)
    return f" (did you mean {found[0]}?)" if found else ""


def _shown(table: Table, release: str, name: str, value: object) -> str | None:
    row = table.find(name, release)
    # what is handed through to a plugin may be anything, a secret as well
    return HIDDEN if value is not None and (row is None or row.is_sensitive) else shown(value)
