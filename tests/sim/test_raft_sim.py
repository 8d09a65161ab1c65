"""Three and five voters under crashes, pauses, partitions, lost, late and doubled messages: C1 to C7, then liveness.

The mistakes of `raft_mutants.py`, and what finds each of them (a handful of seeds is enough for all):

| mutant | found by |
|---|---|
| skip_fsync_of_vote, answer_before_persisting, go_on_while_persisting | C2: a vote is told that is not on the disk |
| forget_later_epoch | C2: after a restart the node is in an older epoch than it has told |
| vote_twice_in_an_epoch | C2: two votes of one voter in one epoch |
| vote_for_a_shorter_log | C7: the new leader lacks what was committed |
| commit_older_epoch_by_counting | C4: the high watermark stands on a record of an older epoch |
| count_own_unsynced_end, count_one_too_few, fetch_from_unsynced_end | C4: no majority has it on disk |
| no_truncation_on_divergence, truncate_to_own_end_of_epoch | liveness: the follower never agrees with its leader |
| append_without_comparing_epochs | C3: two batches at one committed offset |
| accept_older_begin_quorum_epoch | C2 or C7: the epoch goes back |
| high_watermark_goes_back | the check of the high watermark itself |
| deliver_what_is_not_committed | the listener, which compares with the high watermark |
| install_snapshot_unsynced | C5: what the log gave way to does not survive a power cut |
| write_snapshot_unsynced | a snapshot with a name is damaged after a crash |
| install_snapshot_after_truncating, clean_past_the_latest_snapshot | C5: the log begins where no snapshot is |
| install_whatever_the_role | C6: one that follows nobody installs a snapshot; or its log ends below what is committed |
| lead_on_in_an_older_epoch | C1 or C4: a leader that was overruled goes on |
| lead_again_after_restart | C3: two records of one leader at one offset |
"""

import os
import sys
from pathlib import Path

import pytest
from raft_cluster import DIRECTORY, Cluster, run
from raft_mutants import MUTANTS

import outside
from odradek.broken_rule import BrokenRuleError
from odradek.log.failure import LogDirFailure
from odradek.protocol.messages.metadata_cluster import FeatureLevelRecord
from odradek.raft import messages

HERE = Path(__file__).parent
SEEDS = 200
PARTS = 10
SEEDS_PER_MUTANT_MAX = 40


@pytest.mark.parametrize("part", range(PARTS))
def test_quorum_under_faults(part):
    for seed in range(part, SEEDS, PARTS):
        run(seed)


def test_the_faults_do_happen():
    clusters = [run(seed) for seed in range(1000, 1008)]
    assert sum(cluster.elections for cluster in clusters) > 20
    assert sum(len(cluster.acknowledged) for cluster in clusters) > 200
    assert sum(cluster.snapshots for cluster in clusters) > 5
    assert any(run(seed).installs for seed in range(1008, 1048)), "one seed in five has one"
    lines = [line for cluster in clusters for line in cluster.world.trace.lines]
    for what in ("crash", "pause", "disk went down", ".checkpoint.part", ".checkpoint.deleted"):
        assert any(what in line for line in lines), what


def test_a_quorum_without_faults_elects_once_and_commits_everything():
    for count in (3, 5):
        cluster = Cluster(7, count)
        cluster.duplicate_percent = cluster.lose_percent = 0
        cluster.boot_all()
        assert cluster.run_until(cluster._has_leader, 1000)
        for _ in range(50):
            cluster.append_somewhere()
            cluster.run_for(10)
        cluster.settle()
        assert cluster.elections == 1
        assert len(cluster.acknowledged) == cluster.number


def test_the_same_seed_gives_the_same_trace_and_another_one_another():
    assert run(3).world.trace.digest() == run(3).world.trace.digest()
    assert len({run(seed, 500).world.trace.digest() for seed in range(5)}) == 5


def test_the_trace_does_not_depend_on_the_hash_seed():
    digests = set()
    for hash_seed in ("0", "1", "31337"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(HERE.parent / "kits")}
        command = [sys.executable, str(HERE / "raft_cluster.py"), "7"]
        digests.add(outside.run(command, env=environment, check=True).stdout)
    assert digests == {run(7).world.trace.digest()}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mistake_is_found(mutant, monkeypatch):
    mutant(monkeypatch)
    for seed in range(SEEDS_PER_MUTANT_MAX):
        try:
            run(seed)
        except (AssertionError, BrokenRuleError, LogDirFailure):
            return
    pytest.fail(f"{SEEDS_PER_MUTANT_MAX} seeds found nothing wrong with {mutant.__name__}")


