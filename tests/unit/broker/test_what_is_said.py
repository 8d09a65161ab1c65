"""What a broker says of configs without effect, of what it waits for, and of what it stores and does not enforce."""

import pytest

from broker_clients import produce_request
from broker_kit import SimBroker, SimClient
from log_kit import batch
from odradek.broker.server_log import ServerLog
from odradek.broker.start_refused import StartRefused
from odradek.broker.start_waits import AGAIN_MS, FIRST_MS, StartWaits
from odradek.config.errors import ConfigError
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.protocol.messages.k30_create_acls import AclCreation, CreateAclsRequest
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
from odradek.protocol.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from odradek.protocol.uuids import format_uuid
from odradek.sim.crash import KEEP_ALL
from odradek.sim.world import World

EVERYBODY = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
SECURITY_DISABLED = 54


def started(properties=None, release="4.3", seed=1):
    broker = SimBroker(World(seed), release=release, properties=properties).wait_until_ready()
    return broker, SimClient(broker.world, "client", broker.address)


def warned(broker, words):
    return [line for line in broker.lines if words in line and line.startswith("WARN")]


# The start


def refusal(properties, release="4.3"):
    broker = SimBroker(World(1), release=release, properties=properties)
    with pytest.raises((StartRefused, ConfigError)) as refused:
        broker.wait_until_ready()
    return str(refused.value)


def test_several_voters_are_refused_with_what_to_set():
    line = refusal({"controller.quorum.voters": "1@a:9093,2@b:9093,3@c:9093"})
    assert "controller.quorum.voters names 3 voters" in line
    assert "set controller.quorum.voters=1@a:9093" in line


def test_protection_that_is_not_there_is_refused_before_anything_is_written():
    broker = SimBroker(World(1), properties={"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"})
    with pytest.raises(StartRefused, match="asks for protection that is not there"):
        broker.wait_until_ready()
    assert set(broker.node.disk.snapshot()) <= {"/data/.lock"}


def test_a_config_without_effect_is_told_in_the_log_and_to_whoever_starts():
    broker, _ = started({"num.replica.fetchers": "4"})
    assert len(warned(broker, "num.replica.fetchers=4 has no effect: one node replicates nothing")) == 1
    assert any("num.replica.fetchers" in line for line in broker.server.config_warnings)


# What was mended


def test_what_was_recovered_after_a_crash_is_told_once_a_dir():
    broker, client = started()
    client.ask(CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=3, replication_factor=1)]), 7)
    sent = bytes(batch(b"one"))
    client.ask(produce_request(("t", 1), sent, -1), 9)
    broker.crash(KEEP_ALL)
    log = "/data/t-1/00000000000000000000.log"
    broker.node.disk.write_atomically(log, broker.node.disk.read(log) + b"torn")
    broker.boot()
    broker.wait_until_ready()
    assert [line.partition("] ")[2] for line in broker.lines if "Recovered" in line] == [
        f"Recovered 3 logs of dir /data, which was not closed: {len(sent)} bytes were read, and 4 cut off at the ends"
    ]


def test_a_partition_whose_topic_id_is_not_its_topics_is_told_of():
    broker, client = started()
    client.ask(CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)]), 7)
    broker.world.run_for(1_000)
    broker.stop()
    path = "/data/t-0/partition.metadata"
    before, name, topic_id = broker.node.disk.read(path).partition(b"topic_id: ")
    other = (b"Z" if topic_id[:1] != b"Z" else b"Y") + topic_id[1:]
    broker.node.disk.write_atomically(path, before + name + other)
    broker.restart()
    (told,) = [line for line in broker.lines if "of which the metadata knows nothing" in line]
    assert "/data has partitions" in told and "-stray. They are kept" in told


def test_an_index_that_was_built_again_is_a_warning():
    broker, client = started()
    client.ask(CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)]), 7)
    client.ask(produce_request(("t", 0), bytes(batch(b"one")), -1), 9)
    broker.stop()
    broker.node.crash(silent=False)
    broker.node.disk.write_atomically("/data/t-0/00000000000000000000.timeindex", b"\xff" * 24)
    broker.boot()
    broker.wait_until_ready()
    log = "/data/t-0/00000000000000000000.log"
    assert len(warned(broker, f"The indexes of {log} were missing or damaged, and were built again from it")) == 1
    assert not [line for line in broker.lines if "Recovered" in line], "it was closed"


