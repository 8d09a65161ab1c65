"""The driver on one node: starting, appending, snapshots, cleaning, stopping, and a disk that fails."""

from errno import ENOSPC

import pytest

from odradek.log.failure import LogDirFailure
from odradek.metrics.registry import Registry
from odradek.protocol import errors
from odradek.protocol.messages import (
    k01_fetch,
    k52_vote,
    k53_begin_quorum_epoch,
    k55_describe_quorum,
    k59_fetch_snapshot,
)
from odradek.raft import election_state, messages, snapshots
from odradek.raft.batches import quorum_records
from odradek.raft.core.effects import Answer
from odradek.raft.core.voters import Voter, VoterEndpoint, VoterSet
from odradek.raft.election_state import ElectionState
from odradek.raft.keys import OffsetAndEpoch, ReplicaKey
from odradek.records.metadata_log import control_batch, snapshot_footer, snapshot_header
from odradek.sim.crash import KEEP_ALL, LOSE_ALL
from raft_kit import DIRECTORY, Deaf, Node, Recorder, record, voter_set

TOPIC = "__cluster_metadata"


def test_a_sole_voter_leads_a_new_epoch_at_each_start():
    node = Node()
    for epoch in (1, 2, 3):
        client = node.start()
        assert client.leader_and_epoch == (1, epoch) and client.is_leader
        assert client.high_watermark == client.log_end_offset == epoch
        state = election_state.read(node.node.disk, DIRECTORY)
        assert state == ElectionState(epoch, 1)
        node.run(client.shutdown())
        node.crash(LOSE_ALL)


def test_a_listener_is_told_all_that_is_committed_and_then_who_leads():
    node = Node()
    node.start()
    assert node.append("a", "b") == 2
    assert node.append("c") == 3
    assert node.listener.values == ["a", "b", "c"]
    assert node.listener.told == [("commit", 0, 0), ("leader", 1, 1), ("commit", 1, 2), ("commit", 3, 3)]
    node.crash(LOSE_ALL)
    node.start()
    node.world.run_for(10)
    assert node.listener.values == ["a", "b", "c"]
    assert node.listener.told[-1] == ("leader", 1, 2), "only after everything that was committed before"


def test_appends_of_one_turn_share_one_fsync():
    node = Node()
    client = node.start()
    fsyncs = []
    node.node.disk.before_operation = lambda kind, path: fsyncs.append(path) if kind == "fsync" else None
    node.call(lambda: [client.append(1, [record(f"r{number}")]) for number in range(50)])
    assert node.world.run_until(lambda: client.high_watermark == 51)
    assert len([path for path in fsyncs if path.endswith(".log")]) == 1


def test_what_is_not_durable_is_not_committed():
    node = Node()
    client = node.start()
    offset = node.call(lambda: client.append(1, [record("a")]))
    assert offset == 1 and client.log_end_offset == 2 and client.high_watermark == 1


def test_only_the_leader_of_that_epoch_appends():
    node = Node()
    client = node.start()
    for epoch in (0, 2):
        with pytest.raises(errors.NotController):
            client.append(epoch, [record("a")])
    with pytest.raises(errors.RecordListTooLarge):
        client.append(1, [record("x" * 30_000)] * 300)
    node.run(client.shutdown())
    with pytest.raises(errors.NotController):
        client.append(1, [record("a")])


def test_a_sole_voter_that_resigns_comes_back_in_a_later_epoch():
    node = Node()
    client = node.start()
    node.call(lambda: client.resign(1))
    assert not client.is_leader and client.leader_and_epoch == (None, 1)
    assert node.world.run_until(lambda: client.is_leader, 10_000)
    assert client.epoch == 3
    assert node.append("a") == client.log_end_offset - 1
    assert [told for told in node.listener.told if told[0] == "leader"] == [
        ("leader", 1, 1),
        ("leader", None, 1),
        ("leader", 1, 3),
    ]


