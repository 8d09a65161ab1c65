"""Transactions on a bad network, seed by seed: see `transaction_story.py` for what happens and what must hold.

ODRADEK_SEEDS=5000 ODRADEK_FIRST_SEED=250 pytest -n 2 tests/sim/test_transaction_story.py      other seeds, and more
"""

import os
import sys
from pathlib import Path

import pytest
from transaction_history import ABORTED, COMMITTED
from transaction_story import TransactionStory

import outside

SEEDS = int(os.environ.get("ODRADEK_SEEDS", "250"))
FIRST_SEED = int(os.environ.get("ODRADEK_FIRST_SEED", "0"))
SEEDS_PER_TEST = 10
HERE = Path(__file__).parent


@pytest.mark.parametrize("first", range(FIRST_SEED, FIRST_SEED + SEEDS, SEEDS_PER_TEST))
def test_transactions_are_whole_and_nothing_late_touches_the_next(first):
    """And enough happened for that to mean something."""
    stories = [TransactionStory(seed) for seed in range(first, first + SEEDS_PER_TEST)]
    for story in stories:
        story.run()
    states = [attempt.state for story in stories for attempt in story.history.attempts]
    assert states.count(COMMITTED) > 10 * SEEDS_PER_TEST
    assert states.count(ABORTED) > SEEDS_PER_TEST // 2
    assert len(states) > states.count(COMMITTED) + states.count(ABORTED), "some never learnt how they ended"
    assert sum(story.ghosts for story in stories) > 5 * SEEDS_PER_TEST, "late and repeated requests"
    assert sum(story.looks for story in stories) > 2 * SEEDS_PER_TEST, "at last stable offsets"
    assert sum(story.broker.node.incarnation for story in stories) > 0, "crashes"


def digest(seed, **environment):
    """Of everything that happened, in a process of its own."""
    code = (
        "from transaction_story import TransactionStory as Story\n"
        f"story = Story({seed}); story.run(); print(story.world.trace.digest())"
    )
    environment = {**os.environ, **environment, "PYTHONPATH": f"{HERE}:{HERE.parent / 'kits'}"}
    done = outside.run([sys.executable, "-c", code], env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_same_seed_is_the_same_story():
    """Whatever the order of hashes, and with the compiled executors or with their twins in Python."""
    digests = {digest(3, PYTHONHASHSEED=hash_seed) for hash_seed in ("0", "4711")}
    digests.add(digest(3, PYTHONHASHSEED="2", ODRADEK_PURE="1"))
    assert len(digests) == 1
    assert digest(4, PYTHONHASHSEED="0") not in digests
