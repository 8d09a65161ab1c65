"""The metadata log below the core: what it takes from a leader, and what a truncation takes with it."""

import pytest

from odradek.protocol import errors
from odradek.protocol.frames import METADATA
from odradek.raft import messages, snapshots
from odradek.raft.batches import quorum_records
from odradek.raft.core import effects
from odradek.raft.core.voters import Voter, VoterSet
from odradek.raft.keys import OffsetAndEpoch
from odradek.records.metadata_log import control_batch, snapshot_footer, snapshot_header, values_batch
from raft_kit import DIRECTORY, Node, record, voter_set

SNAPSHOT_ID = OffsetAndEpoch(9, 1)
VALUE = METADATA.encode(*record("a"))


def waiting_voter():
    """One of three that hears of nobody: its log is what a test makes of it."""
    node = Node(voters=voter_set(3))
    return node, node.start()


def batch(offset, epoch):
    return values_batch([VALUE], offset, epoch, 5)


@pytest.mark.parametrize(
    "records",
    [batch(2, 2), batch(0, 2), batch(1, 2) + batch(3, 2), batch(1, 1), batch(1, 2)[:-1], b""],
    ids=["gap", "overlap", "gap between batches", "epoch goes back", "half a batch", "nothing"],
)
def test_what_does_not_go_on_where_the_log_ends_is_refused_whole(records):
    node, client = waiting_voter()
    node.call(lambda: client.log.append_as_follower(batch(0, 2)))
    with pytest.raises((errors.InvalidRecord, errors.CorruptMessage)):
        client.log.append_as_follower(records)
    assert client.log.end == OffsetAndEpoch(1, 2)


def test_a_truncation_takes_the_voters_with_it_that_were_in_what_is_gone():
    node, client = waiting_voter()
    log = client.log
    node.call(lambda: log.append_as_follower(batch(0, 1)))
    others = VoterSet([Voter(1), Voter(2), Voter(3), Voter(4)])
    node.call(lambda: log.append_as_follower(control_batch(quorum_records(1, others), 1, 2, 5)))
    assert (log.kraft_version(), log.voters()) == (1, others)
    node.run(log.truncate_to(1))
    assert (log.kraft_version(), log.voters()) == (0, None)
    assert log.flushed_offset == log.log.log_end_offset == 1, "the next Fetch claims no more than is durable"


def test_a_truncation_waits_for_what_is_under_way_in_the_directory():
    node, client = waiting_voter()
    log = client.log
    node.call(lambda: log.append_as_follower(batch(0, 1) + batch(1, 1)))
    seen = []

    def looks():
        yield 0
        seen.append(log.end.offset)

    node.call(lambda: log.run(looks()))
    node.run(log.truncate_to(1))
    assert seen == [2] and log.end.offset == 1


HEAD = control_batch([snapshot_header(5)], 0, 1, 6)
BODY = values_batch([VALUE], 1, 1, 6)
FOOT = control_batch([snapshot_footer()], 2, 1, 6)
FLIPPED = BODY[:-1] + bytes([BODY[-1] ^ 1])


@pytest.mark.parametrize(
    "data",
    [b"", BODY + FOOT, HEAD + BODY, HEAD + BODY + BODY, HEAD + FLIPPED + FOOT, HEAD + BODY + FOOT + HEAD[:-1]],
    ids=["nothing", "no header", "no footer", "a record last", "a flipped bit", "half a batch behind"],
)
def test_a_snapshot_that_is_not_whole_gets_no_name(data):
    node, client = waiting_voter()
    name, path = client.log.part_path(SNAPSHOT_ID)
    node.node.disk.write_atomically(path, data)
    with pytest.raises(errors.KafkaError) as refused:
        node.run(client.log.install_snapshot(name, SNAPSHOT_ID))
    assert not isinstance(refused.value, errors.KafkaStorageError), "the leader is to blame, not the disk"
    assert snapshots.file_name(SNAPSHOT_ID) not in node.files()
    assert client.log.log_start_offset == 0


def piece(snapshot_id=SNAPSHOT_ID, size=10, position=4, data=b"data"):
    answer = effects.Answer(None, errors.NONE, 2, 1)
    return messages.snapshot_response(answer, snapshot_id, size, position, data)


@pytest.mark.parametrize(
    "response",
    [piece(OffsetAndEpoch(9, 2)), piece(position=0), piece(position=5), piece(data=b""), piece(size=7)],
    ids=["of another snapshot", "of the beginning", "past a gap", "empty", "longer than the whole"],
)
def test_a_piece_that_was_not_asked_for_is_no_part_of_a_snapshot(response):
    asked = effects.FetchSnapshot(2, 1, SNAPSHOT_ID)
    assert messages.snapshot_piece(piece(), asked, 4) == (10, b"data")
    with pytest.raises(messages.Refused):
        messages.snapshot_piece(response, asked, 4)


def test_a_whole_one_gets_its_name_and_the_place_of_the_log():
    node, client = waiting_voter()
    name, path = client.log.part_path(SNAPSHOT_ID)
    node.node.disk.write_atomically(path, HEAD + BODY + FOOT)
    node.run(client.log.install_snapshot(name, SNAPSHOT_ID))
    assert node.node.disk.read(f"{DIRECTORY}/{snapshots.file_name(SNAPSHOT_ID)}") == HEAD + BODY + FOOT
    assert client.log.log_start_offset == client.log.flushed_offset == 9
    assert client.log.end == SNAPSHOT_ID


def test_one_that_arrives_when_its_leader_leads_no_more_is_dropped():
    """C6, C7: by now we may stand for election with the log that it would take the place of."""
    node, client = waiting_voter()
    name, path = client.log.part_path(SNAPSHOT_ID)
    node.node.disk.write_atomically(path, HEAD + BODY + FOOT)
    node.run(client.peers.snapshot_fetching().install(effects.FetchSnapshot(2, 1, SNAPSHOT_ID), name))
    assert not [each for each in node.files() if each.endswith((".part", ".checkpoint"))]
    assert client.log.log_start_offset == 0 and client.high_watermark == 0
