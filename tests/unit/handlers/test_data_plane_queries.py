"""ListOffsets, OffsetForLeaderEpoch, DeleteRecords, DescribeProducers: questions about a partition."""

import pytest

from log_kit import NOW
from odradek.protocol import errors
from odradek.protocol.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.protocol.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.protocol.messages.k23_offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from odradek.protocol.messages.k61_describe_producers import DescribeProducersRequest, TopicRequest
from odradek.reactor.pending import Pending
from replica_kit import SimPlane


@pytest.fixture(params=["3.3", "4.3"])
def plane(request):
    made = SimPlane(release=request.param)
    made.create_topic("t", 1)
    for number in range(5):
        made.produce(str(number), timestamp=NOW + 1000 * number)
    return made


def offsets_request(timestamp, version, topic="t", index=0, replica_id=-1, isolation_level=0, epoch=-1):
    asked = ListOffsetsPartition(partition_index=index, timestamp=timestamp)
    if version >= 4:
        asked.current_leader_epoch = epoch
    request = ListOffsetsRequest(replica_id=replica_id, topics=[ListOffsetsTopic(name=topic, partitions=[asked])])
    if version >= 2:
        request.isolation_level = isolation_level
    return request


def list_offset(plane, timestamp, version=7, **fields):
    response = plane.ask(offsets_request(timestamp, version, **fields), version)
    return response.topics[0].partitions[0]


def found(answer):
    return answer.error_code, answer.timestamp, answer.offset


@pytest.mark.parametrize("version", range(1, 8))
def test_the_ends_and_a_time_in_every_version(plane, version):
    assert found(list_offset(plane, -1, version)) == (0, -1, 5)
    assert found(list_offset(plane, -2, version)) == (0, -1, 0)
    assert found(list_offset(plane, NOW + 2500, version)) == (0, NOW + 3000, 3)
    assert found(list_offset(plane, NOW + 10**9, version)) == (0, -1, -1)


@pytest.mark.parametrize("version", range(8, 12))
def test_later_versions(version):
    plane = SimPlane()
    plane.create_topic("t", 1)
    plane.produce("a")
    assert found(list_offset(plane, -1, version)) == (0, -1, 1)
    assert found(list_offset(plane, -3, version)) == (0, NOW, 0)
    assert found(list_offset(plane, -4, version)) == (0, -1, 0)
    assert found(list_offset(plane, -5, version))[0] == (0 if version >= 9 else errors.UnsupportedVersion.code)
    assert found(list_offset(plane, -6, version))[0] == (0 if version >= 11 else errors.UnsupportedVersion.code)


def test_the_largest_timestamp(plane):
    assert found(list_offset(plane, -3)) == (0, NOW + 4000, 4)
    plane.produce("late", timestamp=NOW + 100)
    assert found(list_offset(plane, -3)) == (0, NOW + 4000, 4)


def test_the_largest_timestamp_of_an_empty_log(plane):
    plane.create_topic("empty")
    assert found(list_offset(plane, -3, topic="empty")) == (0, -1, -1)


def test_version_0_answers_a_partition_as_often_as_it_is_named():
    plane = SimPlane(release="3.3")
    plane.create_topic("t")
    plane.produce("a")
    asked = [ListOffsetsPartition(partition_index=0, timestamp=at, max_num_offsets=1) for at in (-1, -2)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=asked)])
    answers = plane.ask(request, 0).topics[0].partitions
    assert [(answer.error_code, answer.old_style_offsets) for answer in answers] == [(0, [1]), (0, [0])]
    assert [answer.error_code for answer in plane.ask(request, 1).topics[0].partitions] == [42, 42]


def test_version_0_lists_segments():
    plane = SimPlane(release="3.3")
    plane.create_topic("t")
    plane.produce("a", "b")
    request = offsets_request(-1, 0)
    request.topics[0].partitions[0].max_num_offsets = 5
    assert plane.ask(request, 0).topics[0].partitions[0].old_style_offsets == [2, 0]
    request.topics[0].partitions[0].timestamp = -2
    assert plane.ask(request, 0).topics[0].partitions[0].old_style_offsets == [0]
    request.topics[0].partitions[0].max_num_offsets = -4
    assert plane.ask(request, 0).topics[0].partitions[0].old_style_offsets == []


@pytest.mark.contract("B101")
def test_the_end_is_the_readers(plane):
    plane.produce("x", producer=7, transactional=True, acks=1) if plane.release.name == "3.3" else None
    latest = list_offset(plane, -1, isolation_level=1)
    assert latest.offset == 5, "an open transaction is not passed"
    plane.create_topic("r", replicas=(1, 2))
    plane.produce("a", topic="r", acks=1)
    assert list_offset(plane, -1, topic="r").offset == 0
    assert list_offset(plane, -1, topic="r", replica_id=2).offset == 1


def test_a_record_that_is_not_committed_is_not_found_by_its_time(plane):
    plane.create_topic("r", replicas=(1, 2))
    plane.produce("a", topic="r", acks=1)
    assert found(list_offset(plane, NOW, topic="r")) == (0, -1, -1)
    assert found(list_offset(plane, NOW, topic="r", replica_id=2)) == (0, NOW, 0)


