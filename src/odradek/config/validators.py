"""What values a config allows, beyond its type. A validator answers with the reason against a value, or with None.

`text` is what Kafka prints in the column "valid values". Two validators may share a text and differ in what they allow
(Kafka prints nothing for `distinct` in any of its forms), so compare behaviour, not text.
"""

import re
from collections.abc import Callable

Check = Callable[[object], str | None]

# Patterns are compiled by `re` on first use, which keeps the import fast.
# ISO 8601 as java.time.Duration reads it: days, then after T hours, minutes and seconds; at least one part.
_DURATION = (
    r"([+-]?)P(?:([+-]?[0-9]+)D)?"
    r"(T(?:([+-]?[0-9]+)H)?(?:([+-]?[0-9]+)M)?(?:([+-]?[0-9]+)(?:[.,]([0-9]{0,9}))?S)?)?\Z"
)
_REPLICA = r"[0-9]+:[0-9]+\Z"
_VOTER = r"(-?[0-9]+)@(.+)\Z"
_HOST_PORT = r"(?:\[[0-9a-zA-Z:%._-]+\]|[0-9a-zA-Z%._-]+):([0-9]{1,5})\Z"
_MS = {"D": 86_400_000, "H": 3_600_000, "M": 60_000, "S": 1_000}


class Validator:
    __slots__ = ("allowed", "check", "drops_duplicates", "maximum", "minimum", "text")

    def __init__(
        self,
        text: str | None,
        check: Check,
        minimum: float | None = None,
        maximum: float | None = None,
        drops_duplicates: bool = False,
        allowed: tuple[str, ...] | None = None,
    ) -> None:
        self.allowed = allowed  # the items that a list may have
        self.text = text
        self.check = check
        self.minimum = minimum
        self.maximum = maximum
        self.drops_duplicates = drops_duplicates

    def culprit(self, value: object) -> object:
        """What an error message names: of a list the first item that is not allowed, else the value."""
        if self.allowed is None or not isinstance(value, tuple):
            return value
        return next((item for item in value if item not in self.allowed), value)

    def __repr__(self) -> str:
        return self.text or "any value"


ANY = Validator(None, lambda value: None)


def at_least(minimum: float) -> Validator:
    return _range(f"[{minimum},...]", minimum, None)


def between(minimum: float, maximum: float) -> Validator:
    return _range(f"[{minimum},...,{maximum}]", minimum, maximum)


def _range(text: str, minimum: float, maximum: float | None) -> Validator:
    def check(value: object) -> str | None:
        if not isinstance(value, (int, float)):
            return "Value must be non-null"
        if not value >= minimum:  # turned around, so that NaN fails as well
            return f"Value must be at least {minimum}"
        if maximum is not None and value > maximum:
            return f"Value must be no more than {maximum}"
        return None

    return Validator(text, check, minimum, maximum)


def one_of(*allowed: str) -> Validator:
    def check(value: object) -> str | None:
        return None if value in allowed else f"String must be one of: {', '.join(allowed)}"

    return Validator(f"[{', '.join(allowed)}]", check)


def one_of_ignoring_case(*allowed: str) -> Validator:
    upper = {name.upper() for name in allowed}

    def check(value: object) -> str | None:
        if isinstance(value, str) and value.upper() in upper:
            return None
        return f"String must be one of (case insensitive): {', '.join(allowed)}"

    return Validator(f"(case insensitive) [{', '.join(allowed)}]", check)


def mode_of(*allowed: str) -> Validator:
    """One of these words in any case. Kafka has one such config, of which it does not say that the case is free."""
    return Validator(f"[{', '.join(allowed)}]", one_of_ignoring_case(*allowed).check)


def metadata_version(*known: str) -> Validator:
    """A metadata.version, or the release it came with: 3.3-IV3 is also 3.3 and 3.3.2."""
    releases = {version.split("-")[0] for version in known} | set(known)

    def check(value: object) -> str | None:
        segments = value.split(".") if isinstance(value, str) else []
        significant = segments[: 3 if segments[:1] == ["0"] else 2]
        return None if ".".join(significant) in releases else f"Version {value} is not a valid version."

    return Validator(f"[{', '.join(known)}]", check)


def list_of(*allowed: str, empty: bool = True, drops_duplicates: bool = True) -> Validator:
    def check(value: object) -> str | None:
        if not isinstance(value, tuple):
            return "values must not be null"
        if not value and not empty:
            return f"must not be empty. Valid values include: {', '.join(allowed)}"
        unknown = next((item for item in value if item not in allowed), None)
        return None if unknown is None else f"String must be one of: {', '.join(allowed)}"

    return Validator(f"[{', '.join(allowed)}]", check, drops_duplicates=drops_duplicates, allowed=allowed)


