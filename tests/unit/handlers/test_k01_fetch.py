"""Fetch: what is read, what is waited for, and what is refused, in every version."""

import pytest

from log_kit import NOW, append_as_leader, batch, marker
from odradek.log.append import COORDINATOR
from odradek.protocol import errors
from odradek.protocol.frames import OFFSETS
from odradek.protocol.messages.consumer_offsets import OffsetCommitKey
from odradek.reactor.file_range import FileRange
from odradek.reactor.pending import Pending
from odradek.records import compression
from odradek.records.batch import batches
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch
from odradek.replica.fetch.in_session import fetch_in_session
from odradek.replica.fetch.parameters import FetchParameters
from odradek.replica.fetch.reading import ENTRIES_PER_SLICE
from odradek.replica.markers import append_marker
from odradek.replicated.log_record import EndMarker, LogRecord
from odradek.replicated.partition_log import PartitionLog
from replica_kit import RealPlane, SimPlane


@pytest.fixture
def plane():
    made = SimPlane()
    made.create_topic("t", 2)
    return made


@pytest.fixture
def old_plane():
    made = SimPlane(release="3.3")
    made.create_topic("t", 2)
    return made


def values(data):
    return [bytes(record.value).decode() for each in batches(data.records) for record in each.records()]


@pytest.mark.parametrize("version", range(4, 19))
def test_every_version_of_a_4_3(plane, version):
    plane.produce("a", "b")
    data = plane.fetch_one(version=version)
    assert (data.error_code, data.high_watermark, values(data)) == (0, 2, ["a", "b"])


@pytest.mark.parametrize("version", range(14))
def test_every_version_of_a_3_3(old_plane, version):
    old_plane.produce("a", "b")
    data = old_plane.fetch_one(version=version)
    assert (data.error_code, data.high_watermark, values(data)) == (0, 2, ["a", "b"])
    assert {each.magic for each in batches(data.records)} == {0 if version < 2 else 1 if version < 4 else 2}


def test_down_conversion_begins_at_the_offset(old_plane):
    old_plane.produce("a", "b", "c")
    assert values(old_plane.fetch_one(offset=1, version=3)) == ["b", "c"]
    counted = old_plane.metrics.find("kafka.server", "BrokerTopicMetrics", "FetchMessageConversionsPerSec")
    assert counted.count == 2


def zstd_batch():
    return bytearray(record_batch([Record(0, b"k", b"v", NOW)], BatchFields(), codec=compression.ZSTD))


def test_zstd_before_version_10(old_plane):
    old_plane.create_topic("z", compression_type="zstd")
    old_plane.produce("a", topic="z")
    old_plane.produce(records=zstd_batch())
    refused = old_plane.fetch_one("z", version=9)
    assert refused.error_code == errors.UnsupportedCompressionType.code and not refused.records
    assert values(old_plane.fetch_one("z", version=10)) == ["a"]
    assert values(old_plane.fetch_one(version=4)) == ["v"], "a producer's own zstd goes out as it is"
    assert old_plane.fetch_one(version=3).error_code == errors.UnsupportedCompressionType.code


@pytest.mark.parametrize(
    ("config", "version_max", "error"),
    [
        ({"compression_type": "zstd"}, 9, errors.UnsupportedCompressionType),
        ({"message_downconversion_enable": "false"}, 3, errors.UnsupportedVersion),
    ],
)
def test_a_topic_that_is_not_for_old_readers_is_refused_whatever_is_in_it(old_plane, config, version_max, error):
    """As a 3.3.2 does: it looks at the topic's configs before it looks at the records."""
    old_plane.create_topic("new", **config)
    for offset in (0, 99):
        for version in range(version_max + 1):
            refused = old_plane.fetch_one("new", offset=offset, version=version)
            assert (refused.error_code, refused.records) == (error.code, None)
    assert old_plane.fetch_one("new", version=version_max + 1).error_code == 0
    assert old_plane.fetch_one("nowhere", version=version_max).error_code == errors.UnknownTopicOrPartition.code
    old_plane.produce("a", topic="new")
    assert old_plane.fetch_one("new", version=version_max).error_code == error.code
    assert values(old_plane.fetch_one("new", version=version_max + 1)) == ["a"]


