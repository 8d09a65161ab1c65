"""Three voters over real connections elect a leader, commit, and replace one that is gone."""

import pytest
from raft_nodes import Quorum

from odradek.protocol import releases
from raft_kit import raft_config, record

FAST = {"election_timeout_ms": 200, "fetch_timeout_ms": 400, "election_backoff_max_ms": 100}


def test_three_nodes_elect_a_leader_and_commit_what_it_appends():
    quorum = Quorum().boot()
    leader = quorum.elect()
    for name in ("a", "b", "c"):
        quorum.append(name)
    assert [node.listener.values for node in quorum.nodes.values()] == [["a", "b", "c"]] * 3
    assert {node.client.leader_and_epoch for node in quorum.nodes.values()} == {(leader.id, leader.client.epoch)}


@pytest.mark.parametrize("silent", [True, False], ids=["its host is gone", "its process was killed"])
def test_a_leader_that_crashed_is_replaced_and_comes_back_as_a_follower(silent):
    quorum = Quorum(**FAST).boot()
    old = quorum.elect()
    quorum.append("a")
    old.crash(silent=silent)
    quorum.append("b")
    new = quorum.leader()
    assert new is not old and new.client.epoch > 1
    old.boot()
    quorum.until(lambda: old.is_up and old.listener.values == ["a", "b"])
    quorum.append("c")
    assert [node.listener.values for node in quorum.nodes.values()] == [["a", "b", "c"]] * 3


def test_a_leader_that_stops_hands_over():
    quorum = Quorum().boot()
    old = quorum.elect()
    quorum.append("a")
    before_us = quorum.world.now_us
    stopping = old.node.loop.spawn(old.client.shutdown())
    old.node.attend()
    quorum.until(lambda: quorum.leader() not in (None, old))
    assert (quorum.world.now_us - before_us) // 1000 < quorum.config.fetch_timeout_ms, "no timeout was waited for"
    quorum.until(lambda: stopping.is_done)
    stopping.value()
    quorum.append("b")


def snapshots_behind(quorum):
    """One node is down, and the others have cut off what it would have to read: it begins with a snapshot."""
    late = next(node for node in quorum.nodes.values() if node is not quorum.elect())
    late.crash()
    for number in range(20):
        quorum.append(f"name-{number}")
    leader = quorum.leader()
    for _ in range(2):
        listener = leader.listener
        records = [record(name) for name in listener.values]
        taken = leader.node.loop.spawn(leader.client.create_snapshot(listener.offset, listener.epoch, records))
        leader.node.attend()
        quorum.until(lambda taken=taken: taken.is_done)
        quorum.append("more")
    assert leader.client.log.log_start_offset > 0
    return late, leader


SMALL = {**FAST, "internal_segment_bytes": 300, "retention_bytes": 400}


def test_one_that_comes_late_begins_with_a_snapshot():
    quorum = Quorum(**SMALL, fetch_snapshot_max_bytes=100).boot()
    late, leader = snapshots_behind(quorum)
    late.boot()
    quorum.until(lambda: late.is_up and late.listener.values == leader.listener.values)
    assert late.client.log.log_start_offset > 0


@pytest.mark.parametrize("fetched_ms", range(1, 5))
def test_one_that_stops_while_it_fetches_a_snapshot_asks_for_nothing_more(fetched_ms):
    """It may be waiting for an answer just then, or writing a piece to its disk."""
    quorum = Quorum(**SMALL, fetch_snapshot_max_bytes=10).boot()
    late, _ = snapshots_behind(quorum)
    late.boot()
    quorum.until(lambda: late.is_up and getattr(late.client.core.role, "fetching_snapshot", False))
    quorum.world.run_for(fetched_ms)
    stopping = late.node.loop.spawn(late.client.shutdown())
    late.node.attend()
    quorum.until(lambda: stopping.is_done)
    stopping.value()
    quorum.world.run_for(5_000)
    assert not late.failures and late.client.log.log_start_offset == 0


def test_voters_of_an_older_release_understand_each_other_and_newer_ones():
    mixed = (releases.RELEASE_3_3, releases.RELEASE_3_3, releases.RELEASE_4_3)
    quorum = Quorum(all_releases=mixed, **FAST).boot()
    quorum.append("a")
    quorum.elect().crash()
    quorum.append("b")


def test_a_newer_voter_that_asks_older_ones_for_a_pre_vote_goes_on_to_the_vote():
    """They do not serve that version of Vote: that is no refusal, or no newer voter could ever be elected."""
    mixed = (releases.RELEASE_3_3, releases.RELEASE_3_3, releases.RELEASE_4_3)
    quorum = Quorum(all_releases=mixed, election_timeout_ms=30_000)
    newer = quorum.nodes[3]
    newer.config = raft_config(**FAST)
    quorum.boot()
    assert quorum.elect() is newer


def test_the_same_seed_gives_the_same_trace():
    def trace(seed):
        quorum = Quorum(seed).boot()
        quorum.append("a")
        return quorum.world.trace.digest()

    assert trace(1) == trace(1) != trace(2)
