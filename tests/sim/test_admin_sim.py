"""What an admin asks of a whole broker, and what becomes of it: on its disk, in its metadata, in what clients meet."""

from copy import deepcopy

import pytest

from broker_kit import SimBroker, SimClient
from log_kit import batch
from odradek.protocol import errors
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.k19_create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from odradek.protocol.messages.k20_delete_topics import DeleteTopicsRequest
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from odradek.protocol.messages.k33_alter_configs import AlterableConfig as LegacyConfig
from odradek.protocol.messages.k33_alter_configs import AlterConfigsRequest
from odradek.protocol.messages.k33_alter_configs import AlterConfigsResource as LegacyResource
from odradek.protocol.messages.k37_create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from odradek.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.messages.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from odradek.sim.world import World

TOPIC, BROKER = 2, 4
TRANSACTION = 1  # key type of FindCoordinator


@pytest.fixture(params=["3.3", "4.3"])
def broker(request):
    return SimBroker(World(seed=14), release=request.param).wait_until_ready()


@pytest.fixture
def client(broker):
    return SimClient(broker.world, "client", broker.address)


def create(name, partitions=1, *, validate_only=False, assignments=(), **configs):
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    topic.configs = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
    if assignments:
        topic.num_partitions = topic.replication_factor = -1
        topic.assignments = [
            CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in assignments
        ]
    return CreateTopicsRequest(topics=[topic], validate_only=validate_only, timeout_ms=10_000)


def more_partitions(name, count, *assignments, validate_only=False):
    topic = CreatePartitionsTopic(name=name, count=count)
    topic.assignments = [CreatePartitionsAssignment(broker_ids=ids) for ids in assignments] or None
    return CreatePartitionsRequest(topics=[topic], validate_only=validate_only, timeout_ms=10_000)


def alter(kind, name, config, value, *, validate_only=False):
    change = AlterableConfig(name=config, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=[change])
    return IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)


def produce(topic, records, *, transactional_id=None):
    data = [PartitionProduceData(index=0, records=bytes(records))]
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=data)])
    request.transactional_id = transactional_id
    return request


def error_of(response):
    return response.responses[0].partition_responses[0].error_code


# Validate only


def quota(key):
    entry = EntryData(entity=[EntityData(entity_type="user", entity_name="u")])
    entry.ops = [OpData(key=key, value=10.0)]
    return AlterClientQuotasRequest(entries=[entry], validate_only=True)


def legacy(config, value):
    resource = LegacyResource(resource_type=TOPIC, resource_name="t", configs=[LegacyConfig(name=config, value=value)])
    return AlterConfigsRequest(resources=[resource], validate_only=True)


VALIDATED = {  # a request that is right, one that is not and its error, the version, and where the codes stand
    "CreateTopics": (
        create("new", 3, validate_only=True),
        create("t", validate_only=True),
        (errors.TopicAlreadyExists, 5, "topics"),
    ),
    "CreatePartitions": (
        more_partitions("t", 5, validate_only=True),
        more_partitions("t", 1, validate_only=True),
        (errors.InvalidPartitions, 3, "results"),
    ),
    "IncrementalAlterConfigs": (
        alter(TOPIC, "t", "retention.ms", "5", validate_only=True),
        alter(TOPIC, "t", "retention.ms", "none", validate_only=True),
        (errors.InvalidConfig, 1, "responses"),
    ),
    "AlterConfigs": (
        legacy("retention.ms", "5"),
        legacy("retention.ms", "none"),
        (errors.InvalidConfig, 2, "responses"),
    ),
    "AlterClientQuotas": (
        quota("producer_byte_rate"),
        quota("no_such_rate"),
        (errors.InvalidRequest, 1, "entries"),
    ),
}


@pytest.mark.parametrize("name", VALIDATED)
def test_what_is_only_validated_changes_nothing(broker, client, name):
    good, bad, (error, version, where) = deepcopy(VALIDATED[name])
    assert client.ask(create("t", 2), 5).topics[0].error_code == 0
    broker.world.run_for(1000)

    def state():
        image = broker.server.shared.cache.image
        dirs = [each for each in broker.node.disk.list("/data") if "-" in each and not each.startswith("__")]
        return image.topics, image.configs, image.client_quotas, dirs

    before = state()
    assert getattr(client.ask(good, version), where)[0].error_code == 0
    assert getattr(client.ask(bad, version), where)[0].error_code == error.code
    broker.world.run_for(1000)
    assert state() == before
    good.validate_only = False
    assert getattr(client.ask(good, version), where)[0].error_code == 0
    broker.world.run_for(1000)
    assert state() != before, "the same request, meant"


# Manual assignment


