"""A rule of our own that does not hold: what a state machine raises instead of going on from a state that cannot be.

It is our mistake, never a peer's and never the operator's, so it has no error code: the caller gets
UNKNOWN_SERVER_ERROR, the server log the rule. An `assert` would be gone under `python -O`, and the mistake would be
written to disk.
"""

from typing import TypeVar

T = TypeVar("T")


class BrokenRuleError(Exception):
    """The message is the rule, in words."""


def require(holds: object, rule: str) -> None:
    if not holds:
        raise BrokenRuleError(rule)


def present(value: T | None, rule: str) -> T:
    """The value, which by this rule is there."""
    if value is None:
        raise BrokenRuleError(rule)
    return value


def instance(value: object, kind: type[T], rule: str) -> T:
    """The value, which by this rule is of this kind."""
    if not isinstance(value, kind):
        raise BrokenRuleError(f"{rule}: {value!r} is no {kind.__name__}")
    return value
