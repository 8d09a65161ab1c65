"""The stories of groups find what they are there to find: each mistake made on purpose breaks one of them."""

from pathlib import Path

import pytest
from group_mutants import KIND, MUTANTS, STORY
from group_story import GroupStory

from group_telling import retold
from odradek.broken_rule import BrokenRuleError

SEEDS = {  # that find it, where none of the first three does
    "answer_a_known_member_with_the_old_generation": (4, 7),
    "answer_before_the_commit": (14,),
    "forget_members_at_a_start": (3, 13),
    "say_nothing_to_who_missed_an_answer": (28, 32),
    "say_that_it_was_given_back_before_it_was": (59, 75),
    "take_silence_for_giving_back": (14, 15),
}
TOLD = Path(__file__).parent.parent / "unit" / "coordinator" / "group" / "group_stories"


@pytest.mark.parametrize("name", [name for name in MUTANTS if name not in STORY])
def test_the_mistake_is_found(name, monkeypatch):
    MUTANTS[name](monkeypatch)
    for seed in SEEDS.get(name, range(3)):
        try:
            GroupStory(seed, kind=KIND[name]).run()
        except (AssertionError, BrokenRuleError):
            return
    pytest.fail(f"nothing has noticed {name}")


@pytest.mark.parametrize("name", STORY)
def test_the_mistake_is_told(name, monkeypatch):
    text = (TOLD / f"{STORY[name]}.txt").read_text()
    assert retold(text) == text
    MUTANTS[name](monkeypatch)
    assert told(text) != text


def told(text):
    """None if the core itself finds that something is wrong."""
    try:
        return retold(text)
    except (AssertionError, BrokenRuleError):
        return None