# Snapshots.


def test_a_snapshot_stands_in_for_the_log_below_it():
    node = Node()
    client = node.start()
    node.append("a", "b")
    assert node.snapshot() is True
    assert client.latest_snapshot_id == OffsetAndEpoch(3, 1)
    assert "00000000000000000003-0000000001.checkpoint" in node.files()
    assert node.snapshot() is False, "there is one already"
    node.append("c")
    node.crash(LOSE_ALL)
    node.start()
    node.world.run_for(10)
    assert node.listener.told[0] == ("snapshot", 3, 1)
    assert node.listener.values == ["a", "b", "c"]


def test_a_snapshot_must_fit_what_is_committed():
    node = Node()
    client = node.start()
    node.append("a")
    for offset, epoch in ((3, 1), (0, 0), (2, 2)):
        with pytest.raises(ValueError, match="offset"):
            node.run(client.create_snapshot(offset, epoch, []))
    assert not [name for name in node.files() if "checkpoint" in name and name != "leader-epoch-checkpoint"]


def test_large_snapshots_have_several_batches():
    node = Node(internal_batch_bytes=500)
    node.start()
    names = [f"name-{number:03d}" for number in range(60)]
    for name in names:
        node.append(name)
    node.snapshot()
    node.append("z")
    node.crash(KEEP_ALL)
    node.start()
    node.world.run_for(10)
    assert node.listener.values == [*names, "z"]


def test_retention_removes_old_segments_and_snapshots_but_never_the_latest():
    node = Node(internal_segment_bytes=400, retention_bytes=600, internal_delete_delay_ms=100)
    client = node.start()
    for number in range(30):
        node.append(f"name-{number:03d}")
        if number % 6 == 5:
            node.snapshot()
    assert client.log.log_start_offset > 0
    ids = [snapshots.id_of(name) for name in node.files() if snapshots.id_of(name)]
    assert client.latest_snapshot_id in ids and len(ids) < 5
    assert min(each.offset for each in ids) >= client.log.log_start_offset, "C5"
    assert [name for name in node.files() if name.endswith(".deleted")]
    node.world.run_for(200)
    assert not [name for name in node.files() if name.endswith(".deleted")]
    node.crash(LOSE_ALL)
    node.start()
    node.world.run_for(10)
    assert node.listener.values == [f"name-{number:03d}" for number in range(30)]


def test_old_snapshots_go_by_their_age():
    node = Node(retention_bytes=-1, retention_ms=1000)
    client = node.start()
    node.append("a")
    node.snapshot()
    node.append("b")
    node.snapshot()
    assert len(client.log.snapshots) == 2
    node.world.run_for(61_000)
    assert [facts.id for facts in client.log.snapshots] == [OffsetAndEpoch(3, 1)]


def test_the_log_is_looked_through_again_and_again():
    node = Node(retention_bytes=-1, retention_ms=90_000)
    client = node.start()
    node.append("a")
    node.snapshot()
    node.append("b")
    node.snapshot()
    node.world.run_for(61_000)
    assert len(client.log.snapshots) == 2, "at the first look it was not old enough"
    node.world.run_for(60_000)
    assert [facts.id for facts in client.log.snapshots] == [OffsetAndEpoch(3, 1)]


def test_the_log_begins_at_the_oldest_snapshot_that_is_left():
    node = Node(retention_bytes=-1, retention_ms=150_000)
    client = node.start()
    for number in range(3):
        node.append(f"value {number}")
        node.snapshot()
        node.world.run_for(60_000)
    node.run(client.clean())
    assert [facts.id.offset for facts in client.log.snapshots] == [3, 4]
    assert client.log.log_start_offset == 3, "C5: the log goes on where the oldest one ends"
    node.crash(LOSE_ALL)
    assert [facts.id.offset for facts in node.start().log.snapshots] == [3, 4], "what went does not come back"