@pytest.mark.contract("E71", "F20", "F47")
@pytest.mark.parametrize("version", [12, 17])  # who asks stands in another place from 15 on
def test_nothing_past_the_high_watermark(plane, version):
    plane.create_topic("r", replicas=(1, 2))
    plane.produce("a", topic="r", acks=1)
    assert not plane.fetch_one("r", version=version).records
    assert values(plane.fetch_one("r", version=version, replica_id=2)) == ["a"]
    plane.fetch_one("r", offset=1, version=version, replica_id=2)
    assert values(plane.fetch_one("r", version=version)) == ["a"]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"offset": 3}, errors.OffsetOutOfRange),
        ({"offset": -1}, errors.OffsetOutOfRange),
        ({"current_leader_epoch": 9}, errors.UnknownLeaderEpoch),
        ({"current_leader_epoch": 4}, errors.FencedLeaderEpoch),
        ({"last_fetched_epoch": 9}, errors.OffsetOutOfRange),
        ({"index": 5}, errors.UnknownTopicOrPartition),
        ({"topic": "nope"}, errors.UnknownTopicOrPartition),
        ({"topic": "nope", "version": 13}, errors.UnknownTopicId),
        ({"replica_id": 77}, errors.NotLeaderOrFollower),
    ],
)
def test_errors_of_a_partition(plane, fields, error):
    plane.create_topic("e", leader_epoch=5)
    plane.produce("a", "b", topic="e")
    data = plane.fetch_one(**{"topic": "e", **fields})
    assert (data.error_code, data.high_watermark, data.log_start_offset) == (error.code, -1, -1)
    assert not data.records


def test_a_diverging_epoch_is_told(plane):
    """The reader has records of epoch 3 up to offset 5; here epoch 3 has ended at 1."""
    plane.create_topic("d", leader_epoch=3)
    plane.produce("a", topic="d")
    partition = plane.partition("d")
    partition.log.assign_epoch_start_offset(6, 1)
    partition.leader_epoch = 6
    partition.leader.epoch = partition.leader.isr.leader_epoch = 6
    plane.produce("b", topic="d")
    data = plane.fetch_one("d", offset=2, last_fetched_epoch=3)
    assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == (3, 1)
    assert (data.error_code, data.high_watermark, bytes(data.records)) == (0, 2, b"")


def test_topic_ids(plane):
    plane.produce("a")
    response = plane.fetch(("t", 0, 0), version=13)
    assert response.responses[0].topic_id == plane.topic_ids["t"]


def test_a_topic_that_was_made_again_is_another(plane):
    plane.produce("old")
    old_id = plane.topic_ids["t"]
    plane.delete_topic("t")
    plane.create_topic("t")
    plane.produce("new")
    assert values(plane.fetch_one(version=13)) == ["new"]
    plane.topic_ids["t"] = old_id
    assert plane.fetch_one(version=13).error_code == errors.UnknownTopicId.code


# Limits.


@pytest.mark.contract("E76")
def test_a_small_limit_gets_whole_batches_and_at_least_one(plane):
    for number in range(3):
        plane.produce(str(number) * 100)
    size = plane.log().size // 3
    one = plane.fetch(("t", 0, 0, 1)).responses[0].partitions[0]
    assert values(one) == ["0" * 100]
    two = plane.fetch(("t", 0, 0, 2 * size)).responses[0].partitions[0]
    assert values(two) == ["0" * 100, "1" * 100]


@pytest.mark.contract("E76")
def test_only_the_first_partition_may_exceed_the_limit(plane):
    for index in range(2):
        plane.produce("x" * 100, index=index)
    response = plane.fetch(("t", 0, 0), ("t", 1, 0), max_bytes=10)
    sizes = [len(data.records) for topic in response.responses for data in topic.partitions]
    assert sizes == [plane.log().size, 0]
    empty_first = plane.fetch(("t", 0, 1), ("t", 1, 0), max_bytes=10)
    sizes = [len(data.records) for topic in empty_first.responses for data in topic.partitions]
    assert sizes == [0, plane.log().size]


def test_up_to_version_2_a_batch_is_cut(old_plane):
    old_plane.produce("x" * 100)
    cut = old_plane.fetch(("t", 0, 0, 20), version=2).responses[0].partitions[0]
    assert len(cut.records) <= 20
    whole = old_plane.fetch(("t", 0, 0, 20), version=3).responses[0].partitions[0]
    assert values(whole) == ["x" * 100]


