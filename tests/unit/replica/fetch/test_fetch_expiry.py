"""Waits that end together: never early, hardly late, and nothing is left of those that have left."""

import pytest

from odradek.replica.fetch.expiry import EMPTY_ROUNDS_MAX, ROUND_SLICE, TICK_MS_MAX, Expiry
from odradek.sim.world import World


class Stage:
    def __init__(self):
        self.world = World(1)
        self.node = self.world.node("broker")
        self.failures = []
        self.loop = self.node.boot(on_error=lambda error, _: self.failures.append(error))
        self.expiry = Expiry(self.loop)
        self.ended_ms = {}

    @property
    def now_ms(self):
        return self.loop.ports.clock.mono_ms()

    def wait(self, name, wait_ms):
        return Wait(self, name, wait_ms)

    def run_for(self, milliseconds):
        self.node.attend()
        self.world.run_for(milliseconds)


class Wait:
    def __init__(self, stage, name, wait_ms, expire=None):
        self.stage, self.name = stage, name
        self._expire = expire
        self.due_ms = stage.now_ms + wait_ms
        self.round = stage.expiry.join(wait_ms, self)

    def leave(self):
        self.stage.expiry.leave(self.round, self)

    def expire(self):
        assert self.name not in self.stage.ended_ms
        self.stage.ended_ms[self.name] = self.stage.now_ms
        if self._expire is not None:
            self._expire()


@pytest.fixture
def stage():
    return Stage()


@pytest.mark.parametrize("wait_ms", [1, 7, 31, 32, 100, 255, 256, 500, 30_000])
def test_none_ends_early_and_none_is_late_by_more_than_a_sixteenth(stage, wait_ms):
    waits = []
    for number in range(40):
        waits.append(stage.wait(number, wait_ms))
        stage.run_for(1)
    stage.run_for(wait_ms + TICK_MS_MAX)
    late = [stage.ended_ms[wait.name] - wait.due_ms for wait in waits]
    assert min(late) >= 0
    assert max(late) < min(TICK_MS_MAX, max(1, wait_ms / 16))


def test_waits_of_a_tick_end_together(stage):
    for number in range(80):
        stage.wait(number, 500)
        stage.run_for(1)
    stage.run_for(600)
    assert len(stage.ended_ms) == 80
    assert len(set(stage.ended_ms.values())) <= 80 // TICK_MS_MAX + 1


def test_who_has_left_is_not_told(stage):
    stays, leaves = stage.wait("stays", 500), stage.wait("leaves", 500)
    leaves.leave()
    leaves.leave()
    stage.run_for(600)
    assert list(stage.ended_ms) == ["stays"]
    assert stays.round.waiting == {} and len(stage.expiry) == 0


def test_rounds_without_anybody_do_not_gather(stage):
    """Each of these asked for a wait of its own length, and was gone before it was over."""
    for number in range(4 * EMPTY_ROUNDS_MAX):
        stage.wait(number, 1_000_000 + number * TICK_MS_MAX).leave()
    assert len(stage.expiry) <= EMPTY_ROUNDS_MAX + 1
    stage.wait("late", 2_000_000_000)
    stage.run_for(1)
    assert stage.ended_ms == {}


def test_a_round_that_is_used_again_and_again_is_made_once(stage):
    first = stage.wait(0, 500)
    first.leave()
    assert stage.wait(1, 500).round is first.round


def test_a_large_round_ends_in_slices(stage):
    seen = []
    for number in range(3 * ROUND_SLICE):
        Wait(stage, number, 500, lambda: stage.loop.soon(lambda _: seen.append(len(stage.ended_ms))))
    stage.run_for(600)
    assert len(stage.ended_ms) == 3 * ROUND_SLICE
    assert seen[0] == ROUND_SLICE, "what the first ones have set going does not wait for the last"


def test_one_that_fails_does_not_keep_the_others(stage):
    def fail():
        raise RuntimeError("its own")

    for number in range(5):
        Wait(stage, number, 500, fail if number == 2 else None)
    stage.run_for(600)
    assert sorted(stage.ended_ms) == [0, 1, 2, 3, 4]
    assert [str(error) for error in stage.failures] == ["its own"]
