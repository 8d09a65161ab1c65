"""A server's garbage collection: when the process has grown or is idle, and not about what is there to stay."""

import gc
import weakref

import pytest

from odradek.cli import garbage
from odradek.reactor.adapters import system_ports
from odradek.reactor.loop import Loop
from odradek.sim.world import World


class Knot:
    """Garbage that only a collection finds."""

    def __init__(self):
        self.self = self


@pytest.fixture
def server():
    before = gc.get_threshold()
    garbage.begin()
    world = World(1)
    node = world.node("server")
    garbage.start_collector(node.boot())
    node.attend()
    yield world
    gc.set_threshold(*before)
    gc.unfreeze()
    gc.collect()


def test_what_is_there_at_the_start_stays_out_of_every_collection(server):
    assert gc.get_freeze_count() > 1000


def test_a_process_that_has_grown_is_looked_through(server):
    gone = weakref.ref(Knot())
    kept = [[number] for number in range(garbage.GROWTH_OBJECTS + 1000)]
    server.run_for(2 * garbage.LOOK_EVERY_MS)
    assert gone() is None
    assert len(kept) > garbage.GROWTH_OBJECTS


def test_a_little_garbage_does_not_disturb_a_busy_process(server):
    gone = weakref.ref(Knot())
    kept = [[number] for number in range(garbage.GROWTH_OBJECTS_WHEN_QUIET + 100)]
    server.run_for(garbage.QUIET_MS + 2 * garbage.LOOK_EVERY_MS)
    assert gone() is not None, "in a simulation the loop never sleeps"
    assert kept


def test_what_was_frozen_on_the_way_and_has_died_since_is_found_in_a_quiet_moment(monkeypatch):
    for name, value in (("LOOK_EVERY_MS", 5), ("QUIET_MS", 20), ("LONG_MS", 0), ("THAW_EVERY_MS", 100)):
        monkeypatch.setattr(garbage, name, value)
    before = gc.get_threshold()
    garbage.begin()
    loop = Loop(system_ports(threads=1))
    try:
        garbage.start_collector(loop)
        knot = Knot()
        gone = weakref.ref(knot)
        kept = [[number] for number in range(garbage.GROWTH_OBJECTS + 1000)]
        loop.run_until(loop.sleep(50))  # the collection that freezes it
        del knot
        gc.collect()
        assert gone() is not None
        for _ in range(200):
            if gone() is None:
                break
            loop.run_until(loop.sleep(10))
        assert gone() is None
        assert kept
    finally:
        loop.close()
        gc.set_threshold(*before)
        gc.unfreeze()
        gc.collect()