def test_the_brokers_own_limit():
    plane = SimPlane(fetch_max_bytes=1024)
    plane.create_topic()
    for _ in range(10):
        plane.produce("x" * 400)
    assert len(plane.fetch_one().records) <= 1024


# Waiting.


def waiting_fetch(plane, *wanted, version=12, **fields):
    request = plane.fetch_request(*wanted, version=version, **{"max_wait_ms": 5000, **fields})
    pending = plane.on_reactor(lambda: plane.send(request, version))
    assert isinstance(pending, Pending)
    return lambda: plane.decode(plane.wait(pending), request, version), pending


def now_ms(plane):
    return plane.loop.ports.clock.mono_ms()


@pytest.mark.contract("E75", "F5")
def test_an_append_ends_the_wait(plane):
    answer, _ = waiting_fetch(plane, ("t", 0, 0), ("t", 1, 0))
    began_ms = now_ms(plane)
    plane.produce("a", index=1)
    response = answer()
    assert now_ms(plane) - began_ms < 100
    assert [len(data.records) > 0 for topic in response.responses for data in topic.partitions] == [False, True]
    assert not plane.partition().watchers and not plane.partition(index=1).watchers, "nothing is left behind"
    assert plane.replicas.purgatories["Fetch"].size == 0


@pytest.mark.contract("B98")
def test_records_that_the_reader_may_not_see_yet_end_no_wait(plane):
    answer, pending = waiting_fetch(plane, ("t", 0, 0), isolation_level=1)
    log = plane.partition().log
    append_as_leader(log, batch(b"open", producer=7, transactional=True), 0, NOW)
    plane.on_reactor(plane.partition().leader.advance_high_watermark)
    plane.sleep(50)
    assert log.high_watermark == 1 and not pending.is_done
    append_as_leader(log, marker(7, commit=True), 0, NOW, origin=COORDINATOR)
    plane.on_reactor(plane.partition().leader.advance_high_watermark)
    assert values(answer().responses[0].partitions[0])[0] == "open"


@pytest.mark.contract("E75")
def test_time_ends_the_wait(plane):
    began_ms = now_ms(plane)
    answer, _ = waiting_fetch(plane, ("t", 0, 0), max_wait_ms=700)
    response = answer()
    assert 700 <= now_ms(plane) - began_ms < 800
    assert response.responses[0].partitions[0].high_watermark == 0
    expired = plane.metrics.find("kafka.server", "DelayedFetchMetrics", "ExpiresPerSec", {"fetcherType": "consumer"})
    assert expired.count == 1


@pytest.mark.contract("E75")
def test_min_bytes_gathers_from_several_partitions(plane):
    size = len(batch(b"a"))
    answer, pending = waiting_fetch(plane, ("t", 0, 0), ("t", 1, 0), min_bytes=2 * size)
    plane.produce("a")
    plane.sleep(50)
    assert not pending.is_done
    plane.produce("b", index=1)
    plane.sleep(1)
    assert pending.is_done
    assert [values(data) for topic in answer().responses for data in topic.partitions] == [["a"], ["b"]]


def test_what_is_there_counts_towards_min_bytes(plane):
    size = len(batch(b"a"))
    plane.produce("a")
    answer, pending = waiting_fetch(plane, ("t", 0, 0), ("t", 1, 0), min_bytes=2 * size)
    plane.sleep(50)
    assert not pending.is_done
    plane.produce("b", index=1)
    assert [values(data) for topic in answer().responses for data in topic.partitions] == [["a"], ["b"]]


def test_too_little_is_answered_when_the_time_is_over(plane):
    answer, _ = waiting_fetch(plane, ("t", 0, 0), min_bytes=100_000, max_wait_ms=300)
    plane.produce("a")
    assert values(answer().responses[0].partitions[0]) == ["a"]


def test_a_waiting_session_is_woken(plane):
    session = plane.fetch(("t", 0, 0), ("t", 1, 0), session=(0, 0)).session_id
    answer, pending = waiting_fetch(plane, session=(session, 1))
    plane.sleep(100)
    assert not pending.is_done
    plane.produce("a", index=1)
    response = answer()
    assert [data.partition_index for topic in response.responses for data in topic.partitions] == [1]


