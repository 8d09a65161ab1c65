"""A crash at every disk operation of a log manager's life: start, stop, create, delete, move, truncate, flush.

One story does all of that in two dirs. It is run again and again, each time to crash one operation later, with all,
some or nothing of what was not synced left on the disk. Whatever the moment, the next start finds every dir sound, each
partition once, all that was synced, nothing that was deleted, and no batch that was never written (L1, L2, L7); and a
second start finds what the first one found.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import outside
from manager_kit import OTHER_ID, CrashedError
from manager_model import ABSENT, Model
from odradek.sim.crash import KEEP_ALL, LOSE_ALL, MIXED
from odradek.sim.node import Node

HERE = Path(__file__).parent
PROFILES = [KEEP_ALL, LOSE_ALL, MIXED]


class Story(Model):
    def tell(self):
        broker = self.broker
        broker.start()
        for number in (0, 1):
            self.create(number, target=f"data/{'ab'[number]}")
            self.append(number, f"{number}a", f"{number}b")
            self.flush(number)
            self.append(number, f"{number}c")
        broker.sleep(60)
        self.restart()
        self.append(0, "0d")
        self.roll(0)
        self.append(0, "0e")
        self.move(0, "data/b")
        self.append(0, "0f")
        self.flush(0)
        self.delete(1)
        self.create(1, OTHER_ID, target="data/b")
        self.append(1, "1x", "1y")
        self.flush(1)
        self.truncate(0, 3)
        self.append(0, "0g")
        self.flush(0)
        self.move(0, "data/a")
        broker.sleep(60)
        self.create(2)
        self.delete(2)
        self.restart()
        broker.stop()


def operations_of_the_story():
    story = Story(1)
    story.tell()
    return story.broker.disk.operations


def test_the_story_without_a_crash():
    story = Story(1)
    story.tell()
    story.broker.start()
    assert story.found() == {0: ["0a", "0b", "0c", "0g"], 1: ["1x", "1y"], 2: ABSENT}
    story.check()


@pytest.mark.parametrize("part", range(8))
def test_a_crash_at_every_operation(part, monkeypatch):
    count = operations_of_the_story()
    assert count > 200
    for nth in range(1 + part, count + 1, 8):
        story = Story(1)
        monkeypatch.setattr(Node.crash, "__defaults__", (PROFILES[nth % len(PROFILES)],))  # of a disk that goes down
        story.broker.disk.crash_at(nth)
        with pytest.raises(CrashedError):
            story.tell()
        start_with_crashes(story.broker, nth)
        story.check()


def start_with_crashes(broker, nth):
    """The start that follows may crash as well, and the one after that."""
    for later in (1 + nth % 7, 1 + nth % 23):
        broker.disk.crash_at(later)
        with suppress(CrashedError):
            broker.start()
        broker.crash()
    broker.start()


def digest(hash_seed):
    """Of everything that happened in the story, in a process of its own."""
    code = (
        "from test_manager_sim import Story; story = Story(3); story.tell(); print(story.broker.world.trace.digest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join([*sys.path, str(HERE)])}
    return outside.run([sys.executable, "-c", code], env=environment, check=True).stdout


def test_the_same_seed_gives_the_same_trace():
    assert len({digest(hash_seed) for hash_seed in ("0", "1", "2")}) == 1