def test_the_log_is_not_cleaned_past_a_listener_that_is_behind():
    """C6: the leader would have to load a snapshot, and forget what it has decided since."""
    node = Node(internal_segment_bytes=300, retention_bytes=0)
    client = node.start()
    slow = Recorder()
    held_up = node.node.loop.pending()
    slow.handle_leader_change = lambda leader_id, epoch: held_up
    node.call(lambda: client.register(slow))
    names = [f"value {number}" for number in range(10)]
    for name in names:
        node.append(name)
        node.snapshot()
    assert node.run(client.clean()) == 0 and client.log.log_start_offset == 0
    node.call(lambda: held_up.resolve(None))
    node.world.run_for(10)
    assert slow.values == names and not [what for what, *_ in slow.told if what == "snapshot"]
    assert node.run(client.clean()) > 0 and client.log.log_start_offset > 0


def test_what_a_snapshot_holds_is_known_to_be_committed():
    node = Node()
    node.start()
    node.append("a", "b")
    node.snapshot()
    node.crash(LOSE_ALL)
    node.voters = voter_set(3)
    client = node.start()
    assert not client.is_leader and client.high_watermark == client.log.log.high_watermark == 3
    node.world.run_for(10)
    assert node.listener.values == ["a", "b"]


def test_what_an_interrupted_snapshot_left_is_removed_and_ignored():
    node = Node()
    node.start()
    node.append("a")
    node.run(node.client.shutdown())
    disk = node.node.disk
    for name in (snapshots.part_name(OffsetAndEpoch(2, 1), 1), "00000000000000000001-0000000001.checkpoint.deleted"):
        disk.open(f"{DIRECTORY}/{name}", create=True).append([b"half"])
    node.crash(KEEP_ALL)
    node.start()
    node.world.run_for(10)
    assert not [name for name in node.files() if name.endswith((".part", ".deleted"))]
    assert node.listener.values == ["a"]


def test_a_snapshot_past_the_log_takes_its_place_at_the_start():
    """The node went down after the install of a leader's snapshot, before its own log was truncated."""
    node = Node()
    client = node.start()
    node.append("a")
    node.run(client.shutdown())
    job = snapshots.write_job(
        node.node.disk, DIRECTORY, OffsetAndEpoch(50, 7), "x.checkpoint.part", [record("s")], [], 5, 6, 1000
    )
    while next(job, None) is not None:
        pass
    node.crash(KEEP_ALL)
    client = node.start()
    node.world.run_for(10)
    assert client.log.log_start_offset == 50 and client.epoch == 8
    assert node.listener.values == ["s"]
    node.append("b")
    node.crash(LOSE_ALL)
    node.start()
    node.world.run_for(10)
    assert node.listener.values == ["s", "b"]


# kraft.version 1.


def formatted_node(**options):
    node = Node(**options)
    node.voters = None
    return node


def write_bootstrap_snapshot(disk, directory_id):
    voter = Voter(1, directory_id, (VoterEndpoint("CTL", "127.0.0.1", 9093),))
    disk.mkdir(DIRECTORY)
    head = control_batch([snapshot_header(5), *quorum_records(1, VoterSet([voter]))], 0, 0, 5)
    foot = control_batch([snapshot_footer()], 3, 0, 5)
    disk.write_atomically(f"{DIRECTORY}/{snapshots.file_name(snapshots.BOOTSTRAP)}", head + foot)


def test_voters_of_a_formatted_quorum_go_to_the_log_with_the_first_leader():
    node = formatted_node()
    directory_id = bytes(range(16))
    write_bootstrap_snapshot(node.node.disk, directory_id)
    client = node.start(directory_id=directory_id)
    assert client.kraft_version == 1 and client.voters.get(1).directory_id == directory_id
    assert client.log_end_offset == 3, "leader change, kraft.version and voters"
    assert b'"data_version":1' in node.node.disk.read(f"{DIRECTORY}/quorum-state")
    node.append("a")
    node.snapshot()
    node.crash(LOSE_ALL)
    node.node.disk.unlink(f"{DIRECTORY}/{snapshots.file_name(snapshots.BOOTSTRAP)}")
    client = node.start(directory_id=directory_id)
    assert client.voters.get(1).endpoints == (VoterEndpoint("CTL", "127.0.0.1", 9093),)
    assert client.log_end_offset == 5, "written once"