def distinct(*, empty: bool = True, null: bool = False) -> Validator:
    """A list whose repeated items are dropped and whose items are not blank (KIP-1161)."""

    def check(value: object) -> str | None:
        if not isinstance(value, tuple):
            return None if null else "values must not be null"
        if not value and not empty:
            return "must not be empty. Valid values include: any non-empty value"
        return "values must not be empty" if "" in value else None

    return Validator("", check, drops_duplicates=True)


def _present(value: object) -> str | None:
    return "entry must be non null" if value is None else None


def _not_empty(value: object) -> str | None:
    return "String must be non-empty" if value == "" else None


def _gzip_level(value: object) -> str | None:
    ok = isinstance(value, int) and (value == -1 or 1 <= value <= 9)
    return None if ok else "Value must be between 1 and 9 or equal to -1"


def _throttled_replicas(value: object) -> str | None:
    if not isinstance(value, tuple):
        return "entry must be non null"
    if value == ("*",) or all(isinstance(item, str) and re.match(_REPLICA, item.strip()) for item in value):
        return None
    return "Must be the literal '*' or a list of replicas in the format [partitionId]:[brokerId],..."


def duration_ms(text: str) -> int | None:
    """The milliseconds of an ISO 8601 duration in the form Java reads, or None."""
    match = re.match(_DURATION, text, re.IGNORECASE) if len(text) <= 100 else None
    if match is None or match[3] in ("T", "t") or not any(match.group(2, 4, 5, 6)):
        return None
    amounts = zip("DHMS", match.group(2, 4, 5, 6), strict=True)
    total = sum(int(amount or 0) * _MS[unit] for unit, amount in amounts)
    milliseconds = int((match[7] or "").ljust(3, "0")[:3])
    total += -milliseconds if (match[6] or "").startswith("-") else milliseconds
    return -total if match[1] == "-" else total


def offset_reset(*allowed: str) -> Validator:
    """One of the named strategies, or `by_duration:` and a duration that is not negative."""
    text = f"[{', '.join((*allowed, 'by_duration:PnDTnHnMn.nS'))}]"

    def check(value: object) -> str | None:
        if value in allowed:
            return None
        if isinstance(value, str) and value.startswith("by_duration:"):
            duration = duration_ms(value.removeprefix("by_duration:"))
            if duration is not None and duration >= 0:
                return None
        return f"Value must be one of {text}, with a duration that is not negative"

    return Validator(text, check)


def _voters(value: object) -> str | None:
    for entry in value if isinstance(value, tuple) else ():
        voter = re.match(_VOTER, entry) if isinstance(entry, str) else None
        if voter is None or not _is_host_port(voter[2]):
            return "No valid map entries found: each entry is {id}@{host}:{port}"
    return "entry must be non null" if value is None else None


def _bootstrap_servers(value: object) -> str | None:
    for entry in value if isinstance(value, tuple) else ():
        if not isinstance(entry, str) or not _is_host_port(entry):
            return "each entry is {host}:{port}"
    return "entry must be non null" if value is None else None


def _is_host_port(text: str) -> bool:
    match = re.match(_HOST_PORT, text)
    return match is not None and int(match[1]) <= 65535


NON_NULL = Validator("non-null string", _present)
NON_EMPTY = Validator("non-empty string", _not_empty)
GZIP_LEVEL = Validator("[1,...,9] or -1", _gzip_level)
THROTTLED_REPLICAS = Validator("[partitionId]:[brokerId],[partitionId]:[brokerId],...", _throttled_replicas)
QUORUM_VOTERS = Validator("non-empty list", _voters)
BOOTSTRAP_SERVERS = Validator("non-empty list", _bootstrap_servers)
# fmt: off
METADATA_VERSION = metadata_version(
    "0.8.0", "0.8.1", "0.8.2", "0.9.0", "0.10.0-IV0", "0.10.0-IV1", "0.10.1-IV0", "0.10.1-IV1",
    "0.10.1-IV2", "0.10.2-IV0", "0.11.0-IV0", "0.11.0-IV1", "0.11.0-IV2", "1.0-IV0", "1.1-IV0",
    "2.0-IV0", "2.0-IV1", "2.1-IV0", "2.1-IV1", "2.1-IV2", "2.2-IV0", "2.2-IV1", "2.3-IV0", "2.3-IV1",
    "2.4-IV0", "2.4-IV1", "2.5-IV0", "2.6-IV0", "2.7-IV0", "2.7-IV1", "2.7-IV2", "2.8-IV0", "2.8-IV1",
    "3.0-IV0", "3.0-IV1", "3.1-IV0", "3.2-IV0", "3.3-IV0", "3.3-IV1", "3.3-IV2", "3.3-IV3",
)
# fmt: on
