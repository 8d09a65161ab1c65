"""Faults on the APIs of groups and transactions: each in its own shape, and what was or was not carried out."""

import time
from itertools import count

import pytest
from wire import Wire

from odradek.protocol import errors
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest
from odradek.protocol.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from odradek.protocol.messages.k15_describe_groups import DescribeGroupsRequest
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from odradek.protocol.messages.k24_add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from odradek.protocol.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.protocol.messages.k26_end_txn import EndTxnRequest
from odradek.protocol.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from odradek.protocol.messages.k65_describe_transactions import DescribeTransactionsRequest
from odradek.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest
from odradek.testing import Broker

TRANSACTION = 1  # a key type
READY_S_MAX = 20
_numbers = count(1)


@pytest.fixture(scope="module")
def broker():
    config = {"offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1}
    with Broker(config=config, thread=True) as running:
        running.create_topic("a", 2)
        running.create_topic("b", 2)
        with Wire(running) as wire:
            _wait_for_coordinators(wire)
        yield running


def _wait_for_coordinators(wire):
    """Their topics are made when somebody first asks for them."""
    deadline = time.monotonic() + READY_S_MAX
    for key_type, ready in ((0, lambda: fetched_offset(wire, "none")), (TRANSACTION, lambda: init(wire, "first"))):
        while True:
            wire.ask(FindCoordinatorRequest(key="first", key_type=key_type), 3)
            try:
                ready()
                break
            except errors.KafkaError as error:
                assert error.retriable, error
                assert time.monotonic() < deadline, error
                time.sleep(0.01)


@pytest.fixture(autouse=True)
def _no_fault_is_left(broker):
    yield
    broker.faults.clear()


@pytest.fixture
def wire(broker):
    with Wire(broker) as client:
        yield client


# What the cases need


def fresh(kind):
    return f"{kind}-{next(_numbers)}"


def told(response):
    errors.raise_for(response.error_code)
    return response


def joined(wire, group):
    """The only member of a new generation."""
    return told(wire.ask(join(group), 3))


def join(group):
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=60_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=protocols,
    )


def described_group(wire, group):
    return wire.ask(DescribeGroupsRequest(groups=[group]), 0).groups[0]


def commit(group, *partitions, named=None):
    topics = [
        OffsetCommitRequestTopic(
            **(named(topic) if named else {"name": topic}),
            partitions=[OffsetCommitRequestPartition(partition_index=index, committed_offset=7)],
        )
        for topic, index in partitions
    ]
    return OffsetCommitRequest(group_id=group, topics=topics)


def fetch_offsets(group, *topics, require_stable=False):
    asked = [OffsetFetchRequestTopic(name=topic, partition_indexes=[0, 1]) for topic in topics]
    return OffsetFetchRequest(group_id=group, topics=asked, require_stable=require_stable)


def fetched_offset(wire, group):
    response = told(wire.ask(fetch_offsets(group, "a", require_stable=True), 7))
    partition = response.topics[0].partitions[0]
    errors.raise_for(partition.error_code)
    return partition.committed_offset


def init(wire, transactional_id):
    return told(wire.ask(InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000), 4))


def add_partitions(transactional_id, producer, *partitions):
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[index]) for topic, index in partitions],
    )


def transaction_state(wire, transactional_id):
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    return wire.ask(request, 0).transaction_states[0].transaction_state


def topic_id(wire, topic):
    return wire.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), 12).topics[0].topic_id


# One case per API: a request that succeeds, where its errors stand, and whether it was carried out


class Case:
    version: int
    is_seen = True  # whether anybody can tell that it was carried out

    def __init__(self, wire):
        """Prepares what the request needs."""

    def request(self):
        raise NotImplementedError

    def codes(self, response):
        return [response.error_code]

    def was_carried_out(self, wire):
        raise NotImplementedError


class JoinGroup(Case):
    version = 3

    def __init__(self, wire):
        self.group = fresh("group")

    def request(self):
        return join(self.group)

    def was_carried_out(self, wire):
        return len(described_group(wire, self.group).members) == 1


class SyncGroup(Case):
    version = 3

    def __init__(self, wire):
        self.group = fresh("group")
        self.member = joined(wire, self.group)

    def request(self):
        member_id = self.member.member_id
        return SyncGroupRequest(
            group_id=self.group,
            generation_id=self.member.generation_id,
            member_id=member_id,
            assignments=[SyncGroupRequestAssignment(member_id=member_id, assignment=b"mine")],
        )

    def was_carried_out(self, wire):
        return described_group(wire, self.group).group_state == "Stable"


class Heartbeat(SyncGroup):
    version = 4
    is_seen = False

    def __init__(self, wire):
        super().__init__(wire)
        told(wire.ask(SyncGroup.request(self), SyncGroup.version))

    def request(self):
        member = self.member
        return HeartbeatRequest(group_id=self.group, generation_id=member.generation_id, member_id=member.member_id)


class OffsetCommit(Case):
    version = 8

    def __init__(self, wire):
        self.group = fresh("group")

    def request(self):
        return commit(self.group, ("a", 0), ("b", 1))

    def codes(self, response):
        assert [topic.name for topic in response.topics] == ["a", "b"]
        return [partition.error_code for topic in response.topics for partition in topic.partitions]

    def was_carried_out(self, wire):
        return fetched_offset(wire, self.group) == 7


