"""Which regular expressions members may subscribe with.

Kafka uses RE2. What Python's parser and RE2 both understand is followed in linear time by `coordinator.pattern`; named
classes of POSIX are written out first; the rest of RE2's own syntax (classes of Unicode, quoting, flags in the
middle) is refused.
"""

import re

from odradek.coordinator.pattern import Pattern
from odradek.protocol import errors

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
