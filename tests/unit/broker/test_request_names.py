"""Under which names a broker tells of its requests, and which errors it counts in their answers."""

import pytest

from broker_kit import SimBroker, SimClient, Waiting
from log_kit import batch
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.k24_add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTransaction
from odradek.sim.world import World

PRODUCE, FETCH = 9, 12


@pytest.fixture
def broker():
    broker = SimBroker(World(seed=8)).wait_until_ready()
    new = CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=2, replication_factor=1)])
    assert SimClient(broker.world, "maker", broker.address).ask(new, 5).topics[0].error_code == 0
    return broker


@pytest.fixture
def client(broker):
    return SimClient(broker.world, "client", broker.address)


def found(broker, name, **tags):
    list(broker.server.shared.metrics)
    return broker.server.shared.metrics.find("kafka.network", "RequestMetrics", name, tags)


def errors(broker, request):
    """How often each error was answered."""
    told = {}
    for name, metric in broker.server.shared.metrics:
        tags = dict(name.tags)
        if name.name == "ErrorsPerSec" and tags["request"] == request:
            told[tags["error"]] = metric.count
    return told


def fetch(*topics, offset=0, version=FETCH, replica_id=-1, max_wait_ms=0):
    asked = [FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)]
    request = FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, session_epoch=-1)
    request.topics = [FetchTopic(topic=topic, partitions=asked) for topic in topics]
    if version >= 15:
        request.replica_state = ReplicaState(replica_id=replica_id)
    else:
        request.replica_id = replica_id
    return request


def produce(*partitions, topic="t", acks=1):
    data = [PartitionProduceData(index=partition, records=bytes(batch(b"v"))) for partition in partitions]
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=data)])


# Names


@pytest.mark.parametrize("version", [4, 12, 14])
def test_a_fetch_is_told_by_its_replica_id_too(broker, client, version):
    for _ in range(3):
        client.ask(fetch("t", version=version), version)
    client.ask(fetch("t", version=version, replica_id=7), version)  # as long as those before it
    client.ask(fetch("t", version=version), version)
    counts = {
        name: found(broker, "RequestsPerSec", request=name, version=str(version)).count
        for name in ("Fetch", "FetchConsumer", "FetchFollower")
    }
    assert counts == {"Fetch": 5, "FetchConsumer": 4, "FetchFollower": 1}


def test_requests_of_both_kinds_that_are_read_at_once(broker, client):
    """Requests of one API, version and length are counted together: not these."""
    waiting = [client.send(fetch("t", replica_id=number % 2 - 1), FETCH) for number in range(20)]
    for each in waiting:
        client.wait(each)
    for name in ("FetchConsumer", "FetchFollower"):
        assert found(broker, "RequestsPerSec", request=name, version=str(FETCH)).count == 10
        assert found(broker, "RequestBytes", request=name).count == 10
        assert found(broker, "TotalTimeMs", request=name).count == 10
    assert found(broker, "TotalTimeMs", request="Fetch").count == 20


def test_from_version_15_on_the_replica_id_is_a_tag(broker, client):
    topic_id = broker.server.shared.cache.topic("t").id
    for replica_id in (-1, 3):
        request = fetch("", version=17, replica_id=replica_id)
        request.topics[0].topic_id = topic_id
        client.ask(request, 17)
    assert found(broker, "RequestsPerSec", request="FetchConsumer", version="17").count == 1
    assert found(broker, "RequestsPerSec", request="FetchFollower", version="17").count == 1


def test_the_wait_of_a_consumer_is_not_the_wait_of_a_follower(broker, client):
    client.ask(fetch("t", replica_id=1), FETCH)
    client.ask(fetch("t", max_wait_ms=400), FETCH)
    assert 350 <= found(broker, "RemoteTimeMs", request="FetchConsumer").maximum <= 500
    assert 350 <= found(broker, "RemoteTimeMs", request="Fetch").maximum <= 500
    assert found(broker, "RemoteTimeMs", request="FetchFollower").maximum < 100


def test_a_verification_is_no_adding_of_partitions(broker, client):
    for verify_only in (True, False):
        transaction = AddPartitionsToTxnTransaction(transactional_id="x", verify_only=verify_only)
        client.ask(AddPartitionsToTxnRequest(transactions=[transaction]), 4)
    assert found(broker, "RequestsPerSec", request="AddPartitionsToTxnVerification", version="4").count == 1
    assert found(broker, "RequestsPerSec", request="AddPartitionsToTxn", version="4").count == 1


# Errors


@pytest.mark.contract("E45", "J6")
def test_every_code_of_an_answer_counts(broker, client):
    client.ask(MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in ("t", "no", "a b")]), 9)
    # t and its two partitions; Metadata has no code of its own before version 13
    assert errors(broker, "Metadata") == {"NONE": 3, "UNKNOWN_TOPIC_OR_PARTITION": 1, "INVALID_TOPIC_EXCEPTION": 1}


@pytest.mark.parametrize("acks", [1, -1])
def test_errors_of_produce_requests(broker, client, acks):
    """The straight way, the long one, and what is refused as a whole."""
    for _ in range(3):
        client.ask(produce(0, acks=acks), PRODUCE)
    client.ask(produce(0, 1, acks=acks), PRODUCE)
    client.ask(produce(0, 5, acks=acks), PRODUCE)
    client.ask(produce(0, topic="no", acks=acks), PRODUCE)
    assert errors(broker, "Produce") == {"NONE": 6, "UNKNOWN_TOPIC_OR_PARTITION": 2}
    client.ask(produce(0, acks=5), PRODUCE)
    assert errors(broker, "Produce")["INVALID_REQUIRED_ACKS"] == 1


def test_an_append_that_the_log_refuses_counts_once(broker, client):
    request = produce(0)
    records = bytearray(request.topic_data[0].partition_data[0].records)
    records[-1] ^= 1
    request.topic_data[0].partition_data[0].records = bytes(records)
    client.ask(request, PRODUCE)
    assert errors(broker, "Produce") == {"CORRUPT_MESSAGE": 1}


def test_errors_of_fetches(broker, client):
    """Each has a code of its own beside those of its partitions."""
    client.ask(produce(0), PRODUCE)
    client.ask(fetch("t"), FETCH)
    client.ask(fetch("t", "no"), FETCH)
    client.ask(fetch("t", offset=99), FETCH)
    client.ask(fetch("t", offset=1, max_wait_ms=100), FETCH)
    assert errors(broker, "Fetch") == {
        "NONE": 2 + 2 + 1 + 2,
        "UNKNOWN_TOPIC_OR_PARTITION": 1,
        "OFFSET_OUT_OF_RANGE": 1,
    }


def test_errors_of_answers_that_waited_and_of_a_version_that_is_none(broker, client):
    assert errors(broker, "CreateTopics") == {"NONE": 1}
    client.ask(CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)]), 5)
    assert errors(broker, "CreateTopics") == {"NONE": 1, "TOPIC_ALREADY_EXISTS": 1}
    client.ask(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3)
    of_the_future = b"\x00\x12\x00\x63\x00\x00\x00\x09\xff\xff\x00"
    client.wait(client.send_bytes(of_the_future, Waiting(ApiVersionsRequest(), 0, client.loop)))
    assert errors(broker, "ApiVersions") == {"NONE": 1, "UNSUPPORTED_VERSION": 1}