# Coordinators, and the reactor


def test_a_coordinator_says_once_and_under_its_own_name_what_it_has_loaded():
    share_state = "share.coordinator.state.topic"
    broker, client = started({f"{share_state}.replication.factor": "1", f"{share_state}.min.isr": "1"})
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    made = client.ask(CreateTopicsRequest(topics=[topic]), 7)
    shared = f"group:{format_uuid(made.topics[0].topic_id)}:0"
    for kind, key in ((0, "group"), (1, "transaction"), (2, shared)):
        asked = FindCoordinatorRequest(coordinator_keys=[key], key_type=kind)
        client.ask_until(asked, 6, lambda answer: not answer.coordinators[0].error_code)
    broker.stop()
    broker.node.crash(silent=False)
    first = len(broker.lines)
    broker.boot()
    broker.wait_until_ready()
    broker.world.run_for(1000)
    told = dict(zip(broker.loggers[first:], broker.lines[first:], strict=True))
    loaded = [line for line in broker.lines[first:] if "Finished loading" in line]
    assert len(loaded) == 3, "a line for each partition says no more"
    for topic, logger in {
        "__consumer_offsets": "org.apache.kafka.coordinator.group.GroupCoordinatorService",
        "__transaction_state": "kafka.coordinator.transaction.TransactionCoordinator",
        "__share_group_state": "org.apache.kafka.coordinator.share.ShareCoordinatorService",
    }.items():
        assert f" ms from 50 partitions of {topic}." in told[logger]


def test_a_long_turn_is_told_in_words_and_is_a_warning_only_for_one_that_serves():
    broker = SimBroker(World(1))
    server = broker.server
    server.slow_turn(60, broker.starting._resume)
    broker.wait_until_ready()
    server.slow_turn(60, server.broker.services.replicas.partition)
    server.slow_turn(60, lambda: None)
    server.slow_turn(60, None)
    took = "A turn of the reactor took 60 ms, "
    assert [line for line in broker.lines if took in line] == [
        f"INFO {took}most of it in KafkaRaftServer.start",
        f"WARN {took}most of it in ReplicaManager.partition",
        f"WARN {took}most of it in test_a_long_turn_is_told_in_words_and_is_a_warning_only_for_one_that_serves",
        f"WARN {took}in many short steps",
    ]


# Waiting


def test_a_wait_is_told_after_two_seconds_and_then_every_half_minute():
    world = World(1)
    loop = world.node("n").boot()
    logged, told = [], []
    log = ServerLog(loop.ports.clock.wall_ms, lambda at, level, line, name: logged.append((level, line)))
    progress = iter(["3 of 9", "6 of 9"])
    with StartWaits(loop, log.logger("n"), told.append).on(lambda: f"the logs: {next(progress)}"):
        world.run_for(FIRST_MS - 1)
        assert told == []
        world.run_for(2)
        assert told == ["still starting: waiting for the logs: 3 of 9"]
        world.run_for(AGAIN_MS)
    world.run_for(10 * AGAIN_MS)
    assert told == ["still starting: waiting for the logs: 3 of 9", "still starting: waiting for the logs: 6 of 9"]
    assert logged == [("WARN", line) for line in told]


@pytest.mark.parametrize(
    ("kind", "slow_ms", "what"),
    [
        ("fsync", 700, "the metadata log in /data to be read"),
        ("fsync", 700, "the controller to register this broker: it is registered with epoch "),
        ("fsync", 700, "the controller to unfence this broker: "),
        ("list", 2500, "the logs to be loaded: "),
        ("read", 1500, "the disk, to look at the log dirs"),
    ],
)
def test_a_start_on_a_slow_disk_says_what_it_waits_for(kind, slow_ms, what):
    broker, _ = started()
    broker.stop()
    broker.node.crash(silent=False)
    broker.node.disk.slow(kind, slow_ms * 1000)
    broker.boot()
    line = f"still starting: waiting for {what}"
    assert broker.world.run_until(lambda: warned(broker, line), 60_000), "\n".join(broker.lines)


