"""A coordinator on a real partition, behind a commit gate: a replica that lags, a leader that loses its tail."""

import random

import pytest

from log_kit import append_as_leader
from odradek.coordinator.group.classic.member import Joiner
from odradek.coordinator.group.commit_request import Commit, CommitFrom
from odradek.coordinator.group.coordinator import GroupCoordinator
from odradek.log.failure import LogDamaged
from odradek.log.read import LOG_END
from odradek.metadata.delta import MetadataDelta
from odradek.protocol import errors
from odradek.protocol.internal_topics import OFFSETS_TOPIC as TOPIC
from odradek.protocol.java_hash import partition_of
from odradek.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.protocol.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from odradek.protocol.messages.metadata_topics import PartitionChangeRecord
from odradek.records.batch import batches
from odradek.records.record import Record
from odradek.records.writer import record_batch
from odradek.replica.fetch_entry import FetchEntry
from odradek.replica.roles import DIR_FAILED
from odradek.replicated.log_record import EndMarker
from replica_kit import NODE, SimPlane

OTHER = 2


class Gate(SimPlane):
    """One partition of the offsets topic on two replicas; the test is the second one."""

    def __init__(self, seed=1, **configs):
        self.groups = None
        super().__init__(seed=seed, group_initial_rebalance_delay_ms=0, **configs)
        self.groups = GroupCoordinator(self.replicas, self.layers.config, self.release)
        self.create_topic(TOPIC, replicas=(NODE, OTHER))
        self.settle()

    def apply(self, records):
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self.image = delta.apply(self.image.offset + len(records), 1)
        self.run(self.replicas.apply(delta, self.image))
        if self.groups is not None:
            self.groups.applied(delta, self.image)

    @property
    def shard(self):
        return self.groups.shards.get(0)

    def settle(self):
        """Until the shard has loaded."""
        assert self.world.run_until(lambda: self.shard is not None and self.shard.state != "loading")

    def open(self, offset=None):
        """The follower has everything before `offset`: that much is committed."""
        partition = self.partition(TOPIC)
        offset = partition.log.log_end_offset if offset is None else offset
        entry = FetchEntry(self, TOPIC, 0, 0)
        entry.fetch_offset, entry.log_start_offset = offset, 0
        self.on_reactor(lambda: partition.leader.follower_fetched(entry, OTHER, -1))
        self.world.run_for(1)

    def lead(self, node):
        self.apply([PartitionChangeRecord(partition_id=0, topic_id=self.topic_ids[TOPIC], leader=node)])

    def lose_tail(self, offset):
        """Another node leads for a while; what it did not have is gone."""
        self.lead(OTHER)
        self.run(self.logs.truncate_to(TOPIC, 0, offset))
        self.lead(NODE)
        self.settle()

    def batches(self):
        """What the log holds."""
        fetched = self.partition(TOPIC).log.read(0, 1 << 20, isolation=LOG_END)
        data = fetched.records.disk_file.pread(fetched.records.size, fetched.records.position)
        fetched.records.release()
        return list(batches(data))

    def commit(self, offset, partition=0):
        pending = self.on_reactor(lambda: self.groups.commit_offsets(CommitFrom("g"), [Commit("t", partition, offset)]))
        pending.is_observed = True
        return pending

    def fetch(self, partition=0):
        pending = self.on_reactor(lambda: self.groups.fetch_offsets("g", [("t", [partition])], require_stable=False))
        pending.is_observed = True
        return pending


def offset_in(fetched):
    committed = fetched.value()[0][1][0].committed
    return None if committed is None else committed.offset


def test_an_answer_waits_for_the_high_watermark():
    gate = Gate()
    committed, fetched = gate.commit(5), gate.fetch()
    gate.world.run_for(1000)
    assert not committed.is_done
    assert not fetched.is_done, "it has seen what may yet be lost"
    gate.open()
    assert committed.value() == [0]
    assert offset_in(fetched) == 5
    assert offset_in(gate.fetch()) == 5, "at once: nothing is under way"


