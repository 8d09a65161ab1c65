"""When the poller looks for a moment before it sleeps: only while clients come back at once."""

import pytest

from odradek.reactor.adapters.poller import (
    IN_VAIN,
    LOOKING_SCORE,
    MOMENT_NS,
    SCORE_MAX,
    SHORT_NS,
    Sleeper,
)

EVENTS = [(7, 1)]
LOOK_NS = 5_000  # one look takes so long
WAKING_NS = 30_000  # and to be woken


class Machine:
    """A clock, and input that comes so long after a wait began."""

    def __init__(self):
        self.now_ns = 0
        self.input_ns = 0
        self.sleeps = 0
        self.looks = 0

    def mono_ns(self):
        return self.now_ns

    def poll(self, timeout, events_max):
        if timeout == 0:
            self.looks += 1
            self.now_ns += LOOK_NS
            return EVENTS if self.now_ns >= self.input_ns else []
        self.sleeps += 1
        until_ns = self.input_ns if timeout is None else min(self.input_ns, self.now_ns + int(timeout * 1e9))
        self.now_ns = max(self.now_ns, until_ns) + WAKING_NS
        return EVENTS if self.now_ns >= self.input_ns else []


@pytest.fixture
def machine():
    return Machine()


@pytest.fixture
def sleeper(machine):
    return Sleeper(machine.poll, machine.mono_ns)


def wait(machine, sleeper, input_after_ns, timeout=None):
    machine.input_ns = machine.now_ns + input_after_ns
    return sleeper.wait(timeout, 16)


def get_brisk(machine, sleeper):
    for _ in range(SCORE_MAX):
        wait(machine, sleeper, 20_000)
    machine.sleeps = machine.looks = 0


def test_input_that_comes_at_once_again_and_again_is_looked_for(machine, sleeper):
    for _ in range(LOOKING_SCORE):
        assert wait(machine, sleeper, 20_000) == EVENTS
    assert (machine.sleeps, machine.looks) == (LOOKING_SCORE, 0)

    before_ns = machine.now_ns
    assert wait(machine, sleeper, 20_000) == EVENTS
    assert machine.sleeps == LOOKING_SCORE
    assert machine.now_ns - before_ns == 20_000, "nobody had to wake it"


def test_input_that_comes_now_and_then_is_slept_for(machine, sleeper):
    for _ in range(10 * SCORE_MAX):
        assert wait(machine, sleeper, 1_000_000) == EVENTS
    assert machine.looks == 0


def test_a_short_sleep_now_and_then_is_no_reason_to_look(machine, sleeper):
    for _ in range(10 * SCORE_MAX):
        wait(machine, sleeper, 20_000)
        wait(machine, sleeper, 1_000_000)
    assert machine.looks == 0


def test_a_client_that_has_gone_is_looked_for_a_few_times_only(machine, sleeper):
    get_brisk(machine, sleeper)
    for _ in range(100):
        assert wait(machine, sleeper, 1_000_000) == EVENTS
    moments = -(-(SCORE_MAX - LOOKING_SCORE + 1) // IN_VAIN)
    assert machine.sleeps == 100
    assert machine.looks == moments * MOMENT_NS // LOOK_NS


def test_one_that_comes_late_once_is_forgiven(machine, sleeper):
    get_brisk(machine, sleeper)
    wait(machine, sleeper, 1_000_000)
    machine.sleeps = 0
    for _ in range(10):
        wait(machine, sleeper, 20_000)
    assert machine.sleeps == 0


def test_a_sleep_is_as_long_as_was_asked_for(machine, sleeper):
    get_brisk(machine, sleeper)
    before_ns = machine.now_ns
    assert wait(machine, sleeper, 1_000_000_000, timeout=0.01) == []
    assert machine.now_ns - before_ns == MOMENT_NS + 10_000_000 + WAKING_NS
    assert SHORT_NS > MOMENT_NS, "a sleep that ends within a moment counts as short"
