"""Produce: what is appended, what is answered, and what is refused, in every version."""

import pytest

from log_kit import NOW, batch
from odradek.handlers import k00_produce
from odradek.protocol import errors
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.messages.k00_produce import PartitionProduceData, TopicProduceData
from odradek.reactor.pending import Pending
from odradek.records import compression
from odradek.records.layout import ATTRIBUTES_OFFSET, MAGIC_OFFSET
from odradek.records.legacy import message_set
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch
from odradek.replica.roles import DIR_FAILED
from replica_kit import SimPlane


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


def values(plane, **where):
    from manager_kit import values as values_of

    return values_of(plane.log(**where))


@pytest.mark.parametrize("version", range(3, 14))
def test_every_version_of_a_4_3(plane, version):
    answer = plane.produce("a", "b", version=version)
    assert (answer.error_code, answer.base_offset) == (0, 0)
    assert plane.produce("c", version=version).base_offset == 2
    assert values(plane) == ["a", "b", "c"]


@pytest.mark.parametrize("version", range(10))
def test_every_version_of_a_3_3(old_plane, version):
    records = batch(b"a") if version >= 3 else message_set([Record(0, b"k", b"a", NOW)], min(version, 1))
    answer = old_plane.produce(records=records, version=version)
    assert (answer.error_code, answer.base_offset) == (0, 0)
    assert values(old_plane) == ["a"]


@pytest.mark.contract("E66")
def test_acks_0_has_no_answer(plane):
    assert plane.produce("a", acks=0) is None
    assert values(plane) == ["a"]


@pytest.mark.contract("E67")
def test_acks_0_closes_the_connection_over_an_error(plane):
    for broken in ({"topic": "nope"}, {"records": batch(b"a")[:-1]}):
        with pytest.raises(PeerProtocolError):
            plane.produce("a", acks=0, **broken)


def test_acks_0_over_an_unreadable_batch_is_the_clients_mistake_and_not_ours(plane):
    unreadable = bytearray(batch(b"a"))
    unreadable[16] = 254  # the magic
    with pytest.raises(PeerProtocolError):
        plane.produce(records=bytes(unreadable), acks=0)
    assert not plane.unexpected


@pytest.mark.contract("F1")
@pytest.mark.parametrize("acks", [2, -2, 100])
def test_other_acks_are_refused(plane, acks):
    answer = plane.produce("a", acks=acks)
    assert (answer.error_code, answer.base_offset, answer.log_start_offset) == (errors.InvalidRequiredAcks.code, -1, -1)
    assert not values(plane)


def test_a_topic_that_is_not_there_and_records_that_are_wrong_come_before_other_acks(plane):
    assert plane.produce("a", topic="nope", acks=2).error_code == errors.UnknownTopicOrPartition.code
    assert plane.produce(records=b"", acks=2).error_code == errors.InvalidRecord.code


def test_a_batch_that_nobody_can_read_fails_the_request_before_any_part_of_it_is_appended(plane):
    unreadable = batch(b"b")
    unreadable[MAGIC_OFFSET] = 3
    request = plane.produce_request(batch(b"a"))
    request.topic_data[0].partition_data.append(PartitionProduceData(index=1, records=unreadable))
    response = plane.ask(request, 9)
    answers = response.responses[0].partition_responses
    assert [answer.error_code for answer in answers] == [errors.CorruptMessage.code] * 2
    assert not values(plane)


@pytest.mark.contract("F2")
def test_the_error_of_one_partition_leaves_the_others_alone(plane):
    request = plane.produce_request(batch(b"a"))
    request.topic_data[0].partition_data += [
        PartitionProduceData(index=1, records=batch(b"b")[:-1]),
        PartitionProduceData(index=7, records=batch(b"c")),
    ]
    request.topic_data.append(
        TopicProduceData(name="nope", partition_data=[PartitionProduceData(index=0, records=batch(b"d"))])
    )
    response = plane.ask(request, 9)
    codes = [
        (topic.name, answer.index, answer.error_code)
        for topic in response.responses
        for answer in topic.partition_responses
    ]
    assert codes == [
        ("t", 0, 0),
        ("t", 1, errors.InvalidRecord.code),
        ("t", 7, errors.UnknownTopicOrPartition.code),
        ("nope", 0, errors.UnknownTopicOrPartition.code),
    ]