@pytest.mark.parametrize("codec", range(5))
@pytest.mark.parametrize("producer_id", [-1, 7])
def test_what_is_written_in_any_compression_is_found_again(codec, producer_id):
    gate = Gate(offsets_topic_compression_codec=codec)
    if producer_id < 0:
        gate.commit(5)
    else:
        commits = [Commit("t", 0, 5)]
        gate.on_reactor(lambda: gate.groups.txn_offset_commit(CommitFrom("g"), commits, producer_id, 3))
        gate.on_reactor(lambda: gate.groups.on_marker(0, EndMarker(producer_id, 3, True)))
    gate.open()
    (batch, *_) = gate.batches()
    assert (batch.compression, batch.producer_id, batch.is_transactional) == (codec, producer_id, producer_id >= 0)
    gate.lead(OTHER)
    gate.lead(NODE)
    gate.settle()
    gate.open()
    assert offset_in(gate.fetch()) == 5


def test_a_refusal_waits_too():
    gate = Gate()
    gate.commit(5)
    refused = gate.groups.commit_offsets(CommitFrom("g", generation=3, member_id="m"), [Commit("t", 0, 9)])
    assert not refused.is_done, "that the group is there was decided upon a record that may be lost"
    gate.open()
    assert refused.value() == [errors.UnknownMemberId.code]


def test_who_waits_when_the_lead_is_lost_is_refused():
    gate = Gate()
    committed = gate.commit(5)
    gate.lead(OTHER)
    with pytest.raises(errors.NotCoordinator):
        committed.value()
    with pytest.raises(errors.NotCoordinator):
        gate.commit(6)


def test_a_log_dir_that_fails_ends_it_before_the_metadata_does():
    gate = Gate()
    committed = gate.commit(5)
    gate.on_reactor(lambda: gate.partition(TOPIC).go_offline(DIR_FAILED))
    with pytest.raises(errors.NotCoordinator):
        committed.value()
    with pytest.raises(errors.NotCoordinator):
        gate.commit(6)


def test_a_lost_tail_is_forgotten():
    gate = Gate()
    gate.commit(5)
    gate.open()
    end_offset = gate.partition(TOPIC).log.log_end_offset
    gate.commit(6)
    assert gate.shard.core.offsets.get("g", "t", 0).offset == 6
    gate.lose_tail(end_offset)
    gate.open()
    assert offset_in(gate.fetch()) == 5


def test_a_tail_that_survived_is_parked_until_it_is_committed():
    gate = Gate()
    gate.commit(5)
    gate.lead(OTHER)
    gate.lead(NODE)
    gate.settle()
    fetched = gate.fetch()
    assert not fetched.is_done
    gate.open()
    assert offset_in(fetched) == 5


def test_events_are_refused_while_it_loads():
    gate = Gate()
    gate.commit(5)
    gate.open()
    gate.lead(OTHER)
    gate.lead(NODE)
    assert gate.shard.state == "loading"
    with pytest.raises(errors.CoordinatorLoadInProgress):
        gate.commit(6)
    gate.settle()
    assert gate.commit(6) is not None


def test_a_partition_with_too_few_replicas_takes_no_commits():
    gate = Gate(min_insync_replicas=2)
    gate.apply([PartitionChangeRecord(partition_id=0, topic_id=gate.topic_ids[TOPIC], isr=[NODE])])
    with pytest.raises(errors.CoordinatorNotAvailable):
        gate.commit(5).value()
    assert gate.shard.core.classic.groups == {}, "a failed append has changed nothing"


def test_a_marker_ends_a_transaction_in_the_log_too():
    gate = Gate()
    gate.groups.txn_offset_commit(CommitFrom("g"), [Commit("t", 0, 9)], 42, 0)
    log = gate.partition(TOPIC).log
    gate.open()
    assert log.last_stable_offset == 0, "the log itself knows of the open transaction"
    ended = gate.groups.on_marker(0, EndMarker(42, 0, True, 7))
    gate.open()
    assert ended.value() is None
    assert log.last_stable_offset == log.high_watermark == 2
    assert offset_in(gate.fetch()) == 9
    gate.lead(OTHER)
    gate.lead(NODE)
    gate.settle()
    gate.open()
    assert offset_in(gate.fetch()) == 9