# Single stories of several voters.


def quiet_cluster(count=3, seed=7, **changes):
    cluster = Cluster(seed, count, **changes)
    cluster.duplicate_percent = cluster.lose_percent = 0
    cluster.boot_all()
    assert cluster.run_until(cluster._has_leader, 1000)
    return cluster


def leader_of(cluster):
    (leader,) = [member for member in cluster.members.values() if member.is_started and member.client.is_leader]
    return leader


def test_a_leader_that_stops_hands_over_before_anybody_misses_it():
    cluster = quiet_cluster()
    for _ in range(5):
        cluster.append_somewhere()
        cluster.run_for(10)
    old = leader_of(cluster)
    task = old.node.loop.spawn(old.client.shutdown())
    old.node.attend()
    before_us = cluster.world.now_us
    assert cluster.run_until(cluster._has_leader, 1000)
    assert (cluster.world.now_us - before_us) // 1000 < cluster.config.fetch_timeout_ms, "no timeout was waited for"
    assert cluster.run_until(lambda: task.is_done, 3000) and task.error is None
    known = len(cluster.acknowledged)
    cluster.append_somewhere()
    assert cluster.run_until(lambda: len(cluster.acknowledged) > known, 1000)


def test_one_that_was_cut_off_does_not_disturb_the_others_when_it_comes_back():
    cluster = quiet_cluster()
    leader = leader_of(cluster)
    lost = next(member for member in cluster.members.values() if member is not leader)
    cluster.cuts = {(lost.id, other) for other in cluster.members} | {(other, lost.id) for other in cluster.members}
    cluster.run_for(3000)
    epoch = leader.client.epoch
    assert lost.client.epoch == epoch, "a pre-vote raises no epoch"
    cluster.cuts.clear()
    cluster.settle()
    assert leader.client.epoch == epoch and leader.client.is_leader


def test_a_leader_that_reaches_no_majority_resigns_and_commits_nothing():
    cluster = quiet_cluster(5)
    leader = leader_of(cluster)
    cluster.cuts = {(leader.id, other) for other in cluster.members} | {(other, leader.id) for other in cluster.members}
    cluster.append_somewhere()
    high_watermark = leader.client.high_watermark
    cluster.run_for(cluster.config.fetch_timeout_ms * 2)
    assert not leader.client.is_leader
    assert leader.client.high_watermark == high_watermark
    assert cluster.run_until(cluster._has_leader, 2000) and leader_of(cluster) is not leader
    cluster.settle()
    assert all(value in leader.machine.values for value in cluster.acknowledged)


def take_snapshot(cluster, member):
    machine = member.machine
    records = [(FeatureLevelRecord(name=value, feature_level=1), 0) for value in machine.values]
    task = member.node.loop.spawn(member.client.create_snapshot(machine.offset, machine.epoch, records))
    member.node.attend()
    assert cluster.run_until(lambda: task.is_done, 1000) and task.value()


@pytest.mark.parametrize("damage", ["truncated", "flipped", "another"])
def test_a_snapshot_that_is_none_is_not_installed(damage, monkeypatch):
    """The leader sends nonsense at first: the follower asks again, and nothing of it is left."""
    cluster = quiet_cluster(internal_delete_delay_ms=1)
    leader = leader_of(cluster)
    lost = next(member for member in cluster.members.values() if member is not leader)
    lost.crash()
    for _ in range(40):
        cluster.append_somewhere()
        cluster.run_for(5)
    machine = leader.machine
    for _ in range(2):
        take_snapshot(cluster, leader)
        cluster.append_somewhere()
        cluster.run_for(20)
    assert leader.client.log.log_start_offset > lost.machine.offset
    sent = []
    response = messages.snapshot_response

    def damaged(answer, snapshot_id, size=0, position=0, data=b""):
        sent.append(position)
        if len(sent) <= 60 and data:
            data = {"truncated": data[:-1], "flipped": bytes([data[0] ^ 1]) + data[1:], "another": bytes(len(data))}[
                damage
            ]
            size = position + len(data) if damage == "truncated" and position > 300 else size
        return response(answer, snapshot_id, size, position, data)

    monkeypatch.setattr(messages, "snapshot_response", damaged)
    lost.boot()
    assert cluster.run_until(lambda: lost.is_started and lost.machine.values == machine.values, 20_000)
    assert len(sent) > 60
    assert not [name for name in lost.node.disk.list(DIRECTORY) if name.endswith(".part")]
    cluster.settle()
