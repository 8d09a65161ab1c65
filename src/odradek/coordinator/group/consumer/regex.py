"""Subscriptions by regular expression: what is a valid one, and which topics it matches.

Kafka uses RE2. What Python's parser and RE2 both understand is followed in linear time by `coordinator.pattern`; named
classes of POSIX are written out first; the rest of RE2's own syntax (classes of Unicode, quoting, flags in the
middle) is refused.

Topics are matched in slices between which others get their turn. The first expression of a group is looked up at once,
again when topics have come or gone, but at most every `REFRESH_MS_MIN`, and in any case after the refresh interval.
"""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from odradek.coordinator.core import Decided
from odradek.coordinator.group.consumer import records, target
from odradek.coordinator.group.consumer.group import ConsumerPlan
from odradek.coordinator.group.consumer.groups import REGEX
from odradek.coordinator.now import Now
from odradek.coordinator.pattern import Pattern
from odradek.protocol import errors

if TYPE_CHECKING:
    from odradek.coordinator.group.consumer.group import ConsumerGroup
    from odradek.coordinator.group.consumer.groups import ConsumerGroups

REFRESH_MS_MIN = 10_000
MATCHES_PER_STEP = 100
REPEATS_MAX = 1000  # as in RE2
EXPRESSION_CHARACTERS_MAX = 4096

_POSIX = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "word": r"\w",
    "xdigit": "0-9a-fA-F",
}
_POSIX_CLASS = re.compile(r"\[:([a-z]+):\]")
_REPEAT = re.compile(r"\{(\d+)(?:,(\d*))?\}")

# Python's words for a mistake, and RE2's.
_REASONS = (
    ("unterminated character set", "missing closing ]"),
    ("missing ), unterminated subpattern", "missing closing )"),
    ("nothing to repeat", "missing argument to repetition operator"),
    ("multiple repeat", "invalid nested repetition operator"),
    ("min repeat greater than max repeat", "invalid repeat count"),
    ("unbalanced parenthesis", "regexp/syntax: internal error"),
    ("bad character range", "invalid character class range"),
    ("bad escape (end of pattern)", "trailing backslash at end of expression"),
    ("bad escape", "invalid escape sequence"),
    ("groupref", "invalid escape sequence"),
    ("invalid group reference", "invalid escape sequence"),
    ("assert", "invalid or unsupported Perl syntax"),
    ("unknown extension", "invalid or unsupported Perl syntax"),
)


def compiled(text: str) -> Pattern:
    """InvalidRegularExpression, in Kafka's words where it has the same mistake."""
    if len(text) > EXPRESSION_CHARACTERS_MAX:
        raise _invalid(f"{text[:40]}...", "expression too long")
    if any(int(count) > REPEATS_MAX for pair in _REPEAT.findall(text) for count in pair if count):
        raise _invalid(text, "invalid repeat count")
    try:
        return Pattern(_POSIX_CLASS.sub(_written_out, text))
    except errors.InvalidRegularExpression as error:
        words = error.message.lower()
        reason = next((reason for mistake, reason in _REASONS if mistake in words), error.message)
        raise _invalid(text, reason) from error


def _written_out(found: "re.Match[str]") -> str:
    return _POSIX.get(found[1], found[0])


def _invalid(text: str, reason: str) -> errors.InvalidRegularExpression:
    return errors.InvalidRegularExpression(
        f"SubscribedTopicRegex `{text}` is not a valid regular expression: {reason}."
    )


class Resolution:
    """One look-up of all expressions of a group, on its way."""

    __slots__ = ("_left", "_may_describe", "_patterns", "found", "version")

    def __init__(
        self, expressions: set[str], names: list[str], version: int, may_describe: Callable[[str], bool]
    ) -> None:
        self._patterns = {expression: compiled(expression) for expression in sorted(expressions)}
        self._left: Iterator[str] = iter(names)
        self._may_describe = may_describe
        self.version = version
        self.found: dict[str, set[str]] = {expression: set() for expression in self._patterns}

    def step(self) -> bool:
        """Looks at some more topics; True when all have been looked at."""
        for _ in range(max(1, MATCHES_PER_STEP // max(1, len(self._patterns)))):
            name = next(self._left, None)
            if name is None:
                return True
            for expression, pattern in self._patterns.items():
                if pattern.matches(name) and self._may_describe(name):
                    self.found[expression].add(name)
        return False


def refresh(groups: "ConsumerGroups", group: "ConsumerGroup", now: Now, may_describe: Callable[[str], bool]) -> None:
    """Begins a look-up if one is due and none is on its way. `group` is how it will be after the event."""
    expressions = group.regexes_in_use()
    if not expressions or group.group_id in groups.resolutions:
        return
    if expressions <= set(group.regexes) and not _is_due(groups, group.group_id, now):
        return
    groups.resolutions[group.group_id] = Resolution(
        expressions, groups.topics.names(), groups.topics.version, may_describe
    )
    groups.core.deadlines.set((REGEX, group.group_id, ""), now.mono_ms)


def _is_due(groups: "ConsumerGroups", group_id: str, now: Now) -> bool:
    last = groups.resolved.get(group_id)
    if last is None:
        return True  # the coordinator has been loaded since
    version, at_ms = last
    age_ms = now.mono_ms - at_ms
    if version != groups.topics.version:
        return age_ms >= REFRESH_MS_MIN
    return age_ms >= groups.config.regex_refresh_interval_ms


def step(groups: "ConsumerGroups", group_id: str, now: Now) -> Decided[None]:
    """A slice of a look-up; the last one writes what was found."""
    resolution = groups.resolutions.get(group_id)
    group = groups.groups.get(group_id)
    if resolution is None or group is None:
        groups.resolutions.pop(group_id, None)
        return Decided()
    if not resolution.step():
        groups.core.deadlines.set((REGEX, group_id, ""), now.mono_ms + 1)
        return Decided()
    del groups.resolutions[group_id]
    groups.resolved[group_id] = (resolution.version, now.mono_ms)
    plan = ConsumerPlan(group)
    before = {expression: resolved.topics for expression, resolved in group.regexes.items()}
    in_use = group.regexes_in_use()
    has_changed = False
    for expression, topics in resolution.found.items():
        if expression not in in_use:
            continue
        if expression not in before or before[expression] != topics:
            plan.write(records.regex(group_id, expression, topics, groups.topics.offset, now.wall_ms))
            has_changed = has_changed or before.get(expression, frozenset()) != topics
    if has_changed:
        target.bump_epoch(groups, plan)
    return Decided(plan.records)