@pytest.mark.contract("F6")
@pytest.mark.parametrize("configs", [{}, {"flush_messages": 1}], ids=["at once", "flushed"])
def test_an_append_that_is_not_committed_yet_wakes_the_follower_that_it_waits_for(plane, configs):
    """The high watermark stays until the follower has come again: a follower that slept on would keep it there (F6)."""
    plane.create_topic("r", replicas=(1, 2), **configs)
    plane.produce("a", topic="r", acks=1)
    session = plane.fetch(("r", 0, 1), session=(0, 0), replica_id=2).session_id
    follower, woken = waiting_fetch(plane, session=(session, 1), replica_id=2)
    _, consumer = waiting_fetch(plane, ("r", 0, 1))
    plane.produce("b", topic="r", acks=1)
    plane.sleep(100)
    assert (plane.log("r").high_watermark, woken.is_done) == (1, True)
    assert values(follower().responses[0].partitions[0]) == ["b"]
    assert not consumer.is_done, "there is nothing for a consumer yet"


@pytest.mark.contract("F6")
def test_every_way_to_append_wakes_followers(plane):
    plane.create_topic("r", replicas=(1, 2))
    partition = plane.partition("r")
    _, woken = waiting_fetch(plane, ("r", 0, 0), replica_id=2)
    end = EndMarker(7, 0, is_commit=True)
    plane.on_reactor(lambda: append_marker(plane.replicas, partition, end, NOW)).is_observed = True
    plane.sleep(10)
    assert woken.is_done, "a marker"
    coordinator_log = PartitionLog(partition, plane.logs, OFFSETS)
    _, woken = waiting_fetch(plane, ("r", 0, 1), replica_id=2)
    record = LogRecord(OffsetCommitKey(group="g", topic="t", partition=0), None)
    plane.on_reactor(lambda: coordinator_log.append(0, [(record, 0)]))
    plane.sleep(10)
    assert woken.is_done, "a decision of a coordinator"


MANY = ENTRIES_PER_SLICE + 1


@pytest.mark.parametrize("index", [0, MANY - 1])
def test_a_waiting_fetch_of_very_many_partitions_is_woken(plane, index):
    plane.create_topic("wide", MANY)
    answer, pending = waiting_fetch(plane, *(("wide", each, 0) for each in range(MANY)))
    plane.sleep(100)
    assert not pending.is_done
    plane.produce("a", topic="wide", index=index)
    plane.sleep(10)
    assert pending.is_done
    assert {data.partition_index: len(data.records) > 0 for data in _all(answer())}[index]


def test_what_comes_while_very_many_partitions_are_read_is_not_slept_through(plane):
    """The first slice found nothing, and nobody watches its partitions before the last one is read."""
    plane.create_topic("wide", MANY)
    answer, pending = waiting_fetch(plane, *(("wide", each, 0) for each in range(MANY)))
    assert not plane.partition("wide", 0).watchers
    plane.send(plane.produce_request(batch(b"a"), topic="wide", acks=0), 9)
    plane.sleep(100)
    assert pending.is_done
    assert next(values(data) for data in _all(answer()) if data.partition_index == 0) == ["a"]


def _all(response):
    return [data for topic in response.responses for data in topic.partitions]


def test_a_deleted_topic_ends_the_wait(plane):
    answer, _ = waiting_fetch(plane, ("t", 0, 0))
    plane.delete_topic("t")
    assert answer().responses[0].partitions[0].error_code == errors.UnknownTopicOrPartition.code


def test_a_new_request_of_the_session_ends_the_one_that_waits(plane):
    session = plane.fetch(("t", 0, 0), session=(0, 0)).session_id
    answer, _ = waiting_fetch(plane, session=(session, 1))
    plane.produce("a", index=1)
    plane.fetch(session=(session, 2))
    assert answer().error_code == errors.InvalidFetchSessionEpoch.code


@pytest.mark.contract("E74")
def test_min_bytes_zero_does_not_wait(plane):
    response = plane.fetch(("t", 0, 0), min_bytes=0, max_wait_ms=5000)
    assert response.responses[0].partitions[0].error_code == 0


