"""A whole broker and its clients under faults, seed by seed: see `broker_story.py` for what happens and what must hold.

ODRADEK_SEEDS=5000 ODRADEK_FIRST_SEED=200 pytest -n 2 tests/sim/test_broker_story.py      other seeds, and more
"""

import os
import sys
from pathlib import Path

import pytest
from broker_story import Story

import outside
from odradek.replica import apply
from odradek.replicated import runtime

SEEDS = int(os.environ.get("ODRADEK_SEEDS", "200"))
FIRST_SEED = int(os.environ.get("ODRADEK_FIRST_SEED", "0"))
SEEDS_PER_TEST = 10
HERE = Path(__file__).parent


@pytest.mark.parametrize("first", range(FIRST_SEED, FIRST_SEED + SEEDS, SEEDS_PER_TEST))
def test_nothing_that_was_promised_is_lost(first):
    """And enough happened for that to mean something: "0 lost of 0" is no result."""
    stories = [Story(seed) for seed in range(first, first + SEEDS_PER_TEST)]
    for story in stories:
        story.run()
    sends = [send for story in stories for send in story.history.sends]
    assert sum(len(send.oks) for send in sends) > 100
    assert sum(len(reader.shown) for story in stories for reader in story.history.readers) > 200
    assert sum(script.checks for story in stories for script in story.scripts if script.name == "admin") > 20
    assert sum(story.life for story in stories) >= 2 * SEEDS_PER_TEST
    assert sum(story.losses for story in stories) > 0, "crashes took something, where that is allowed"


@pytest.fixture
def small_steps(monkeypatch):
    """Every decision of the controller and every change of roles takes as many turns as it has records."""
    monkeypatch.setattr(runtime, "RECORDS_PER_STEP", 1)
    monkeypatch.setattr(apply, "ROLES_PER_TURN", 1)
    monkeypatch.setattr(apply, "OPENED_PER_TURN", 1)


def test_nothing_is_lost_either_where_every_record_takes_a_turn(small_steps):
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS_PER_TEST):
        Story(seed).run()


def digest(seed, **environment):
    """Of everything that happened, in a process of its own."""
    code = f"from broker_story import Story; story = Story({seed}); story.run(); print(story.world.trace.digest())"
    environment = {**os.environ, **environment, "PYTHONPATH": f"{HERE}:{HERE.parent / 'kits'}"}
    done = outside.run([sys.executable, "-c", code], env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_same_seed_is_the_same_story():
    """Whatever the order of hashes, and with the compiled executors or with their twins in Python."""
    digests = {digest(8, PYTHONHASHSEED=hash_seed) for hash_seed in ("0", "1", "4711")}
    digests.add(digest(8, PYTHONHASHSEED="2", ODRADEK_PURE="1"))
    assert len(digests) == 1
    assert digest(9, PYTHONHASHSEED="0") not in digests