def test_a_node_with_another_disk_is_no_voter():
    node = formatted_node()
    write_bootstrap_snapshot(node.node.disk, bytes(range(16)))
    client = node.start(directory_id=bytes(range(1, 17)))
    node.world.run_for(10_000)
    assert not client.core.is_voter and client.leader_and_epoch == (None, 0)


def test_without_voters_there_is_no_start():
    node = formatted_node()
    with pytest.raises(errors.InvalidRequest, match="no voters"):
        node.start()


# The end.


def test_a_failed_fsync_is_the_end_of_it():
    node = Node()
    client = node.start()
    node.node.disk.fail("fsync", path=".log")
    node.call(lambda: client.append(1, [record("a")]))
    assert node.world.run_until(lambda: node.failures)
    assert isinstance(node.failures[0], LogDirFailure)
    assert not client.is_leader and client.high_watermark == 1
    with pytest.raises(errors.NotController):
        client.append(1, [record("b")])
    assert client.handle_vote(vote_request()).error_code == errors.BrokerNotAvailable.code


def test_a_full_disk_refuses_the_append_and_nothing_else_happens():
    node = Node()
    client = node.start()
    node.node.disk.fail("write", ENOSPC, path=".log")

    def append():
        with pytest.raises(errors.KafkaStorageError):
            client.append(1, [record("a")])
        return True

    assert node.call(append)
    assert not node.failures and client.is_leader
    assert node.append("b") == 1


@pytest.mark.parametrize("kind", [".timeindex", "leader-epoch-checkpoint"])
def test_what_a_full_disk_keeps_from_being_promised_is_committed_when_there_is_space(kind):
    node = Node()
    client = node.start()
    node.append("a" * 5_000)  # the next one gets an entry in the indexes
    node.node.disk.fail("write", ENOSPC, path=kind, times=None)
    client.log.log.epochs.is_dirty = True  # as after an election
    offset = node.call(lambda: client.append(1, [record("a")]))
    node.world.run_for(5_000)
    assert not node.failures and client.is_leader
    node.node.disk.heal()
    assert node.world.run_until(lambda: client.high_watermark > offset)


def test_a_stop_whose_last_flush_fails_is_told():
    node = Node()
    client = node.start()
    node.append("a")
    node.node.disk.fail("fsync", path=".log", times=None)
    node.run(client.shutdown())
    assert [type(failure) for failure in node.failures] == [LogDirFailure] and not client.is_running


def test_a_stop_on_a_full_disk_is_no_failure():
    node = Node()
    client = node.start()
    node.append("a")
    node.node.disk.fail("write", ENOSPC, times=None)
    node.run(client.shutdown())
    assert not node.failures and not client.is_running
    node.node.disk.heal()
    assert node.start().log_end_offset > 1


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b"nonsense", b'{"leaderId":1,"leaderEpoch":"2","votedId":-1,"data_version":0}']
)
def test_a_damaged_state_is_no_reason_to_vote_again(data):
    node = Node()
    node.node.disk.mkdir(DIRECTORY)
    node.node.disk.write_atomically(f"{DIRECTORY}/quorum-state", data)
    with pytest.raises(LogDirFailure, match="state of the quorum"):
        node.start()
    assert node.failures


def test_a_listener_that_fails_stops_the_node():
    node = Node()
    client = node.boot()
    node.listener.handle_commit = None
    with pytest.raises(TypeError):
        node.run(client.start())
    assert node.failures and not client.is_running


# Requests of others.