def test_of_a_partition_that_is_named_twice_the_last_counts(plane):
    request = plane.produce_request(batch(b"first"))
    request.topic_data[0].partition_data.append(PartitionProduceData(index=0, records=batch(b"second")))
    response = plane.ask(request, 9)
    assert len(response.responses[0].partition_responses) == 1
    assert values(plane) == ["second"]


@pytest.mark.contract("F15")
def test_culprits_are_named_from_version_8_on(plane):
    plane.create_topic("c", cleanup_policy="compact")
    records = batch(b"a", b"b", key=None)
    answer = plane.produce(records=records, topic="c", version=8)
    assert answer.error_code == errors.InvalidRecord.code and answer.log_start_offset == 0
    assert [each.batch_index for each in answer.record_errors] == [0, 1]
    assert "rejected" in answer.error_message
    assert plane.produce(records=records, topic="c", version=7).error_code == errors.InvalidRecord.code


def test_log_append_time_is_told(plane):
    plane.create_topic("l", message_timestamp_type="LogAppendTime")
    answer = plane.produce("a", topic="l")
    assert answer.log_append_time_ms == plane.services.clock.wall_ms()
    assert plane.produce("a").log_append_time_ms == -1


def test_an_unknown_topic_id(plane):
    assert plane.produce("a", topic="nope", version=13).error_code == errors.UnknownTopicId.code


@pytest.mark.contract("F24")
def test_a_repeated_batch_gets_its_old_offset(plane):
    first = plane.produce("a", producer=7)
    assert plane.produce("b", producer=7, sequence=1).base_offset == 1
    again = plane.produce("a", producer=7)
    assert (again.error_code, again.base_offset) == (0, first.base_offset)
    assert plane.produce("z", producer=7, sequence=9).error_code == errors.OutOfOrderSequenceNumber.code
    assert values(plane) == ["a", "b"]


def test_transactional_records_without_a_coordinator(plane, old_plane):
    def produced(each, transactional_id):
        request = each.produce_request(batch(b"a", producer=7, transactional=True), transactional_id=transactional_id)
        return each.ask(request, 9).responses[0].partition_responses[0]

    refused = produced(plane, "tx")
    assert (refused.error_code, refused.log_start_offset) == (errors.InvalidTxnState.code, -1)
    assert refused.error_message == "Partition was not added to the transaction"
    assert produced(old_plane, "tx").error_code == 0
    for each in (plane, old_plane):
        assert produced(each, None).error_code == errors.TransactionalIdAuthorizationFailed.code


@pytest.mark.contract("E57")
def test_who_may_not_use_the_transactional_id_has_no_part_of_the_request_carried_out(plane):
    request = plane.produce_request(batch(b"a"), transactional_id=None)
    transactional = PartitionProduceData(index=1, records=batch(b"b", producer=7, transactional=True))
    request.topic_data[0].partition_data.append(transactional)
    answers = plane.ask(request, 9).responses[0].partition_responses
    assert [answer.error_code for answer in answers] == [errors.TransactionalIdAuthorizationFailed.code] * 2
    assert not values(plane)


@pytest.mark.contract("F16")
def test_min_insync_replicas(plane, old_plane):
    """A 4.3 asks for no more replicas than there are."""
    for each in (plane, old_plane):
        each.create_topic("m", min_insync_replicas=2)
    assert plane.produce("a", topic="m").error_code == 0
    refused = old_plane.produce("a", topic="m")
    assert (refused.error_code, refused.log_start_offset) == (errors.NotEnoughReplicas.code, 0)
    assert old_plane.produce("a", topic="m", acks=1).error_code == 0
    assert values(old_plane, name="m") == ["a"]