def test_one_that_is_given_up_leaves_nothing_behind(plane):
    request = plane.fetch_request(("t", 0, 0), max_wait_ms=1 << 30)
    pending = fetch_in_session(plane.replicas, request, FetchParameters(12, -1, -1, request, 1 << 20))
    plane.on_reactor(pending.cancel)
    plane.sleep(1)
    assert not plane.partition().watchers and plane.replicas.purgatories["Fetch"].size == 0
    plane.produce("a")
    plane.sleep(1)


@pytest.mark.parametrize("version", [4, 12])
def test_a_long_poll_ends_with_its_connection(plane, version):
    request = plane.fetch_request(("t", 0, 0), version=version, max_wait_ms=1 << 30)
    parked = plane.send(request, version)
    assert isinstance(parked, Pending)
    assert plane.replicas.purgatories["Fetch"].size == 1
    plane.on_reactor(parked.cancel)
    plane.sleep(1)
    assert not plane.partition().watchers and plane.replicas.purgatories["Fetch"].size == 0
    plane.produce("a")
    plane.sleep(1)


# Isolation levels that there are not.


def levels(answer):
    """The error of the request, and each partition's with its records."""
    return answer.error_code, [(data.partition_index, data.error_code, data.records) for data in _all(answer)]


@pytest.mark.parametrize("level", [5, 2, -1])
@pytest.mark.parametrize("replica_id", [-1, 2])
@pytest.mark.parametrize("session_epoch", [-1, 0])
def test_an_unknown_isolation_level_refuses_the_request_and_each_partition(plane, level, replica_id, session_epoch):
    asked = {"isolation_level": level, "replica_id": replica_id, "session": (0, session_epoch)}
    for version in (4, 6):
        answer = plane.fetch(("t", 0, 0), ("t", 7, 0), version=version, **asked)
        assert levels(answer) == (0, [(0, -1, b""), (7, -1, b"")]), "there is no place for the request's own"
    for version in (7, 12):
        answer = plane.fetch(("t", 0, 0), ("t", 7, 0), version=version, **asked)
        assert levels(answer) == (-1, [(0, -1, b""), (7, -1, b"")])
    for version in (13, 17):
        assert levels(plane.fetch(("t", 0, 0), ("t", 7, 0), version=version, **asked)) == (-1, [])
    assert not len(plane.replicas.sessions) and not plane.partition().watchers


def test_a_fetch_that_could_be_answered_at_once_is_refused_as_well(plane):
    plane.produce("a")
    assert levels(plane.fetch(("t", 0, 0), isolation_level=5)) == (-1, [(0, -1, b"")])


def test_a_3_3_has_no_records_in_such_a_refusal(old_plane):
    answer = old_plane.fetch(("t", 0, 0), isolation_level=5)
    assert levels(answer) == (-1, [(0, -1, None)])


def test_before_an_unknown_isolation_level_come_sessions_and_partitions_that_are_not_there(plane):
    assert plane.fetch(("t", 0, 0), isolation_level=5, session=(77, 1)).error_code == 70
    unknown = plane.fetch(("t", 7, 0), isolation_level=5)
    assert levels(unknown) == (0, [(7, errors.UnknownTopicOrPartition.code, b"")])
    assert levels(plane.fetch(isolation_level=5)) == (0, [])


def test_a_session_goes_on_after_an_unknown_isolation_level(plane):
    session = plane.fetch(("t", 0, 0), session=(0, 0)).session_id
    refused = plane.fetch(isolation_level=5, session=(session, 1))
    assert (levels(refused), refused.session_id) == ((-1, []), session)
    assert plane.fetch(session=(session, 2)).error_code == 0
    assert plane.fetch(session=(session, 1)).error_code == errors.InvalidFetchSessionEpoch.code


# Transactions.


@pytest.mark.contract("B98", "E71")
def test_read_committed(plane):
    log = plane.log()
    for producer, sequence in ((7, 0), (8, 0)):
        append_as_leader(log, batch(b"x", producer=producer, sequence=sequence, transactional=True), 0, NOW)
    append_as_leader(log, marker(7, commit=False), 0, NOW, origin=COORDINATOR)
    plane.partition().leader.advance_high_watermark()
    uncommitted = plane.fetch_one(isolation_level=0)
    assert (uncommitted.high_watermark, uncommitted.last_stable_offset) == (3, 1)
    assert len(uncommitted.records) and uncommitted.aborted_transactions is None
    committed = plane.fetch_one(isolation_level=1)
    assert committed.last_stable_offset == 1
    assert [(each.producer_id, each.first_offset) for each in committed.aborted_transactions] == [(7, 0)]
    assert [each.last_offset for each in batches(committed.records)] == [0]


