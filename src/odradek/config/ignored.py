"""What is set and has no effect: one line for each reason, with the configs that it is the reason for.

    num.replica.fetchers=4 has no effect: one node replicates nothing; ...

A value that is the default of the release asks for nothing, and is not told of.
"""

from collections.abc import Iterable

from odradek.config import reasons
from odradek.config.definition import Definition
from odradek.config.errors import one_line
from odradek.config.parsed import Config
from odradek.config.reasons import AT_START_ONLY, Reason
from odradek.config.types import HIDDEN, shown

_VALUE_CHARS_MAX = 80
_NAMES_MAX = 20  # in one line
_OF_TIERED_STORAGE = ("rsm.config.", "rlmm.config.")  # handed through to plugins that are not there

Unserved = tuple[str, str, Reason]  # name, value as it is shown, why


def in_file(config: Config) -> list[Unserved]:
    """The configs of the file that have no effect."""
    return [found for found in unserved(config, config.given) if found[2].kind != AT_START_ONLY]


def unserved(config: Config, names: Iterable[str]) -> list[Unserved]:
    """The configs among `names` that are not served and are set to something else than their default."""
    found = []
    for name in sorted(names):
        reason = _reason(config, name)
        if reason is not None:
            found.append((name, assigned(config, name), reason))
    return found


def _reason(config: Config, name: str) -> Reason | None:
    row = config.table.find(name, config.release)
    if row is None:
        return reasons.TIERED if name.startswith(_OF_TIERED_STORAGE) else None
    if row.not_served is None or is_default(row, config[name]):
        return None
    if row.not_served is reasons.WITHOUT_AUTHORIZER and config["authorizer.class.name"]:
        return None  # whoever reads of the authorizer knows
    return row.not_served


def is_default(row: Definition, value: object) -> bool:
    """An empty list and none at all ask for the same."""
    return value == row.default or (not value and not row.default and not isinstance(value, (bool, int, float)))


def assigned(config: Config, name: str) -> str:
    """`name=value`, never a secret, and on one line."""
    return assignment(config.table.find(name, config.release), name, config[name])


def assignment(row: Definition | None, name: str, value: object) -> str:
    text = HIDDEN if row is None or row.is_sensitive else one_line(shown(value) or "")
    cut = text if len(text) <= _VALUE_CHARS_MAX else f"{text[:_VALUE_CHARS_MAX]}..."
    return f"{one_line(name)}={cut}"


def lines(found: Iterable[Unserved]) -> list[str]:
    """One line for each reason, in the order of the first config that has it."""
    by_reason: dict[Reason, list[str]] = {}
    for _, told, reason in found:
        by_reason.setdefault(reason, []).append(told)
    return [line(told, reason) for reason, told in by_reason.items()]


def line(told: list[str], reason: Reason) -> str:
    more = len(told) - _NAMES_MAX
    listed = ", ".join(told[:_NAMES_MAX]) + (f" and {more} more" if more > 0 else "")
    return f"{listed} {'has' if len(told) == 1 else 'have'} no effect: {reason.text}"
