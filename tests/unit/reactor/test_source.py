"""Who is heavy: two long calls in a row, the second of which has worked; one short call acquits."""

from collections import deque

import pytest

from odradek.reactor.source import HEAVY_US, SUSPICION_MS, Source, Suspects, gone


class Clock:
    worked_us = 0

    def cpu_us(self):
        return self.worked_us


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def lines():
    return deque(), deque()


@pytest.fixture
def suspects(clock, lines):
    return Suspects(clock, *lines)


def accuse(suspects, clock, source, polled_ms=0, worked_us=HEAVY_US):
    suspects.look(polled_ms)
    clock.worked_us += worked_us
    suspects.accuse(source, polled_ms)


def test_the_second_long_call_makes_it_late(suspects, clock, lines):
    ready, late = lines
    source = Source(print, ready)
    accuse(suspects, clock, source)
    assert source.line is ready and suspects
    accuse(suspects, clock, source)
    assert source.line is late


def test_who_waited_for_the_machine_is_not_heavy(suspects, clock, lines):
    source = Source(print, lines[0])
    accuse(suspects, clock, source)
    accuse(suspects, clock, source, worked_us=HEAVY_US - 1)
    assert source.line is lines[0]


def test_a_short_call_acquits(suspects, clock, lines):
    source = Source(print, lines[0])
    accuse(suspects, clock, source)
    accuse(suspects, clock, source)
    suspects.acquit(source)
    assert source.line is lines[0] and not suspects and not source.long_calls


def test_suspicion_ends_by_itself(suspects, clock, lines):
    source = Source(print, lines[0])
    accuse(suspects, clock, source)
    accuse(suspects, clock, source)
    suspects.look(SUSPICION_MS)
    assert source.line is lines[1]
    suspects.look(SUSPICION_MS + 1)
    assert source.line is lines[0] and not suspects


@pytest.mark.parametrize("is_urgent", [False, True])
def test_who_is_urgent_or_new_keeps_its_place(suspects, clock, lines, is_urgent):
    newcomers = deque()
    source = Source(print, None if is_urgent else newcomers)
    accuse(suspects, clock, source)
    accuse(suspects, clock, source)
    assert source.line is (None if is_urgent else newcomers)
    assert suspects.line_of(source) is lines[1], "where it belongs once it is known"


def test_who_is_gone_is_not_remembered(suspects, clock, lines):
    source = Source(gone, lines[0])
    accuse(suspects, clock, source)
    assert not suspects
