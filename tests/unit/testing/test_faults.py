"""Faults on requests, seen by a client that is nothing but a socket."""

import time

import pytest
from wire import Wire, records

from odradek.handlers import table
from odradek.protocol import errors, registry, releases
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from odradek.protocol.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from odradek.testing import Broker, BrokerError

NOT_LEADER = errors.NotLeaderOrFollower.code
OUT_OF_RANGE = errors.OffsetOutOfRange.code
LATEST = -1


@pytest.fixture(scope="module")
def broker():
    with Broker(thread=True) as running:
        running.create_topic("a", 2)
        running.create_topic("b", 2)
        yield running


@pytest.fixture(autouse=True)
def _no_fault_is_left(broker):
    yield
    broker.faults.clear()


@pytest.fixture
def wire(broker):
    with Wire(broker) as client:
        yield client


def produce(*partitions, acks=1):
    """One record for each (topic, partition)."""
    topics = {}
    for topic, index in partitions:
        data = PartitionProduceData(index=index, records=records(b"one"))
        topics.setdefault(topic, []).append(data)
    topic_data = [TopicProduceData(name=name, partition_data=data) for name, data in topics.items()]
    return ProduceRequest(acks=acks, timeout_ms=5000, topic_data=topic_data)


def produced(response):
    return {(t.name, p.index): p.error_code for t in response.responses for p in t.partition_responses}


def end_offset(wire, topic, index):
    asked = ListOffsetsPartition(partition_index=index, timestamp=LATEST)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[asked])])
    return wire.ask(request, 5).topics[0].partitions[0].offset


def topic_id(wire, topic):
    response = wire.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), 12)
    return response.topics[0].topic_id


# Errors


def test_an_error_is_told_for_every_partition_and_nothing_is_written(broker, wire):
    before = end_offset(wire, "a", 0)
    fault = broker.faults.on("Produce").error("NOT_LEADER_OR_FOLLOWER", times=1)
    request = produce(("a", 0), ("a", 1), ("b", 0))
    assert produced(wire.ask(request, 9)) == {("a", 0): NOT_LEADER, ("a", 1): NOT_LEADER, ("b", 0): NOT_LEADER}
    assert end_offset(wire, "a", 0) == before
    assert produced(wire.ask(request, 9)) == {("a", 0): 0, ("a", 1): 0, ("b", 0): 0}
    assert fault.hits == 1


def test_an_error_of_one_topic_leaves_the_others_alone(broker, wire):
    before = end_offset(wire, "a", 0), end_offset(wire, "b", 0)
    broker.faults.on("Produce", topic="a").error(NOT_LEADER)
    assert produced(wire.ask(produce(("a", 0), ("b", 0)), 9)) == {("a", 0): NOT_LEADER, ("b", 0): 0}
    assert (end_offset(wire, "a", 0), end_offset(wire, "b", 0)) == (before[0], before[1] + 1)


def test_an_error_of_one_partition_leaves_its_topic_in_one_piece(broker, wire):
    before = end_offset(wire, "a", 0)
    broker.faults.on("Produce", topic="a", partition=1).error("NOT_LEADER_OR_FOLLOWER")
    response = wire.ask(produce(("a", 0), ("a", 1), ("b", 1)), 9)
    assert produced(response) == {("a", 0): 0, ("a", 1): NOT_LEADER, ("b", 1): 0}
    assert [topic.name for topic in response.responses] == ["a", "b"]
    assert end_offset(wire, "a", 0) == before + 1


def test_a_topic_is_known_by_its_id_too(broker, wire):
    broker.faults.on("Produce", topic="a").error("NOT_LEADER_OR_FOLLOWER")
    data = [PartitionProduceData(index=0, records=records(b"one"))]
    topics = [TopicProduceData(topic_id=topic_id(wire, name), partition_data=data) for name in ("a", "b")]
    response = wire.ask(ProduceRequest(acks=1, timeout_ms=5000, topic_data=topics), 13)
    told = {topic.topic_id: topic.partition_responses[0].error_code for topic in response.responses}
    assert told == {topics[0].topic_id: NOT_LEADER, topics[1].topic_id: 0}


