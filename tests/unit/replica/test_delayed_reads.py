"""What a reader's connection waits for: it ends once, and only who gives up says so."""

from collections import deque

import pytest

from odradek.reactor.ports import Cancelled
from odradek.replica.delayed import Waiting


def test_who_gives_up_ends_it_once():
    ended = []
    waiting = Waiting(deque(), lambda: ended.append(True))
    assert waiting.cancel() is True
    assert waiting.cancel() is False and waiting.resolve("late") is False
    assert ended == [True]
    with pytest.raises(Cancelled):
        waiting.value()


def test_what_was_answered_is_not_given_up_any_more():
    ended = []
    completions = deque()
    waiting = Waiting(completions, lambda: ended.append(True))
    waiting.when_done(lambda done: None)
    assert waiting.resolve("records") is True and len(completions) == 1
    assert waiting.cancel() is False and waiting.resolve("again") is False
    assert ended == [] and waiting.value() == "records"
