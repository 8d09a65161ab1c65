"""The stories of transactions find what they are there to find: each mistake made on purpose breaks one of them."""

import pytest
from transaction_mutants import MUTANTS
from transaction_story import TransactionStory

from odradek.broken_rule import BrokenRuleError


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_stories_find_it(mutant, monkeypatch):
    mutant(monkeypatch)
    for seed in MUTANTS[mutant]:
        try:
            TransactionStory(seed).run()
        except (AssertionError, BrokenRuleError):
            return
    pytest.fail(f"nothing has noticed {mutant.__name__}")