def test_without_acks_an_error_closes_the_connection(broker, wire):
    broker.faults.on("Produce").error("NOT_LEADER_OR_FOLLOWER")
    assert wire.ask(produce(("a", 0), acks=0), 9) is None


def test_metadata_keeps_the_brokers_and_makes_no_topic(broker, wire):
    broker.faults.on("Metadata", topic="a").error("LEADER_NOT_AVAILABLE")
    response = wire.ask(MetadataRequest(topics=None), 12)
    told = {topic.name: (topic.error_code, bool(topic.partitions)) for topic in response.topics}
    assert told["a"] == (errors.LeaderNotAvailable.code, False)
    assert told["b"] == (0, True)
    assert [node.port for node in response.brokers] == [broker.port]

    broker.faults.on("Metadata", topic="new").error("LEADER_NOT_AVAILABLE", times=1)
    new = MetadataRequest(topics=[MetadataRequestTopic(name="new")], allow_auto_topic_creation=True)
    assert wire.ask(new, 12).topics[0].error_code == errors.LeaderNotAvailable.code
    broker.create_topic("new")  # which would be refused if it were there


def test_topics_created_and_configs_described(broker, wire):
    broker.faults.on("CreateTopics", topic="x").error("POLICY_VIOLATION")
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in ("x", "y")]
    response = wire.ask(CreateTopicsRequest(topics=topics, timeout_ms=5000), 7)
    assert {topic.name: topic.error_code for topic in response.topics} == {"x": errors.PolicyViolation.code, "y": 0}

    broker.faults.on("DescribeConfigs", topic="a").error("REQUEST_TIMED_OUT", times=1)
    request = DescribeConfigsRequest(resources=[DescribeConfigsResource(resource_type=2, resource_name="a")])
    assert wire.ask(request, 4).results[0].error_code == errors.RequestTimedOut.code
    assert wire.ask(request, 4).results[0].error_code == 0


SERVED = sorted(set(table.keys(releases.BROKER)) - {17, 36})  # SASL is no matter of this listener


@pytest.mark.parametrize("key", SERVED)
def test_every_api_answers_with_the_error_in_every_version(broker, wire, key):
    request = registry.request(key)()
    if key == 0:
        request.acks = 1
    fault = broker.faults.on(registry.request(key).__name__.removesuffix("Request")).error("REQUEST_TIMED_OUT")
    versions = table.accepted(releases.RELEASE_4_3, releases.BROKER, key)
    for version in versions:
        response = wire.ask(request, version)
        assert response is not None, f"version {version} closed the connection"
        if any(field.name == "error_code" and field.in_version(version) for field in type(response).fields):
            assert response.error_code in (errors.RequestTimedOut.code, 0 if key in (1, 3) else None)
    assert fault.hits == len(versions)


# Fetch


def fetch(topics, session_id=0, epoch=0, forgotten=(), **more):
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        session_id=session_id,
        session_epoch=epoch,
        topics=topics,
        forgotten_topics_data=list(forgotten),
        **more,
    )


def by_name(topic, *indexes):
    return FetchTopic(
        topic=topic, partitions=[FetchPartition(partition=i, partition_max_bytes=1 << 20) for i in indexes]
    )


def by_id(wire, topic, *indexes):
    found = by_name("", *indexes)
    found.topic_id = topic_id(wire, topic)
    return found


def fetched(response):
    return {(t.topic or t.topic_id, p.partition_index): p.error_code for t in response.responses for p in t.partitions}


@pytest.mark.parametrize("version", [4, 7, 12])
def test_a_fetch_error_belongs_to_its_partition(broker, wire, version):
    broker.faults.on("Fetch", topic="a", partition=1).error("OFFSET_OUT_OF_RANGE", times=1)
    response = wire.ask(fetch([by_name("a", 0, 1), by_name("b", 0)]), version)
    assert fetched(response) == {("a", 0): 0, ("a", 1): OUT_OF_RANGE, ("b", 0): 0}
    assert response.error_code == 0
    assert all(not p.records for t in response.responses for p in t.partitions)
    assert fetched(wire.ask(fetch([by_name("a", 1)]), version)) == {("a", 1): 0}