@pytest.mark.contract("F16")
@pytest.mark.parametrize(("isr", "error"), [((1, 2), errors.NotEnoughReplicas.code), ((1, 2, 3), 0)])
def test_min_insync_replicas_of_three(plane, isr, error):
    """R7, at the append."""
    plane.create_topic("m", replicas=(1, 2, 3), isr=isr, min_insync_replicas=3)
    waiting = plane.send(plane.produce_request(batch(b"a"), topic="m"), 9)
    for follower in isr[1:]:
        plane.fetch_one("m", offset=plane.log("m").log_end_offset, replica_id=follower)
    parts = plane.wait(waiting) if isinstance(waiting, Pending) else waiting
    answer = plane.decode(parts, plane.produce_request(b""), 9).responses[0].partition_responses[0]
    assert (answer.error_code, plane.log("m").log_end_offset) == (error, 0 if error else 1)


def test_replicas_that_leave_during_the_wait(plane):
    """R7, at the acknowledgement: on disk it may be, acknowledged it is not."""
    plane.create_topic("m", replicas=(1, 2, 3), min_insync_replicas=2)
    request = plane.produce_request(batch(b"a"), topic="m", timeout_ms=5000)
    waiting = plane.send(request, 9)
    partition = plane.partition("m")
    partition.isr = partition.leader.isr.in_sync = (1,)
    partition.log.update_high_watermark(1)
    plane.on_reactor(partition.wake)
    answer = plane.decode(plane.wait(waiting), request, 9).responses[0].partition_responses[0]
    assert answer.error_code == errors.NotEnoughReplicasAfterAppend.code


@pytest.mark.contract("F12")
@pytest.mark.contract("E61")
def test_internal_topics_are_not_for_clients(plane):
    plane.create_topic("__consumer_offsets", cleanup_policy="compact")
    answer = plane.produce("a", topic="__consumer_offsets")
    assert (answer.error_code, answer.log_start_offset) == (errors.InvalidTopicException.code, -1)
    plane.client_id = "__admin_client"
    assert plane.produce("a", topic="__consumer_offsets").error_code == 0


def test_a_batch_of_unknown_magic_fails_the_whole_request(plane):
    bad = batch(b"a")
    bad[16] = 3
    answer = plane.produce(records=bad)
    assert answer.error_code == errors.CorruptMessage.code
    assert answer.error_message == "Invalid magic found in record: 3"


def compressed(count, codec=compression.GZIP):
    records = [
        Record(number, b"k", bytes([number % 251]) * 3000 + str(number).encode(), NOW) for number in range(count)
    ]
    return bytearray(record_batch(records, BatchFields(), codec=codec))


def large():
    """Compressed, and more than 64 KB of it."""
    from odradek.sim.rng import SimRng

    noise = SimRng(1).stream("noise")
    records = [Record(number, b"k", noise.bytes(10_000), NOW) for number in range(10)]
    return bytearray(record_batch(records, BatchFields(), codec=compression.GZIP))


def test_a_large_compressed_batch_is_checked_in_a_job(plane):
    records = large()
    assert len(records) > 64 * 1024
    waiting = plane.send(plane.produce_request(records), 9)
    assert isinstance(waiting, Pending) and plane.log().log_end_offset == 0
    parts = plane.wait(waiting)
    answer = plane.decode(parts, plane.produce_request(records), 9).responses[0].partition_responses[0]
    assert (answer.error_code, answer.base_offset) == (0, 0)
    assert plane.log().log_end_offset == 10, "the frame was overwritten meanwhile"


def test_an_error_in_the_job_is_answered(plane):
    records = large()
    records[-100] ^= 1
    assert plane.produce(records=records).error_code == errors.CorruptMessage.code


def test_a_small_compressed_batch_is_not_a_job(plane):
    records = compressed(3)
    assert not isinstance(plane.send(plane.produce_request(records), 9), Pending)


def test_another_codec_is_rewritten_in_a_job(plane):
    plane.create_topic("z", compression_type="gzip")
    waiting = plane.send(plane.produce_request(batch(b"a" * 1000), topic="z"), 9)
    assert isinstance(waiting, Pending)
    plane.wait(waiting)
    data = plane.fetch_one("z").records
    assert data[ATTRIBUTES_OFFSET + 1] & 7 == compression.GZIP and len(data) < 200