def vote_request(epoch=9, topic=TOPIC, cluster_id="cluster", **fields):
    partition = k52_vote.PartitionData(
        replica_epoch=epoch, replica_id=2, last_offset=99, last_offset_epoch=epoch - 1, **fields
    )
    topics = [k52_vote.TopicData(topic_name=topic, partitions=[partition])]
    return k52_vote.VoteRequest(cluster_id=cluster_id, topics=topics)


def test_a_vote_is_answered_when_it_is_durable():
    node = Node(voters=voter_set(3))
    client = node.start()
    pending = node.call(lambda: client.handle_vote(vote_request()))
    assert not pending.is_done
    told = node.wait(pending).topics[0].partitions[0]
    assert told.vote_granted and told.leader_epoch == 9 and told.leader_id == -1
    node.crash(LOSE_ALL)
    assert election_state.read(node.node.disk, DIRECTORY) == ElectionState(9, None, ReplicaKey(2))


def test_answers_tell_where_the_leader_is_if_the_version_can():
    node = Node(voters=VoterSet([Voter(1, endpoints=(VoterEndpoint("CTL", "host", 9093),))]))
    client = node.start()
    for version, places in ((0, []), (2, [(1, "host", 9093)])):
        response = node.wait(node.call(lambda version=version: client.handle_vote(vote_request(epoch=1), version)))
        assert [(at.node_id, at.host, at.port) for at in response.node_endpoints] == places
        assert response.to_bytes(version)


def test_requests_for_others_are_refused_as_a_whole():
    node = Node()
    client = node.start()
    assert client.handle_vote(vote_request(cluster_id="other")).error_code == errors.InconsistentClusterId.code
    assert client.handle_vote(vote_request(topic="t")).error_code == errors.InvalidRequest.code
    assert client.handle_vote(k52_vote.VoteRequest()).error_code == errors.InvalidRequest.code
    for handle, request in (
        (client.handle_fetch, k01_fetch.FetchRequest()),
        (client.handle_fetch_snapshot, k59_fetch_snapshot.FetchSnapshotRequest()),
        (client.handle_begin_quorum_epoch, k53_begin_quorum_epoch.BeginQuorumEpochRequest()),
    ):
        assert handle(request).error_code == errors.InvalidRequest.code
    assert client.is_leader


def fetch_request(offset, last_epoch=1, epoch=1, max_wait_ms=0, replica=7, **more):
    partition = k01_fetch.FetchPartition(
        current_leader_epoch=epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_epoch,
        partition_max_bytes=1 << 20,
        **more,
    )
    topics = [k01_fetch.FetchTopic(topic=TOPIC, partitions=[partition])]
    return k01_fetch.FetchRequest(replica_id=replica, max_wait_ms=max_wait_ms, topics=topics)


def test_an_observer_reads_waits_for_more_and_is_described():
    node = Node()
    client = node.start()
    node.append("a")
    told = node.wait(node.call(lambda: client.handle_fetch(fetch_request(0, 0)))).responses[0].partitions[0]
    assert (told.error_code, told.high_watermark, len(told.records) > 100) == (0, 2, True)
    waiting = node.call(lambda: client.handle_fetch(fetch_request(2, max_wait_ms=10_000)))
    node.world.run_for(5)
    assert not waiting.is_done
    node.append("b")
    assert node.wait(waiting).responses[0].partitions[0].records
    empty = node.call(lambda: client.handle_fetch(fetch_request(3, max_wait_ms=50)))
    node.world.run_for(100)
    assert empty.is_done and not node.wait(empty).responses[0].partitions[0].records
    told = node.wait(node.call(lambda: client.handle_fetch(fetch_request(9, last_epoch=1)))).responses[0].partitions[0]
    assert (told.diverging_epoch.epoch, told.diverging_epoch.end_offset) == (1, 3)
    described = client.describe_quorum(describe_request()).topics[0].partitions[0]
    assert [observer.replica_id for observer in described.observers] == [7]
    assert described.observers[0].log_end_offset == 3