def test_a_fetch_in_a_session_is_about_partitions_that_it_does_not_name(broker, wire):
    a, b = by_id(wire, "a", 0), by_id(wire, "b", 0)
    opened = wire.ask(fetch([a, b]), 17)
    assert opened.session_id != 0
    fault = broker.faults.on("Fetch", topic="a").error("NOT_LEADER_OR_FOLLOWER", times=1)
    response = wire.ask(fetch([], opened.session_id, 1), 17)
    assert fetched(response) == {(a.topic_id, 0): NOT_LEADER, (b.topic_id, 0): 0}
    assert (response.error_code, response.session_id) == (0, 0)
    assert fault.hits == 1
    again = wire.ask(fetch([], opened.session_id, 2), 17)
    assert again.error_code == errors.FetchSessionIdNotFound.code, "the session has ended on both sides"
    assert wire.ask(fetch([a, b]), 17).session_id != 0


def test_a_partition_that_a_session_forgets_is_not_told(broker, wire):
    a, b = by_id(wire, "a", 0), by_id(wire, "b", 0)
    opened = wire.ask(fetch([a, b]), 17)
    broker.faults.on("Fetch").error("NOT_LEADER_OR_FOLLOWER", times=1)
    forgotten = [ForgottenTopic(topic_id=b.topic_id, partitions=[0])]
    assert fetched(wire.ask(fetch([], opened.session_id, 1, forgotten), 17)) == {(a.topic_id, 0): NOT_LEADER}


def test_an_error_of_sessions_is_told_for_the_whole_fetch(broker, wire):
    broker.faults.on("Fetch").error("FETCH_SESSION_ID_NOT_FOUND", times=1)
    response = wire.ask(fetch([by_id(wire, "a", 0)]), 17)
    assert (response.error_code, response.responses) == (errors.FetchSessionIdNotFound.code, [])


# The other faults


def test_a_delay_holds_its_connection_and_no_other(broker, wire):
    fault = broker.faults.on("ApiVersions", client_id="tester").delay(300, times=1)
    request = ApiVersionsRequest()
    with Wire(broker, client_id="other") as other:
        started = time.monotonic()
        wire.send(request, 0)
        other.ask(request, 0)
        others_wait_s = time.monotonic() - started
        assert wire.answer(request, 0).error_code == 0
    assert time.monotonic() - started > 0.29 > others_wait_s
    assert fault.hits == 1


def test_a_delayed_write_is_carried_out_as_it_was_sent(broker, wire):
    before = end_offset(wire, "b", 1)
    broker.faults.on("Produce", topic="b").delay(50, times=1)
    assert produced(wire.ask(produce(("b", 1)), 9)) == {("b", 1): 0}
    assert end_offset(wire, "b", 1) == before + 1


def test_a_disconnect_comes_before_the_request_is_carried_out(broker, wire):
    before = end_offset(wire, "a", 0)
    broker.faults.on("Produce").disconnect(times=1)
    assert wire.ask(produce(("a", 0)), 9) is None
    with Wire(broker) as again:
        assert end_offset(again, "a", 0) == before


def test_a_lost_response_follows_a_request_that_was_carried_out(broker, wire):
    before = end_offset(wire, "a", 0)
    broker.faults.on("Produce").drop_response(times=1, hang_ms=200)
    started = time.monotonic()
    wire.send(produce(("a", 0)), 9)
    wire.send(ApiVersionsRequest(), 0)
    assert wire.answer(ApiVersionsRequest(), 0) is None, "what follows a lost response is lost too"
    assert time.monotonic() - started > 0.19
    with Wire(broker) as again:
        assert end_offset(again, "a", 0) == before + 1


