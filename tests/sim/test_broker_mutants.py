"""The stories find what they are there to find: each mistake made on purpose breaks one of them."""

import pytest
from broker_mutants import MUTANTS
from broker_story import Story

SEEDS = {  # that find it, where none of the first three does
    "acknowledge_a_repeated_batch_before_the_flush": (7, 10, 11),
    "answer_metadata_before_the_commit": (16, 22, 30),
    "forget_the_names_of_a_flush": (11, 12, 14),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_mistake_is_found(name, monkeypatch):
    MUTANTS[name](monkeypatch)
    for seed in SEEDS.get(name, range(3)):
        try:
            Story(seed).run()
        except AssertionError:
            return
    pytest.fail(f"nothing has noticed {name}")