class OffsetFetch(Case):
    version = 8
    is_seen = False

    def request(self):
        return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=name, topics=None) for name in "xy"])

    def codes(self, response):
        assert [group.group_id for group in response.groups] == ["x", "y"]
        return [group.error_code for group in response.groups]


class FindCoordinator(Case):
    version = 4
    is_seen = False

    def request(self):
        return FindCoordinatorRequest(key_type=0, coordinator_keys=["x", "y"])

    def codes(self, response):
        assert [each.key for each in response.coordinators] == ["x", "y"]
        return [each.error_code for each in response.coordinators]


class InitProducerId(Case):
    version = 4

    def __init__(self, wire):
        self.transactional_id = fresh("transaction")

    def request(self):
        return InitProducerIdRequest(transactional_id=self.transactional_id, transaction_timeout_ms=60_000)

    def was_carried_out(self, wire):
        return init(wire, self.transactional_id).producer_epoch == 1  # the next one fences it


class AddPartitionsToTxn(Case):
    version = 3

    def __init__(self, wire):
        self.transactional_id = fresh("transaction")
        self.producer = init(wire, self.transactional_id)

    def request(self):
        return add_partitions(self.transactional_id, self.producer, ("a", 0), ("b", 1))

    def codes(self, response):
        topics = response.results_by_topic_v3_and_below
        assert [topic.name for topic in topics] == ["a", "b"]
        return [partition.partition_error_code for topic in topics for partition in topic.results_by_partition]

    def was_carried_out(self, wire):
        return transaction_state(wire, self.transactional_id) == "Ongoing"


class EndTxn(AddPartitionsToTxn):
    version = 3

    def __init__(self, wire):
        super().__init__(wire)
        assert super().codes(wire.ask(super().request(), super().version)) == [0, 0]

    def request(self):
        return EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer.producer_id,
            producer_epoch=self.producer.producer_epoch,
            committed=True,
        )

    def codes(self, response):
        return [response.error_code]

    def was_carried_out(self, wire):
        return transaction_state(wire, self.transactional_id) in ("PrepareCommit", "CompleteCommit")


class TxnOffsetCommit(Case):
    version = 3

    def __init__(self, wire):
        self.transactional_id, self.group = fresh("transaction"), fresh("group")
        self.producer = init(wire, self.transactional_id)
        told(wire.ask(AddOffsetsToTxnRequest(group_id=self.group, **self.ids()), 3))

    def ids(self):
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer.producer_id,
            "producer_epoch": self.producer.producer_epoch,
        }

    def request(self):
        partitions = [TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=7)]
        topics = [TxnOffsetCommitRequestTopic(name=name, partitions=partitions) for name in ("a", "b")]
        return TxnOffsetCommitRequest(group_id=self.group, topics=topics, **self.ids())

    def codes(self, response):
        assert [topic.name for topic in response.topics] == ["a", "b"]
        return [partition.error_code for topic in response.topics for partition in topic.partitions]

    def was_carried_out(self, wire):
        try:
            return fetched_offset(wire, self.group) == 7
        except errors.UnstableOffsetCommit:
            return True


class ConsumerGroupHeartbeat(Case):
    version = 1

    def __init__(self, wire):
        self.group = fresh("group")

    def request(self):
        return ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id="me",
            member_epoch=0,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=["a", "b"],
            topic_partitions=[],
        )

    def was_carried_out(self, wire):
        group = wire.ask(ConsumerGroupDescribeRequest(group_ids=[self.group]), 0).groups[0]
        return [member.subscribed_topic_names for member in group.members] == [["a", "b"]]


CASES = [
    JoinGroup,
    SyncGroup,
    Heartbeat,
    OffsetCommit,
    OffsetFetch,
    FindCoordinator,
    InitProducerId,
    AddPartitionsToTxn,
    EndTxn,
    TxnOffsetCommit,
    ConsumerGroupHeartbeat,
]
every_api = pytest.mark.parametrize("kind", CASES, ids=lambda kind: kind.__name__)
NOT_COORDINATOR = errors.NotCoordinator.code


@every_api
def test_an_error_stands_where_clients_look_and_nothing_is_carried_out(broker, wire, kind):
    case = kind(wire)
    fault = broker.faults.on(kind.__name__).error("NOT_COORDINATOR", times=1)
    refused = case.codes(wire.ask(case.request(), kind.version))
    assert set(refused) == {NOT_COORDINATOR}
    assert fault.hits == 1
    assert not (kind.is_seen and case.was_carried_out(wire))
    assert not any(case.codes(wire.ask(case.request(), kind.version))), "and the next one is as ever"


@every_api
def test_a_delay(broker, wire, kind):
    case = kind(wire)
    fault = broker.faults.on(kind.__name__).delay(50, times=1)
    started = time.monotonic()
    assert not any(case.codes(wire.ask(case.request(), kind.version)))
    assert time.monotonic() - started > 0.045
    assert fault.hits == 1
    assert not kind.is_seen or case.was_carried_out(wire)