def test_partitions_lie_where_they_were_assigned(broker, client):
    assert client.ask(create("t", assignments=[(0, [1]), (1, [1])]), 5).topics[0].error_code == 0
    assert client.ask(more_partitions("t", 3, [1]), 3).results[0].error_code == 0
    partitions = broker.server.shared.cache.topic("t").partitions
    assert {index: list(each.replicas) for index, each in partitions.items()} == {0: [1], 1: [1], 2: [1]}
    assert error_of(client.ask(produce("t", batch(b"v")), 9)) == 0


@pytest.mark.parametrize(
    "assignments", [[(0, [7])], [(0, [1, 1])], [(0, [1]), (2, [1])], [(0, [])]], ids=["unknown", "twice", "gap", "none"]
)
def test_an_assignment_that_cannot_be(broker, client, assignments):
    answer = client.ask(create("t", assignments=assignments), 5).topics[0]
    assert answer.error_code == errors.InvalidReplicaAssignment.code
    assert broker.server.shared.cache.topic("t") is None


def test_new_partitions_for_a_broker_that_is_not_there(broker, client):
    assert client.ask(create("t"), 5).topics[0].error_code == 0
    answer = client.ask(more_partitions("t", 2, [7]), 3).results[0]
    assert answer.error_code == errors.InvalidReplicaAssignment.code
    assert len(broker.server.shared.cache.topic("t").partitions) == 1


# Deletion


def test_a_deleted_topic_gives_its_bytes_back(broker, client):
    """An unlinked file that somebody has open takes its place all the same: nobody may."""
    disk = broker.node.disk
    disk.set_quota(1 << 30)

    def free():
        """But for what the metadata log has taken."""
        files = disk.snapshot().items()
        return disk.free_bytes("/data") + sum(len(content) for path, content in files if "__cluster" in path)

    broker.world.run_for(1000)
    free_before, open_before = free(), disk.open_files()
    assert client.ask(create("t", 3, segment_bytes=str(1 << 20)), 5).topics[0].error_code == 0
    for _ in range(20):
        assert error_of(client.ask(produce("t", batch(b"x" * 200_000)), 9)) == 0
    assert len([path for path in disk.snapshot() if "/t-0/" in path and path.endswith(".log")]) > 2
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(min_bytes=1, max_bytes=1 << 20, topics=[FetchTopic(topic="t", partitions=[asked])])
    assert client.ask(request, 12).responses[0].partitions[0].error_code == 0
    assert free_before - free() > 20 * 200_000
    answer = client.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=5000), 5)
    assert answer.responses[0].error_code == 0
    broker.world.run_for(180_000)
    assert not [path for path in disk.snapshot() if "/t-" in path or "delete" in path]
    assert free_before - free() < 1000
    assert disk.open_files() <= open_before


# Configs that change what a client meets


def test_without_verification_an_older_client_need_not_add_its_partitions():
    """transaction.partition.verification.enable, which is dynamic; a 3.3 has no such thing."""
    broker = SimBroker(World(seed=15)).wait_until_ready()
    client = SimClient(broker.world, "client", broker.address)
    assert client.ask(create("t"), 5).topics[0].error_code == 0
    find = FindCoordinatorRequest(key="x", key_type=TRANSACTION)
    client.ask_until(find, 3, lambda response: response.error_code == 0)
    init = InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=60_000)
    producer = client.ask_until(init, 4, lambda response: response.error_code == 0)
    records = batch(b"v", producer=producer.producer_id, epoch=producer.producer_epoch, transactional=True)
    request = produce("t", records, transactional_id="x")
    assert error_of(client.ask(request, 11)) == errors.TransactionAbortable.code
    assert error_of(client.ask(request, 9)) == errors.InvalidTxnState.code
    off = alter(BROKER, "", "transaction.partition.verification.enable", "false")
    assert client.ask(off, 1).responses[0].error_code == 0
    broker.world.run_for(100)
    assert error_of(client.ask(request, 9)) == 0


def test_down_conversion_can_be_switched_off_for_all_topics():
    """log.message.downconversion.enable; a 4.3 knows no reader that would need it."""
    broker = SimBroker(World(seed=16), release="3.3").wait_until_ready()
    client = SimClient(broker.world, "client", broker.address)
    assert client.ask(create("t"), 5).topics[0].error_code == 0
    assert error_of(client.ask(produce("t", batch(b"v")), 9)) == 0
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(min_bytes=1, topics=[FetchTopic(topic="t", partitions=[asked])])

    def fetch():
        return client.ask(request, 2).responses[0].partitions[0].error_code

    assert fetch() == 0
    off = alter(BROKER, "", "log.message.downconversion.enable", "false")
    assert client.ask(off, 1).responses[0].error_code == 0
    broker.world.run_for(100)
    assert fetch() == errors.UnsupportedVersion.code