def test_the_end_of_a_transaction_wakes_a_reader_of_committed_records(plane):
    log = plane.log()
    append_as_leader(log, batch(b"x", producer=7, transactional=True), 0, NOW)
    plane.partition().leader.advance_high_watermark()
    answer, _ = waiting_fetch(plane, ("t", 0, 0), isolation_level=1)

    def commit():
        append_as_leader(log, marker(7, commit=True), 0, NOW, origin=COORDINATOR)
        plane.partition().leader.advance_high_watermark()

    plane.on_reactor(commit)
    data = answer().responses[0].partitions[0]
    assert data.last_stable_offset == 2 and len(data.records)


# Who may read.


def test_whoever_may_not_read_learns_nothing(plane):
    class Deny:
        def authorize(self, call, operation, resource_type, name):
            return False

    plane.produce("a")
    plane.services.authorizer = Deny()
    for fields in ({}, {"topic": "nope"}, {"replica_id": 2}, {"version": 13}):
        data = plane.fetch_one(**fields)
        assert (data.error_code, bytes(data.records)) == (errors.TopicAuthorizationFailed.code, b"")


def test_rights_are_asked_for_again_in_a_session(plane):
    class Allow:
        allowed = True

        def authorize(self, call, operation, resource_type, name):
            return self.allowed

    plane.services.authorizer = authorizer = Allow()
    session = plane.fetch(("t", 0, 0), session=(0, 0)).session_id
    plane.produce("a")
    authorizer.allowed = False
    response = plane.fetch(session=(session, 1))
    assert response.responses[0].partitions[0].error_code == errors.TopicAuthorizationFailed.code


# From the files.


@pytest.fixture
def real(tmp_path):
    made = RealPlane(tmp_path / "a")
    made.create_topic("t", 1)
    yield made
    made.close()


@pytest.mark.contract("E77", "G45")
def test_much_is_sent_from_the_file(real):
    for _ in range(20):
        real.produce("x" * 10_000)
    request = real.fetch_request(("t", 0, 0))
    parts = real.send(request, 12)
    ranges = [part for part in parts if isinstance(part, FileRange)]
    assert [part.size for part in ranges] == [real.log().size]
    response = real.decode(parts, request, 12)
    assert len(values(response.responses[0].partitions[0])) == 20


def test_little_is_copied(real):
    real.produce("x" * 100)
    parts = real.send(real.fetch_request(("t", 0, 0)), 12)
    assert not any(isinstance(part, FileRange) for part in parts)


class ColdFile:
    """A file whose pages are not in memory until somebody has read them."""

    def __init__(self, file):
        self.file = file
        self.is_cold = True

    def __getattr__(self, name):
        return getattr(self.file, name)

    def pread_nowait(self, size, position):
        return None if self.is_cold else self.file.pread_nowait(size, position)

    def pread(self, size, position):
        self.is_cold = False
        return self.file.pread(size, position)


@pytest.mark.parametrize("count", [3, 30])
def test_a_cold_log_is_read_ahead_in_a_job(real, count):
    for _ in range(count):
        real.produce("x" * 10_000)
    file = real.log().active.file
    file.disk_file = ColdFile(file.disk_file)
    request = real.fetch_request(("t", 0, 0))
    waiting = real.send(request, 12)
    assert isinstance(waiting, Pending)
    response = real.decode(real.wait(waiting), request, 12)
    assert len(values(response.responses[0].partitions[0])) == count


def test_a_cold_partition_does_not_hold_the_others_up(real):
    real.create_topic("u")
    real.produce("cold")
    real.produce("warm", topic="u")
    file = real.log().active.file
    file.disk_file = cold = ColdFile(file.disk_file)
    response = real.fetch(("t", 0, 0), ("u", 0, 0))
    found = {topic.topic: values(topic.partitions[0]) for topic in response.responses}
    assert found == {"t": [], "u": ["warm"]}
    while cold.is_cold:
        real.loop.turn(100)
    assert values(real.fetch_one()) == ["cold"], "it was read ahead meanwhile"