class Leading(Deaf):
    """The way to a leader that has these bytes in its log, and nothing more to say to who has them too."""

    def __init__(self, node, leader_id, content, high_watermark):
        super().__init__(node)
        self.leader_id = leader_id
        self.content = content
        self.high_watermark = high_watermark

    def send(self, voter, request, version):
        answer = super().send(voter, request, version)
        if isinstance(request, k01_fetch.FetchRequest) and request.topics[0].partitions[0].fetch_offset == 0:
            answer.resolve(
                messages.fetch_response(Answer(None, 0, self.leader_id, 1), self.high_watermark, 0, self.content)
            )
        return answer


def test_a_follower_has_and_tells_what_its_leader_answers():
    leader = Node()
    leader.start()
    leader.append("a", "b")
    content = leader.node.disk.read(LOG)
    node = Node(voters=voter_set(2), connect=lambda: Leading(node, 2, content, leader.client.high_watermark))
    client = node.start()
    partition = k53_begin_quorum_epoch.PartitionData(leader_id=2, leader_epoch=1)
    topics = [k53_begin_quorum_epoch.TopicData(topic_name=TOPIC, partitions=[partition])]
    begins = k53_begin_quorum_epoch.BeginQuorumEpochRequest(topics=topics)
    node.wait(node.call(lambda: client.handle_begin_quorum_epoch(begins)))
    assert node.world.run_until(lambda: client.log_end_offset == 3, 1000)
    node.world.run_for(10)
    assert client.leader_and_epoch == (2, 1) and node.listener.values == ["a", "b"]


def test_one_that_knows_an_older_high_watermark_is_answered_at_once():
    node = Node()
    client = node.start()
    node.append("a")
    behind = node.call(lambda: client.handle_fetch(fetch_request(2, max_wait_ms=10_000, high_watermark=1)))
    level = node.call(lambda: client.handle_fetch(fetch_request(2, max_wait_ms=10_000, high_watermark=2)))
    node.world.run_for(5)
    assert behind.is_done and not level.is_done
    assert node.wait(behind).responses[0].partitions[0].high_watermark == 2


def test_one_that_waits_is_told_when_its_leader_has_resigned():
    node = Node()
    client = node.start()
    waiting = node.call(lambda: client.handle_fetch(fetch_request(1, max_wait_ms=10_000)))
    node.call(lambda: client.resign(1))
    told = node.wait(waiting).responses[0].partitions[0]
    assert told.error_code == errors.NotLeaderOrFollower.code
    assert not told.records and told.high_watermark == -1


def describe_request(topic=TOPIC, index=0):
    partitions = [k55_describe_quorum.PartitionData(partition_index=index)]
    topics = [k55_describe_quorum.TopicData(topic_name=topic, partitions=partitions)]
    return k55_describe_quorum.DescribeQuorumRequest(topics=topics)


def test_describe_quorum():
    node = Node()
    client = node.start()
    response = client.describe_quorum(describe_request())
    assert response.error_code == 0
    told = response.topics[0].partitions[0]
    assert (told.leader_id, told.leader_epoch, told.high_watermark) == (1, 1, 1)
    assert [(voter.replica_id, voter.log_end_offset) for voter in told.current_voters] == [(1, 1)]
    assert told.current_voters[0].last_fetch_timestamp == node.node.clock.wall_ms()
    for version in (0, 1, 2):
        assert client.describe_quorum(describe_request(), version).to_bytes(version)
    unknown = client.describe_quorum(describe_request("t", 3)).topics[0].partitions[0]
    assert (unknown.partition_index, unknown.error_code) == (3, errors.UnknownTopicOrPartition.code)
    node.call(lambda: client.resign(1))
    assert client.describe_quorum(describe_request()).error_code == errors.NotLeaderOrFollower.code