@pytest.mark.contract("F17", "F18")
def test_a_partition_that_is_lost_while_its_records_are_checked(plane):
    waiting = plane.send(plane.produce_request(large()), 9)
    plane.delete_topic("t")
    answer = plane.decode(plane.wait(waiting), plane.produce_request(b""), 9).responses[0].partition_responses[0]
    assert answer.error_code == errors.NotLeaderOrFollower.code


def test_flush_messages_answers_when_it_is_on_disk(plane):
    plane.create_topic("f", flush_messages=1)
    waiting = plane.on_reactor(lambda: plane.send(plane.produce_request(batch(b"a"), topic="f", acks=1), 9))
    assert isinstance(waiting, Pending)
    log = plane.log("f")
    assert (log.log_end_offset, log.high_watermark, log.recovery_point) == (1, 0, 0), "not shown before it is durable"
    plane.wait(waiting)
    assert (log.high_watermark, log.recovery_point) == (1, 1)


def test_hints_at_the_leader(plane):
    from odradek.protocol.messages.metadata_brokers import BrokerEndpoint, RegisterBrokerRecord

    endpoint = BrokerEndpoint(name="PLAINTEXT", host="other", port=9092, security_protocol=0)
    plane.apply([RegisterBrokerRecord(broker_id=2, broker_epoch=1, end_points=[endpoint])])
    plane.create_topic("h", replicas=(1, 2), leader=2, leader_epoch=4)
    request = plane.produce_request(batch(b"a"), topic="h", version=10)
    response = plane.ask(request, 10)
    answer = response.responses[0].partition_responses[0]
    assert answer.error_code == errors.NotLeaderOrFollower.code
    assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (2, 4)
    assert [(node.node_id, node.host, node.port) for node in response.node_endpoints] == [(2, "other", 9092)]


def test_whoever_may_not_write_learns_nothing(plane):
    class Deny:
        def authorize(self, call, operation, resource_type, name):
            return False

    plane.services.authorizer = Deny()
    for topic in ("t", "nope"):
        answer = plane.produce("a", topic=topic)
        assert (answer.error_code, answer.log_start_offset) == (errors.TopicAuthorizationFailed.code, -1)
    assert not values(plane)


@pytest.mark.contract("F5", "F8")
def test_with_other_replicas_acks_all_waits_for_them(plane):
    plane.create_topic("r", replicas=(1, 2))
    waiting = plane.send(plane.produce_request(batch(b"a"), topic="r", timeout_ms=500), 9)
    assert isinstance(waiting, Pending)
    assert plane.replicas.purgatories["Produce"].size == 1
    assert plane.fetch_one("r", replica_id=2).records, "a follower sees what is not committed"
    plane.sleep(10)
    assert not waiting.is_done
    plane.fetch_one("r", offset=1, replica_id=2)
    answer = plane.decode(plane.wait(waiting), plane.produce_request(b""), 9).responses[0].partition_responses[0]
    assert answer.error_code == 0 and plane.log("r").high_watermark == 1
    assert plane.replicas.purgatories["Produce"].size == 0


@pytest.mark.contract("F10")
def test_the_timeout_of_a_write_ends_with_its_answer(plane):
    plane.create_topic("r", replicas=(1, 2))
    waiting = plane.send(plane.produce_request(batch(b"a"), topic="r", timeout_ms=500), 9)
    plane.fetch_one("r", offset=1, replica_id=2)
    assert plane.wait(waiting)
    plane.sleep(1000)
    assert plane.replicas.purgatories["Produce"].size == 0, "what is over must not be counted as over once more"


@pytest.mark.contract("F10")
def test_replicas_that_do_not_come_are_a_timeout(plane):
    plane.create_topic("r", replicas=(1, 2))
    began_ms = plane.loop.ports.clock.mono_ms()
    answer = plane.produce("a", topic="r", timeout_ms=500)
    assert answer.error_code == errors.RequestTimedOut.code
    assert plane.loop.ports.clock.mono_ms() - began_ms >= 500
    assert plane.partition("r").waiters is None or plane.partition("r").waiters == []


