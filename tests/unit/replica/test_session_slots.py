"""How many fetch sessions a broker keeps: what its config says."""

import pytest

from replica_kit import SimPlane


@pytest.mark.contract("D39")
@pytest.mark.parametrize("slots", [0, 1, 2])
def test_beyond_the_slots_of_the_config_a_reader_gets_no_session(slots):
    plane = SimPlane(max_incremental_fetch_session_cache_slots=slots)
    plane.create_topic("t")
    ids = [plane.fetch(("t", 0, 0), session=(0, 0)).session_id for _ in range(4)]
    assert [session_id != 0 for session_id in ids] == [True] * slots + [False] * (4 - slots)