def snapshot_request(offset, epoch, position, leader_epoch=1, max_bytes=100):
    partition = k59_fetch_snapshot.PartitionSnapshot(
        current_leader_epoch=leader_epoch,
        snapshot_id=k59_fetch_snapshot.SnapshotId(end_offset=offset, epoch=epoch),
        position=position,
    )
    topics = [k59_fetch_snapshot.TopicSnapshot(name=TOPIC, partitions=[partition])]
    return k59_fetch_snapshot.FetchSnapshotRequest(replica_id=7, max_bytes=max_bytes, topics=topics)


def test_a_snapshot_is_served_in_pieces_that_know_no_batches():
    node = Node()
    client = node.start()
    node.append("a", "b")
    node.snapshot()
    whole = node.node.disk.read(f"{DIRECTORY}/00000000000000000003-0000000001.checkpoint")

    def piece(*args, **options):
        pending = node.call(lambda: client.handle_fetch_snapshot(snapshot_request(*args, **options)))
        return node.wait(pending).topics[0].partitions[0]

    data = b""
    while len(data) < len(whole):
        told = piece(3, 1, len(data), max_bytes=33)
        assert (told.error_code, told.size, told.position) == (0, len(whole), len(data))
        data += told.unaligned_records
    assert data == whole
    assert piece(3, 1, len(whole)).error_code == errors.PositionOutOfRange.code
    assert piece(3, 1, -1).error_code == errors.PositionOutOfRange.code
    assert piece(4, 1, 0).error_code == errors.SnapshotNotFound.code
    assert piece(3, 1, 0, leader_epoch=0).error_code == errors.FencedLeaderEpoch.code
    assert piece(3, 1, 0, max_bytes=-5).unaligned_records == whole[:1]


def test_metrics_have_kafkas_names():
    node = Node()
    registry = Registry()
    client = node.start(metrics=registry)
    values = {name.attribute: metric.read() for name, metric in registry if name.type == "raft-metrics"}
    assert values["current-leader"] == 1 and values["current-epoch"] == 1 and values["high-watermark"] == 1
    node.run(client.shutdown())
    assert {metric.read() for name, metric in registry if name.type == "raft-metrics"} == {None}


LOG = f"{DIRECTORY}/00000000000000000000.log"


@pytest.mark.parametrize("is_clean", [True, False])
def test_nothing_that_was_promised_is_cut_over_a_flipped_bit(is_clean):
    """By a clean stop all of the log is promised, without one what was committed up to the last minute."""
    node = Node()
    client = node.start()
    node.append("a", "b", "c")
    first_bytes = node.node.disk.size(LOG)
    if is_clean:
        node.run(client.shutdown())
    else:
        node.run(client.clean())
        node.append("d")
    node.crash(KEEP_ALL)
    node.node.disk.flip_bit(LOG, first_bytes - 3)
    size = node.node.disk.size(LOG)
    node.boot()
    with pytest.raises(errors.KafkaStorageError, match="below the recovery point 4"):
        node.run(node.client.start())
    assert node.node.disk.size(LOG) == size


def test_what_was_never_promised_is_cut_where_it_stops_being_sound():
    node = Node()
    client = node.start()
    node.append("a")
    node.run(client.clean())
    sound_bytes = node.node.disk.size(LOG)
    node.append("b")
    node.crash(KEEP_ALL)
    node.node.disk.flip_bit(LOG, sound_bytes + 70)
    node.start()
    node.world.run_for(10)
    assert node.listener.values == ["a"]


def test_a_recovery_point_that_cannot_be_read_promises_nothing():
    node = Node()
    client = node.start()
    node.append("a")
    node.run(client.shutdown())
    node.crash(KEEP_ALL)
    node.node.disk.write_atomically(f"{DIRECTORY}/recovery-point-offset-checkpoint", b"0\nnonsense\n")
    node.start()
    node.world.run_for(10)
    assert node.listener.values == ["a"]