def test_a_new_leader_behind_its_epoch_does_not_tell_the_end(plane):
    """R3."""
    plane.create_topic("r", replicas=(1, 2))
    plane.produce("a", topic="r", acks=1)
    plane.partition("r").leader.isr.epoch_start_offset = 1
    assert list_offset(plane, -1, topic="r", version=5).error_code == errors.OffsetNotAvailable.code
    assert list_offset(plane, -1, topic="r", version=4).error_code == errors.LeaderNotAvailable.code
    assert found(list_offset(plane, -2, topic="r")) == (0, -1, 0)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"topic": "nope"}, errors.UnknownTopicOrPartition),
        ({"index": 4}, errors.UnknownTopicOrPartition),
        ({"epoch": 3}, errors.UnknownLeaderEpoch),
    ],
)
def test_errors_of_list_offsets(plane, fields, error):
    assert list_offset(plane, -1, **fields).error_code == error.code


# OffsetForLeaderEpoch.


def epoch_end(plane, leader_epoch, version=4, current=-1, topic="t"):
    asked = OffsetForLeaderPartition(partition=0, leader_epoch=leader_epoch)
    if version >= 2:
        asked.current_leader_epoch = current
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=topic, partitions=[asked])])
    answer = plane.ask(request, version).topics[0].partitions[0]
    return answer.error_code, answer.leader_epoch, answer.end_offset


@pytest.mark.parametrize("version", [2, 3, 4])
def test_where_an_epoch_ends(plane, version):
    assert epoch_end(plane, 0, version) == (0, 0, 5)
    assert epoch_end(plane, 3, version) == (0, -1, -1)
    assert epoch_end(plane, 0, version, current=9)[0] == errors.UnknownLeaderEpoch.code
    assert epoch_end(plane, 0, version, topic="nope")[0] == errors.UnknownTopicOrPartition.code


# DeleteRecords.


def delete_request(offset, topic="t", timeout_ms=1000):
    asked = DeleteRecordsPartition(partition_index=0, offset=offset)
    return DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[asked])], timeout_ms=timeout_ms)


def delete(plane, offset, version=2, **fields):
    answer = plane.ask(delete_request(offset, **fields), version).topics[0].partitions[0]
    return answer.error_code, answer.low_watermark


@pytest.mark.parametrize("version", [1, 2])
def test_records_are_deleted(plane, version):
    assert delete(plane, 2, version) == (0, 2)
    assert plane.fetch_one(offset=1).error_code == errors.OffsetOutOfRange.code
    assert delete(plane, 1, version) == (0, 2), "already gone"
    assert delete(plane, -1, version) == (0, 5)
    assert plane.produce("x").log_start_offset == 5


@pytest.mark.parametrize(
    ("offset", "topic", "error"),
    [
        (6, "t", errors.OffsetOutOfRange),
        (-2, "t", errors.OffsetOutOfRange),
        (0, "c", errors.PolicyViolation),
        (0, "__consumer_offsets", errors.InvalidTopicException),
        (0, "nope", errors.UnknownTopicOrPartition),
    ],
)
def test_what_cannot_be_deleted(plane, offset, topic, error):
    plane.create_topic("c", cleanup_policy="compact")
    assert delete(plane, offset, topic=topic) == (error.code, -1)


@pytest.mark.contract("F47")
def test_deletion_waits_for_live_replicas(plane):
    from odradek.protocol.messages.metadata_brokers import RegisterBrokerRecord

    plane.apply([RegisterBrokerRecord(broker_id=2, broker_epoch=1, fenced=False)])
    plane.create_topic("r", replicas=(1, 2))
    plane.produce("a", "b", topic="r", acks=1)
    plane.fetch_one("r", offset=2, replica_id=2)
    request = delete_request(1, "r", timeout_ms=500)
    waiting = plane.on_reactor(lambda: plane.send(request, 2))
    assert isinstance(waiting, Pending)
    answer = plane.decode(plane.wait(waiting), request, 2).topics[0].partitions[0]
    assert (answer.error_code, answer.low_watermark) == (errors.RequestTimedOut.code, -1)
    waiting = plane.on_reactor(lambda: plane.send(request, 2))
    fetch = plane.fetch_request(("r", 0, 2), replica_id=2)
    fetch.topics[0].partitions[0].log_start_offset = 1
    plane.ask(fetch, 12)
    answer = plane.decode(plane.wait(waiting), request, 2).topics[0].partitions[0]
    assert (answer.error_code, answer.low_watermark) == (0, 1)


# DescribeProducers.


def test_producers_are_described(plane):
    plane.produce("a", producer=7, epoch=2, timestamp=NOW + 50)
    request = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0, 3])])
    known, unknown = plane.ask(request, 0).topics[0].partitions
    producer = known.active_producers[0]
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (7, 2, 0)
    assert (producer.last_timestamp, producer.current_txn_start_offset) == (NOW + 50, -1)
    assert unknown.error_code == errors.UnknownTopicOrPartition.code
    assert unknown.error_message and unknown.active_producers == []
