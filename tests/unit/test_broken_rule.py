"""A broken rule is an exception of ours, with the rule in it."""

import sys

import pytest

import outside
from odradek.broken_rule import BrokenRuleError, instance, present, require


def test_what_holds_goes_on():
    require(1 < 2, "one is less")
    assert present(0, "there is a number") == 0
    assert instance("a", str, "a name is text") == "a"


def test_what_does_not_hold_tells_its_rule():
    with pytest.raises(BrokenRuleError, match="one is less"):
        require(1 > 2, "one is less")
    with pytest.raises(BrokenRuleError, match="there is a number"):
        present(None, "there is a number")
    with pytest.raises(BrokenRuleError, match="a name is text: 7 is no str"):
        instance(7, str, "a name is text")


def test_it_holds_without_assertions_too():
    program = "from odradek.broken_rule import require; require(False, 'one is less')"
    done = outside.run([sys.executable, "-O", "-c", program])
    assert done.returncode != 0
    assert "BrokenRuleError: one is less" in done.stderr
