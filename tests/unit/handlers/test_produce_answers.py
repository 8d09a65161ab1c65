"""Produce: in which order a partition is refused, when the answer is due, and what a request that waits still holds."""

import pytest

from log_kit import batch
from odradek.protocol import errors
from odradek.protocol.messages.k00_produce import PartitionProduceData
from odradek.reactor.pending import Pending
from odradek.replica.roles import DIR_FAILED
from replica_kit import SimPlane

VERSION = 9


@pytest.fixture
def plane():
    made = SimPlane()
    made.create_topic("alone")
    made.create_topic("shared", 2, replicas=(1, 2))
    return made


class Denies:
    def __init__(self, *names):
        self.names = names

    def authorize(self, call, operation, resource_type, name):
        return name not in self.names


def answers_of(plane, sent, version=VERSION):
    """The answers of the partitions, of what the dispatcher has returned."""
    parts = plane.wait(sent) if isinstance(sent, Pending) else sent
    response = plane.decode(parts, plane.produce_request(b""), version)
    return [answer for topic in response.responses for answer in topic.partition_responses]


def send(plane, *records, topic="shared", **fields):
    """One request with a batch for each of the topic's first partitions."""
    request = plane.produce_request(records[0], topic=topic, **fields)
    for index, more in enumerate(records[1:], 1):
        request.topic_data[0].partition_data.append(PartitionProduceData(index=index, records=more))
    return plane.on_reactor(lambda: plane.send(request, VERSION))


# What is refused first.


@pytest.mark.contract("E59")
@pytest.mark.parametrize(
    ("denied", "topic", "error"),
    [
        (("nowhere",), "nowhere", errors.TopicAuthorizationFailed),
        ((), "nowhere", errors.UnknownTopicOrPartition),
        (("alone",), "alone", errors.TopicAuthorizationFailed),
        ((), "alone", errors.InvalidRecord),
    ],
)
def test_rights_come_before_the_metadata_and_the_metadata_before_the_records(plane, denied, topic, error):
    plane.services.authorizer = Denies(*denied)
    assert plane.produce(records=b"no batch at all", topic=topic).error_code == error.code


# When the answer is due.


@pytest.mark.contract("F11")
def test_without_acks_of_all_the_answer_follows_the_append_here(plane):
    (answer,) = answers_of(plane, send(plane, batch(b"a"), acks=1))
    assert (answer.error_code, answer.base_offset) == (0, 0)
    assert send(plane, batch(b"b"), acks=0) is None
    assert (plane.log("shared").log_end_offset, plane.log("shared").high_watermark) == (2, 0)


@pytest.mark.contract("E60", "F8")
@pytest.mark.parametrize(
    ("first", "second", "waits"),
    [
        (batch(b"a"), batch(b"b"), True),
        (batch(b"a"), b"no batch", True),
        (b"no batch", b"no batch", False),
    ],
)
def test_it_waits_for_replicas_if_at_least_one_partition_was_written(plane, first, second, waits):
    sent = send(plane, first, second, timeout_ms=500)
    assert isinstance(sent, Pending) == waits
    codes = [answer.error_code for answer in answers_of(plane, sent)]
    refused = errors.InvalidRecord.code
    assert codes == [refused if records == b"no batch" else errors.RequestTimedOut.code for records in (first, second)]


@pytest.mark.contract("E60")
def test_a_request_without_partitions_is_answered_at_once(plane):
    request = plane.produce_request(b"")
    request.topic_data.clear()
    assert answers_of(plane, plane.send(request, VERSION)) == []


@pytest.mark.contract("F9")
def test_what_is_committed_already_is_not_waited_for_and_the_rest_by_its_own_partition(plane):
    assert not isinstance(send(plane, batch(b"a"), topic="alone"), Pending), "there is no other replica"
    sent = send(plane, batch(b"a"), batch(b"b"), timeout_ms=60_000)
    plane.fetch_one("shared", 0, offset=1, replica_id=2)
    plane.sleep(10)
    assert not sent.is_done, "the other partition is not replicated"
    plane.fetch_one("shared", 1, offset=1, replica_id=2)
    assert [answer.error_code for answer in answers_of(plane, sent)] == [0, 0]


@pytest.mark.contract("F3")
def test_a_write_is_done_when_its_last_record_is_committed_and_tells_where_it_begins(plane):
    plane.produce("old", topic="shared", acks=1)
    sent = send(plane, batch(b"a", b"b", b"c"), timeout_ms=60_000)
    for offset in (1, 2, 3):
        plane.fetch_one("shared", offset=offset, replica_id=2)
        plane.sleep(10)
        assert not sent.is_done
    plane.fetch_one("shared", offset=4, replica_id=2)
    (answer,) = answers_of(plane, sent)
    assert (answer.error_code, answer.base_offset, answer.log_append_time_ms, answer.log_start_offset) == (0, 1, -1, 0)
    assert (answer.record_errors, answer.error_message) == ([], None)


@pytest.mark.contract("F7")
def test_a_batch_that_comes_again_is_no_append_and_wakes_nobody(plane):
    plane.produce("a", topic="alone", producer=7)
    request = plane.fetch_request(("alone", 0, 1), max_wait_ms=60_000)
    fetch = plane.on_reactor(lambda: plane.send(request, 12))
    plane.produce("a", topic="alone", producer=7)
    plane.sleep(10)
    assert not fetch.is_done
    assert (plane.log("alone").log_end_offset, plane.partition("alone").topic.messages_in.count) == (1, 1)


@pytest.mark.contract("F13")
def test_a_partition_is_here_or_offline_or_elsewhere(plane):
    plane.create_topic("elsewhere", replicas=(2,), leader=2)
    plane.produce("a", topic="alone")
    plane.partition("shared").go_offline(DIR_FAILED)
    expected = {
        "alone": (0, 0),
        "shared": (errors.KafkaStorageError.code, -1),
        "elsewhere": (errors.NotLeaderOrFollower.code, -1),
        "nowhere": (errors.UnknownTopicOrPartition.code, -1),
    }
    found = {topic: plane.produce("a", topic=topic, acks=1) for topic in expected}
    assert {topic: (one.error_code, one.log_start_offset) for topic, one in found.items()} == expected


# What it holds while it waits.


@pytest.mark.contract("E69")
@pytest.mark.parametrize("count", [1, 2])
def test_a_write_that_waits_has_let_go_of_its_records(plane, count):
    request = plane.produce_request(batch(b"a"), topic="shared", timeout_ms=60_000)
    for index in range(1, count):
        request.topic_data[0].partition_data.append(PartitionProduceData(index=index, records=batch(b"b")))
    frame = plane.frame(request, VERSION)
    received = frame.obj
    waiting = plane.on_reactor(lambda: plane.dispatcher.serve(plane.connection, frame))
    assert isinstance(waiting, Pending) and not waiting.is_done
    frame.release()
    received.clear()  # BufferError if somebody still looks into it
