"""The stories of our clients find what they are there to find: each mistake made on purpose breaks one of them."""

import pytest
from client_mutants import MUTANTS, STORY

SEEDS = {  # that find it, where the first does not
    "commit_all_when_the_program_has_failed": (3,),
    "commit_the_live_position": (2,),
    "hand_out_after_a_revoke": (1,),
    "keep_what_was_fetched_before_a_seek": (5,),
    "number_a_batch_anew_when_it_goes_again": (2,),
    "expire_in_silence": (8,),
    "give_the_number_of_a_lost_batch_to_another": (8,),
    "read_offsets_that_a_transaction_may_still_change": (36,),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_mistake_is_found(name, monkeypatch):
    """By a check, or by a client that stumbles over it."""
    MUTANTS[name](monkeypatch)
    for seed in SEEDS.get(name, (0,)):
        try:
            STORY[MUTANTS[name]](seed).run()
        except Exception:  # noqa: BLE001
            return
    pytest.fail(f"nothing has noticed {name}")