def test_formatting_on_a_slow_disk_says_so():
    world = World(1)
    world.node("broker").disk.slow("fsync", 700_000)
    broker = SimBroker(world).wait_until_ready()
    assert warned(broker, "still starting: waiting for the disk, to format the log dirs")


def test_a_quick_start_says_nothing_of_waiting():
    broker, _ = started()
    assert warned(broker, "waiting for") == []


def test_a_voter_with_another_directory_is_not_waited_for():
    """A disk that was exchanged, or copied from another node."""
    broker, _ = started()
    broker.stop()
    path = "/data/meta.properties"
    text = broker.node.disk.read(path).decode()
    other = "directory.id=AAAAAAAAAAAAAAAAAAAABA"
    changed = "\n".join(other if line.startswith("directory.id=") else line for line in text.splitlines())
    broker.node.disk.write_atomically(path, f"{changed}\n".encode())
    with pytest.raises(
        StartRefused, match=r"The voters in the metadata log of /data are 1 \(directory .*\), and this is"
    ):
        broker.restart()


# Stored, and not enforced


def test_a_quota_is_told_of_once_for_each_kind_and_again_after_a_restart():
    broker, client = started()
    for user in ("a", "b"):
        entity = [EntityData(entity_type="user", entity_name=user)]
        ops = [OpData(key="producer_byte_rate", value=1024.0), OpData(key="request_percentage", value=50.0)]
        assert (
            client.ask(AlterClientQuotasRequest(entries=[EntryData(entity=entity, ops=ops)]), 1).entries[0].error_code
            == 0
        )
    for kind in ("producer_byte_rate", "request_percentage"):
        assert len(warned(broker, f"{kind} has no effect: quotas are stored, and not enforced yet")) == 1
    broker.stop()
    broker.restart()
    assert len(warned(broker, "producer_byte_rate has no effect")) == 2


def test_a_rate_of_the_broker_is_told_of():
    broker, client = started()
    config = AlterableConfig(name="leader.replication.throttled.rate", config_operation=0, value="1")
    resource = AlterConfigsResource(resource_type=4, resource_name="1", configs=[config])
    assert client.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses[0].error_code == 0
    assert len(warned(broker, "leader.replication.throttled.rate has no effect")) == 1


def acl():
    return CreateAclsRequest(
        creations=[
            AclCreation(
                resource_type=2,
                resource_name="t",
                resource_pattern_type=3,
                principal="User:mallory",
                host="*",
                operation=3,
                permission_type=2,
            )
        ]
    )


def test_an_acl_that_binds_nobody_is_told_of():
    broker, client = started(EVERYBODY)
    assert len(warned(broker, "forbids nothing")) == 1
    assert client.ask(acl(), 3).results[0].error_code == 0
    assert len(warned(broker, "ACLs are stored, and bind nobody")) == 1


def test_without_an_authorizer_there_are_no_acls_as_in_kafka():
    broker, client = started()
    assert client.ask(acl(), 3).results[0].error_code == SECURITY_DISABLED
    assert warned(broker, "ACLs") == []


def test_a_credential_that_nobody_can_log_in_with_is_told_of():
    broker, client = started()
    upsertion = ScramCredentialUpsertion(
        name="alice", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"x" * 32
    )
    answer = client.ask(AlterUserScramCredentialsRequest(deletions=[], upsertions=[upsertion]), 0)
    assert answer.results[0].error_code == 0
    assert len(warned(broker, "SCRAM-SHA-256 credentials are stored, but logins with SASL/SCRAM are not built")) == 1


def test_a_topic_config_without_effect_is_told_of_once():
    broker, client = started()
    for name in ("t", "u"):
        configs = [
            CreatableTopicConfig(name="preallocate", value="true"),
            CreatableTopicConfig(name="local.retention.ms", value="-2"),  # the default
        ]
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, configs=configs)
        assert client.ask(CreateTopicsRequest(topics=[topic]), 7).topics[0].error_code == 0
    assert warned(broker, "preallocate") == [
        "WARN [KafkaConfig id=1] Topic t: preallocate=true has no effect: no file is reserved before it is written"
    ]
    assert warned(broker, "local.retention.ms") == []