def test_a_held_join_is_refused_when_the_lead_is_lost():
    gate = Gate()
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    joined = gate.on_reactor(lambda: gate.groups.join(request, Joiner("c", "/h")))
    gate.world.run_for(1000)
    assert not joined.is_done, "the new group is not committed"
    gate.open()
    assert joined.value().generation_id == 1
    sync = SyncGroupRequest(
        group_id="g",
        generation_id=1,
        member_id=joined.value().member_id,
        assignments=[SyncGroupRequestAssignment(member_id=joined.value().member_id, assignment=b"A")],
    )
    synced = gate.on_reactor(lambda: gate.groups.sync(sync))
    assert gate.shard.core.classic.groups["g"].state == "Stable"
    assert not synced.is_done
    gate.lead(OTHER)
    with pytest.raises(errors.NotCoordinator):
        synced.value()


def test_a_damaged_record_stops_the_shard_and_not_the_broker():
    gate = Gate()
    damaged = Record(0, b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\x63rubbish", 0)
    append_as_leader(gate.partition(TOPIC).log, bytearray(record_batch([damaged])), gate.shard.epoch, 0, origin=1)
    gate.lead(OTHER)
    gate.lead(NODE)
    gate.settle()
    assert gate.shard.state == "failed"
    with pytest.raises(errors.NotCoordinator):
        gate.commit(1)


@pytest.mark.parametrize("seed", range(40))
def test_no_acknowledged_commit_is_lost_and_none_is_taken_back(seed):
    """G7, behind a gate that opens late and a leader that loses its tail: what was told stays true."""
    draw = random.Random(seed)
    gate = Gate(seed)
    told = {0: 0, 1: 0}  # the newest offset that anybody was told, by partition
    waiting = []
    for value in range(1, 60):
        action = draw.choice(["commit", "commit", "fetch", "open", "open a little", "lose"])
        partition = draw.randrange(2)
        if action == "commit":
            waiting.append((partition, value, gate.commit(value, partition)))
        elif action == "fetch":
            waiting.append((partition, None, gate.fetch(partition)))
        elif action != "lose":
            log = gate.partition(TOPIC).log
            gate.open(None if action == "open" else draw.randint(log.high_watermark, log.log_end_offset))
        else:
            log = gate.partition(TOPIC).log
            gate.lose_tail(draw.randint(log.high_watermark, log.log_end_offset))
        for each in [each for each in waiting if each[2].is_done]:
            waiting.remove(each)
            where, committed, pending = each
            if pending.error is not None:
                assert isinstance(pending.error, errors.NotCoordinator)
            elif committed is not None:
                told[where] = max(told[where], committed)
            else:
                seen = offset_in(pending) or 0
                assert seen >= told[where], f"{seen} was told after {told[where]}"
                told[where] = seen
        gate.shard.core.validate()
    gate.open()
    for partition, newest in told.items():
        assert (offset_in(gate.fetch(partition)) or 0) >= newest


def test_of_a_damaged_partition_the_coordinator_is_gone_and_the_others_go_on():
    plane = Gate()
    plane.delete_topic(TOPIC)
    plane.create_topic(TOPIC, partitions=2)
    shards = plane.groups.shards
    assert plane.world.run_until(lambda: all(shards.get(index).is_active for index in range(2)))
    plane.logs.handle_failure(LogDamaged("it has holes", plane.log(TOPIC).segments.first.path(".log"), 0))
    groups = {partition_of(name, 2): name for name in "abcdefgh"}
    with pytest.raises(errors.NotCoordinator):
        shards.active(groups[0])
    assert shards.active(groups[1]).is_active
