"""Groups under faults, seed by seed: see `group_story.py` for what happens and what must hold.

ODRADEK_SEEDS=5000 ODRADEK_FIRST_SEED=250 pytest -n 2 tests/sim/test_group_sim.py      other seeds, and more
"""

import os
import sys
from pathlib import Path

import pytest
from group_story import GroupStory

import outside

SEEDS = int(os.environ.get("ODRADEK_SEEDS", "250"))
FIRST_SEED = int(os.environ.get("ODRADEK_FIRST_SEED", "0"))
SEEDS_PER_TEST = 10
HERE = Path(__file__).parent


@pytest.mark.contract("B83")
@pytest.mark.parametrize("first", range(FIRST_SEED, FIRST_SEED + SEEDS, SEEDS_PER_TEST))
def test_no_partition_has_two_owners_and_no_commit_is_lost(first):
    """And enough happened for that to mean something."""
    stories = [GroupStory(seed) for seed in range(first, first + SEEDS_PER_TEST)]
    for story in stories:
        story.run()
    assert sum(story.history.commits for story in stories) > 50, "commits that were acknowledged"
    assert sum(story.history.moves for story in stories) > 50, "partitions that have changed their member"
    assert sum(story.crashes for story in stories) > 0, "of the coordinator"


def digest(seed, hash_seed):
    """Of everything that happened, in a process of its own."""
    code = f"from group_story import GroupStory; s = GroupStory({seed}); s.run(); print(s.world.trace.digest())"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{HERE}:{HERE.parent / 'kits'}"}
    done = outside.run([sys.executable, "-c", code], env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_same_seed_is_the_same_story(seed):
    assert digest(seed, "0") == digest(seed, "4711")