def test_a_lost_leadership_ends_the_wait(plane):
    plane.create_topic("r", replicas=(1, 2))
    waiting = plane.send(plane.produce_request(batch(b"a"), topic="r", timeout_ms=5000), 9)
    plane.partition("r").make_follower(2, 1, 1, plane.log("r"))
    answer = plane.decode(plane.wait(waiting), plane.produce_request(b""), 9).responses[0].partition_responses[0]
    assert answer.error_code == errors.NotLeaderOrFollower.code


def test_what_is_counted(plane):
    plane.produce("a", "b")
    list(plane.metrics)  # whoever reads them goes through them all
    find = plane.metrics.find
    assert find("kafka.server", "BrokerTopicMetrics", "MessagesInPerSec").count == 2
    assert find("kafka.server", "BrokerTopicMetrics", "MessagesInPerSec", {"topic": "t"}).count == 2
    assert find("kafka.server", "BrokerTopicMetrics", "BytesInPerSec").count == plane.log().size
    assert find("kafka.server", "BrokerTopicMetrics", "FailedProduceRequestsPerSec").count == 0


@pytest.mark.contract("F14", "J8")
def test_only_what_is_unexpected_counts_as_failed(plane):
    def failed(tags=None):
        found = plane.metrics.find("kafka.server", "BrokerTopicMetrics", "FailedProduceRequestsPerSec", tags)
        return 0 if found is None else found.count

    plane.produce("a", topic="nope")
    plane.produce("a", acks=2)
    plane.produce(records=batch(b"a" * 2_000_000))
    plane.produce(records=batch(b"a")[:-1])
    assert (failed(), failed({"topic": "t"})) == (0, 0)
    plane.produce("z", producer=7, sequence=9)
    plane.produce("a", producer=7, sequence=4, epoch=-1)
    plane.create_topic("c", cleanup_policy="compact")
    plane.produce(records=batch(b"a", key=None), topic="c")
    assert failed({"topic": "c"}) == 1
    assert failed() == failed({"topic": "t"}) + 1 >= 2


@pytest.mark.contract("J7")
def test_every_write_to_a_partition_counts_whatever_becomes_of_it(plane):
    plane.create_topic("__consumer_offsets", cleanup_policy="compact")
    plane.produce("a")
    plane.produce(records=batch(b"a" * 2_000_000))
    plane.produce("a", topic="__consumer_offsets")
    plane.partition().go_offline(DIR_FAILED)
    plane.produce("a")
    list(plane.metrics)
    assert plane.metrics.find("kafka.server", "BrokerTopicMetrics", "TotalProduceRequestsPerSec").count == 4


def test_a_topic_that_goes_leaves_its_counts_to_all_topics(plane):
    plane.produce("a", "b")
    list(plane.metrics)
    plane.produce("c")
    plane.replicas.drop(plane.partition().topic)
    list(plane.metrics)
    find = plane.metrics.find
    assert find("kafka.server", "BrokerTopicMetrics", "MessagesInPerSec").count == 3
    assert find("kafka.server", "BrokerTopicMetrics", "TotalProduceRequestsPerSec").count == 2
    assert find("kafka.server", "BrokerTopicMetrics", "MessagesInPerSec", {"topic": "t"}) is None


def test_an_error_for_all_has_every_partition():
    request = k00_produce.ProduceRequest(
        acks=1, topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(index=3, records=b"")])]
    )
    response = k00_produce.refuse(request, errors.UnknownServerError(), 9)
    answer = response.responses[0].partition_responses[0]
    assert (answer.index, answer.error_code, answer.base_offset) == (3, -1, -1)


@pytest.mark.parametrize(("size", "is_parked"), [(500_000, False), (2_000_000, True)])
def test_a_short_batch_that_holds_much_is_unpacked_in_a_job(size, is_parked):
    plane = SimPlane()
    plane.create_topic("t")
    bomb = bytearray(record_batch([Record(0, None, bytes(size), NOW)], BatchFields(), codec=compression.GZIP))
    assert len(bomb) < 4000
    request = plane.produce_request(bomb)
    answer = plane.on_reactor(lambda: plane.send(request, 9))
    assert isinstance(answer, Pending) == is_parked
    parts = plane.wait(answer) if is_parked else answer
    assert plane.decode(parts, request, 9).responses[0].partition_responses[0].error_code == 0
    assert plane.log().log_end_offset == 1
