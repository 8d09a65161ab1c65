"""Regular expressions of strangers: the same answers as Python's, without its patience."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.coordinator.pattern import Pattern
from odradek.protocol.errors import InvalidRegularExpression

PATTERNS = [
    "",
    "a",
    "abc",
    ".*",
    "a.*z",
    "(ab|cd)+e?",
    "[a-c]{2,3}",
    "[^a-c]*",
    r"\d+-\w*",
    r"\S\s?\D",
    "(a|b|)c",
    "^abc$",
    "a{0}b",
    "(a*)*b",
    "(?i)AbC[d-f]",
    "x|y|z",
    "(?:tx-)?[0-9]{1,4}",
    "[-_.a]+",
    "a+?b??",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(
    "text", ["", "a", "abc", "abcz", "ababe", "cde", "12-ab", "tx-42", "ABCD", "aab", "c", "-_.", "x", "b"]
)
def test_the_same_as_python(pattern, text):
    assert Pattern(pattern).matches(text) == (re.fullmatch(pattern, text) is not None)


@settings(max_examples=200)
@given(st.sampled_from(PATTERNS), st.text(alphabet="abcdeftxz-_.0142 ABC", max_size=8))
def test_any_text(pattern, text):
    assert Pattern(pattern).matches(text) == (re.fullmatch(pattern, text, re.ASCII) is not None)


@pytest.mark.parametrize(
    "pattern",
    ["(", "[a", "a{3,1}", "*", r"(a)\1", "(?=a)", "(?<!a)b", "(?P<n>a)(?P=n)", r"\bfoo", "(a{1000}){1000}", "(" * 2000],
)
def test_what_cannot_be_followed(pattern):
    with pytest.raises(InvalidRegularExpression):
        Pattern(pattern)


def test_a_pattern_that_would_keep_python_busy():
    began = time.monotonic()
    assert not Pattern("(a+)+$").matches("a" * 60 + "b")
    assert not Pattern("(a|aa)+b").matches("a" * 200)
    assert time.monotonic() - began < 5
