"""When a server gives memory back to the system."""

import pytest

from odradek.cli.trimming import AGAIN_MS, GROWTH_BYTES_MIN, LOOK_EVERY_MS, Trimming
from odradek.reactor.adapters import memory
from odradek.sim.world import World

MB = 1024 * 1024


class Process:
    def __init__(self):
        self.resident = 30 * MB
        self.kept = 0
        self.given_back = 0
        self.steps = []

    def resident_bytes(self):
        return self.resident + self.kept

    def collect(self):
        self.steps.append("collect")

    def give_back(self):
        self.steps.append("give back")
        self.given_back += 1
        self.kept = 0


@pytest.fixture
def process():
    return Process()


@pytest.fixture
def look(process):
    """Passes so many looks."""
    world = World(1)
    loop = world.node("broker").boot()
    Trimming(loop, process.resident_bytes, process.give_back, process.collect).look_later()

    def pass_looks(count):
        world.run_for(count * LOOK_EVERY_MS + LOOK_EVERY_MS // 10)

    return pass_looks


def test_a_server_that_does_not_grow_is_left_alone(process, look):
    look(5)
    process.resident += GROWTH_BYTES_MIN - 1
    look(5)
    assert process.given_back == 0


def test_what_was_let_go_of_is_given_back_once(process, look):
    process.kept = 50 * MB
    look(8)
    assert process.given_back == 1
    assert process.resident_bytes() == 30 * MB


def test_while_it_grows_there_is_nothing_to_give_back(process, look):
    for _ in range(5):
        process.resident += 20 * MB
        look(1)
    assert process.given_back == 0


def test_what_is_in_use_is_asked_for_less_and_less_often(process, look):
    process.resident += 100 * MB
    look(AGAIN_MS // LOOK_EVERY_MS)
    assert process.given_back == 1
    look(3600)
    in_an_hour = process.given_back
    look(3600)
    assert 6 <= process.given_back - in_an_hour <= in_an_hour <= 15


def test_what_was_in_use_when_it_was_asked_for_is_given_back_later(process, look):
    process.resident += 20 * MB
    look(3)
    assert process.given_back == 1
    process.resident, process.kept = 30 * MB, 20 * MB  # let go of, but nothing shows it
    look(AGAIN_MS // LOOK_EVERY_MS + 1)
    assert process.resident_bytes() == 30 * MB
    asked = process.given_back
    look(3600)
    assert process.given_back == asked, "there is nothing more to be had"


def test_what_python_keeps_for_the_next_use_is_let_go_of_before(process, look):
    process.kept = 50 * MB
    look(8)
    assert process.steps == ["collect", "give back"]


def test_this_process_has_memory_and_can_give_some_back():
    assert memory.resident_bytes() > MB
    memory.give_back()