def test_a_lost_response_of_a_parked_fetch(broker, wire):
    broker.faults.on("Fetch").drop_response(times=1, hang_ms=1)
    end = FetchPartition(partition=0, fetch_offset=end_offset(wire, "a", 0), partition_max_bytes=1 << 20)
    waiting = fetch([FetchTopic(topic="a", partitions=[end])])
    waiting.max_wait_ms, waiting.min_bytes = 100, 1
    started = time.monotonic()
    assert wire.ask(waiting, 12) is None
    assert time.monotonic() - started > 0.09


# Which requests


def test_rules_act_one_after_the_other(broker, wire):
    first = broker.faults.on("ApiVersions").error("REQUEST_TIMED_OUT", times=1)
    second = broker.faults.on("ApiVersions").error("BROKER_NOT_AVAILABLE", times=2)
    hits = broker.faults.hits
    told = [wire.ask(ApiVersionsRequest(), 0).error_code for _ in range(4)]
    assert told == [errors.RequestTimedOut.code, errors.BrokerNotAvailable.code, errors.BrokerNotAvailable.code, 0]
    assert (first.hits, second.hits, broker.faults.hits - hits) == (1, 2, 3)


def test_a_fault_lasts_until_it_is_cleared(broker, wire):
    with broker.faults.on("ApiVersions").error("REQUEST_TIMED_OUT") as fault:
        assert all(wire.ask(ApiVersionsRequest(), 0).error_code for _ in range(5))
    assert wire.ask(ApiVersionsRequest(), 0).error_code == 0
    assert fault.hits == 5, "what it did stays known"


def test_other_topics_partitions_clients_and_apis_do_not_meet_it(broker, wire):
    faults = [
        broker.faults.on("Produce", topic="nowhere").disconnect(),
        broker.faults.on("Produce", topic="a", partition=1).disconnect(),
        broker.faults.on("Produce", client_id="other").disconnect(),
        broker.faults.on("Fetch").disconnect(),
    ]
    assert produced(wire.ask(produce(("a", 0)), 9)) == {("a", 0): 0}
    assert [fault.hits for fault in faults] == [0, 0, 0, 0]


def test_a_fault_shows_what_was_asked_for(broker):
    point = broker.faults.on("Produce", topic="a", partition=1, client_id="c")
    assert repr(point) == "<FaultPoint on Produce topic=a partition=1 client_id=c>"
    fault = point.error("NOT_LEADER_OR_FOLLOWER", times=3)
    assert repr(fault) == "<Fault on Produce topic=a partition=1 client_id=c error=NOT_LEADER_OR_FOLLOWER times=3>"
    assert repr(broker.faults.on("Fetch").delay(5)) == "<Fault on Fetch delay_ms=5>"
    assert repr(broker.faults.on("Fetch").drop_response(1)) == "<Fault on Fetch drop_response hang_ms=500 times=1>"
    assert repr(broker.faults.on("Fetch").drop_response(1, hang_ms=None)) == "<Fault on Fetch drop_response times=1>"


def test_mistakes_are_told_at_once(broker):
    with pytest.raises(ValueError, match="Prodoose"):
        broker.faults.on("Prodoose")
    with pytest.raises(ValueError, match="NO_SUCH"):
        broker.faults.on("Produce").error("NO_SUCH")
    with pytest.raises(ValueError, match="0 is none"):
        broker.faults.on("Produce").error(0)
    with pytest.raises(TypeError, match="topic is a string, not 3"):
        broker.faults.on("Produce", topic=3)
    with pytest.raises(TypeError, match="client_id is a string, not 7"):
        broker.faults.on("Produce", client_id=7)
    with pytest.raises(ValueError, match="delay"):
        broker.faults.on("Produce").delay(0)
    with pytest.raises(ValueError, match="times"):
        broker.faults.on("Produce").disconnect(times=-1)
    with pytest.raises(ValueError, match="delay_ms is a whole number and at least 0, not '5'"):
        broker.faults.on("Produce").delay("5")
    with pytest.raises(ValueError, match="partition is a whole number"):
        broker.faults.on("Produce", partition="0")
    with pytest.raises(BrokerError, match="TOPIC_ALREADY_EXISTS"):
        broker.create_topic("a")