@every_api
def test_a_disconnect_comes_first(broker, wire, kind):
    case = kind(wire)
    fault = broker.faults.on(kind.__name__).disconnect(times=1)
    assert wire.ask(case.request(), kind.version) is None
    assert fault.hits == 1
    with Wire(broker) as again:
        assert not (kind.is_seen and case.was_carried_out(again))


@every_api
def test_a_lost_response_comes_after(broker, wire, kind):
    case = kind(wire)
    fault = broker.faults.on(kind.__name__).drop_response(times=1, hang_ms=1)
    assert wire.ask(case.request(), kind.version) is None
    assert fault.hits == 1
    with Wire(broker) as again:
        assert not kind.is_seen or case.was_carried_out(again)


# One topic or partition of several


def test_one_topic_of_a_commit(broker, wire):
    group = fresh("group")
    broker.faults.on("OffsetCommit", topic="b").error("OFFSET_METADATA_TOO_LARGE")
    response = wire.ask(commit(group, ("a", 0), ("b", 0)), 8)
    assert {topic.name: topic.partitions[0].error_code for topic in response.topics} == {
        "a": 0,
        "b": errors.OffsetMetadataTooLarge.code,
    }
    assert fetched_offset(wire, group) == 7


def test_one_topic_of_a_commit_by_id(broker, wire):
    group, ids = fresh("group"), {topic: topic_id(wire, topic) for topic in "ab"}
    broker.faults.on("OffsetCommit", topic="b").error("OFFSET_METADATA_TOO_LARGE")
    request = commit(group, ("a", 0), ("b", 0), named=lambda topic: {"topic_id": ids[topic]})
    response = wire.ask(request, 10)
    assert {topic.topic_id: topic.partitions[0].error_code for topic in response.topics} == {
        ids["a"]: 0,
        ids["b"]: errors.OffsetMetadataTooLarge.code,
    }


UNSTABLE = errors.UnstableOffsetCommit.code


@pytest.mark.parametrize("version", [1, 2, 7])
def test_one_partition_of_a_group_whose_offsets_are_fetched(broker, wire, version):
    group = fresh("group")
    wire.ask(commit(group, ("a", 0), ("a", 1)), 8)
    broker.faults.on("OffsetFetch", topic="a", partition=1).error("UNSTABLE_OFFSET_COMMIT")
    response = wire.ask(fetch_offsets(group, "a", "b"), version)
    assert response.error_code == 0
    assert {
        (topic.name, each.partition_index): (each.error_code, each.committed_offset)
        for topic in response.topics
        for each in topic.partitions
    } == {("a", 0): (0, 7), ("a", 1): (UNSTABLE, -1), ("b", 0): (0, -1), ("b", 1): (0, -1)}


@pytest.mark.parametrize("version", [8, 10])
def test_one_topic_of_several_groups(broker, wire, version):
    asked = [OffsetFetchRequestTopics(name=name, topic_id=topic_id(wire, name), partition_indexes=[0]) for name in "ab"]
    groups = [OffsetFetchRequestGroup(group_id=name, topics=asked) for name in "xy"]
    broker.faults.on("OffsetFetch", topic="b").error("UNSTABLE_OFFSET_COMMIT")
    response = wire.ask(OffsetFetchRequest(groups=groups), version)
    found = [
        (group.error_code, [topic.partitions[0].error_code for topic in group.topics]) for group in response.groups
    ]
    assert found == [(0, [0, UNSTABLE])] * 2


def test_one_topic_of_a_transaction(broker, wire):
    case = TxnOffsetCommit(wire)
    broker.faults.on("TxnOffsetCommit", topic="b").error("UNKNOWN_TOPIC_OR_PARTITION")
    assert case.codes(wire.ask(case.request(), case.version)) == [0, errors.UnknownTopicOrPartition.code]
    assert case.was_carried_out(wire), "for the other one"

    case = AddPartitionsToTxn(wire)
    broker.faults.on("AddPartitionsToTxn", topic="b").error("UNKNOWN_TOPIC_OR_PARTITION")
    assert case.codes(wire.ask(case.request(), case.version)) == [0, errors.UnknownTopicOrPartition.code]


def test_a_request_with_one_error_for_all_its_topics_is_refused_as_a_whole(broker, wire):
    case = ConsumerGroupHeartbeat(wire)
    fault = broker.faults.on("ConsumerGroupHeartbeat", topic="b").error("TOPIC_AUTHORIZATION_FAILED", times=1)
    assert case.codes(wire.ask(case.request(), case.version)) == [errors.TopicAuthorizationFailed.code]
    assert fault.hits == 1
    assert not case.was_carried_out(wire)


@pytest.mark.parametrize("api", ["JoinGroup", "Heartbeat", "EndTxn", "FindCoordinator", "InitProducerId"])
def test_an_api_that_knows_no_topics(broker, api):
    with pytest.raises(ValueError, match=f"{api} requests name no topics"):
        broker.faults.on(api, topic="a")
    with pytest.raises(ValueError, match=f"{api} requests name no topics"):
        broker.faults.on(api, partition=0)
