"""Configs that change while a broker runs: the effect of every one that Kafka can change, or the word that it has none.

The broker is whole and runs in a simulation; what is changed goes the way that the metadata log's records go.
"""

import json
from pathlib import Path

import pytest

from broker_kit import SimBroker, SimClient
from odradek.broker.start_refused import StartRefused
from odradek.config import topic
from odradek.config.broker import TABLE
from odradek.config.definition import RELEASES
from odradek.log.config import LogConfig
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.messages.metadata_topics import ConfigRecord
from odradek.replicated.decision import Decision
from odradek.security.mechanism import SaslAuthenticationFailed
from odradek.sim.world import World

DATA = Path(__file__).parents[2] / "golden" / "data"
VERSIONS = {"3.3": "3.3.2", "4.3": "4.3.0"}


def golden(release):
    return json.loads((DATA / f"configs-{VERSIONS[release]}.json").read_text())["broker"]


def dynamic_in_kafka(release):
    configs = golden(release)
    rows = configs.items() if isinstance(configs, dict) else ((row["name"], row) for row in configs)
    return sorted(name for name, row in rows if row.get("update_mode") not in (None, "read-only"))


class Context:
    """In the place of OpenSSL's: it shows what it was made of."""

    def __init__(self, settings):
        self.settings = settings


LISTENERS = {
    "listeners": "PLAINTEXT://:9092,SASL_SSL://:9094,SSL://:9095,CONTROLLER://:9093",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL,CONTROLLER:PLAINTEXT",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": "/first.pem",
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": "/trusted.pem",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required user_a="b";',
}


@pytest.fixture(scope="module")
def brokers():
    return {
        release: SimBroker(World(seed=5), release=release, properties=LISTENERS, tls=Context).wait_until_ready()
        for release in RELEASES
    }


@pytest.fixture
def broker(request, brokers):
    return brokers[getattr(request, "param", "4.3")]


@pytest.fixture
def change(broker):
    """Sets configs for all brokers as the metadata log would; everything is as before when the test is over."""
    configs = broker.server.shared.configs

    def change(**for_all):
        configs.update({name.replace("_", "."): value for name, value in for_all.items()}, {})

    yield change
    configs.update({}, {})


# What to set, where it shows, and how.


def parts(broker):
    return broker.server.broker


def quotas(broker):
    return parts(broker).socket_server.quotas


def cleaner(broker):
    return parts(broker).logs.cleaner._config


def tls(broker):
    return parts(broker).socket_server.listeners["SSL"].plan.tls.settings


def mechanisms(broker):
    """What a connection that comes now may choose from."""
    return parts(broker).socket_server.listeners["SASL_SSL"].plan.make_authenticator(None, None)._mechanisms


def lets_in(broker, user, password):
    try:
        mechanisms(broker)["PLAIN"].server().evaluate(f"\0{user}\0{password}".encode())
    except SaslAuthenticationFailed:
        return False
    return True


SUITES = (
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
)

EFFECTS = {
    "ssl.keystore.location": ("/second.pem", lambda broker: tls(broker).keystore_path, "/second.pem"),
    "ssl.client.auth": ("required", lambda broker: tls(broker).client_auth, "required"),
    "sasl.enabled.mechanisms": (
        "PLAIN,SCRAM-SHA-256",
        lambda broker: sorted(mechanisms(broker)),
        ["PLAIN", "SCRAM-SHA-256"],
    ),
    "sasl.jaas.config": (
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_c="d";',
        lambda broker: (lets_in(broker, "a", "b"), lets_in(broker, "c", "d")),
        (False, True),
    ),
    "ssl.keystore.key": ("KEY", lambda broker: tls(broker).key, "KEY"),
    "ssl.keystore.certificate.chain": ("CHAIN", lambda broker: tls(broker).certificate_chain, "CHAIN"),
    "ssl.key.password": ("secret", lambda broker: tls(broker).key_password, "secret"),
    "ssl.truststore.location": ("/trust.pem", lambda broker: tls(broker).truststore_path, "/trust.pem"),
    "ssl.truststore.certificates": ("TRUST", lambda broker: tls(broker).trusted_certificates, "TRUST"),
    "ssl.cipher.suites": (",".join(SUITES), lambda broker: tls(broker).cipher_suites, SUITES),
    "ssl.enabled.protocols": ("TLSv1.3", lambda broker: tls(broker).protocols, ("TLSv1.3",)),
    "group.consumer.assignment.interval.ms": (
        "70",
        lambda broker: broker.server.broker.services.groups._consumer_config.assignment_interval_ms({}),
        70,
    ),
    "group.share.assignment.interval.ms": (
        "72",
        lambda broker: broker.server.broker.services.groups._share_config.assignment_interval_ms({}),
        72,
    ),
    "group.streams.assignment.interval.ms": (
        "74",
        lambda broker: broker.server.broker.services.groups._streams_config.assignment_interval_ms({}),
        74,
    ),
    "transaction.partition.verification.enable": (
        "false",
        lambda broker: parts(broker).replicas.verifies_transactions,
        False,
    ),
    "num.io.threads": ("3", lambda broker: broker.node.executor.workers, 3),
    "num.network.threads": ("5", lambda broker: len(parts(broker).socket_server.listeners["PLAINTEXT"].processors), 5),
    "max.connections": ("17", lambda broker: quotas(broker).max_connections, 17),
    "max.connections.per.ip": ("18", lambda broker: quotas(broker).max_per_address, 18),
    "max.connections.per.ip.overrides": (
        "10.0.0.9:3",
        lambda broker: quotas(broker).per_address_overrides,
        {"10.0.0.9": 3},
    ),
    "max.connection.creation.rate": ("19", lambda broker: quotas(broker).rate.limit, 19),
    "cordoned.log.dirs": ("/data", lambda broker: parts(broker).logs.dirs.cordoned, frozenset(["/data"])),
    "num.recovery.threads.per.data.dir": ("3", lambda broker: parts(broker).logs.config.recovery_threads_per_dir, 3),
    "producer.id.expiration.ms": ("1000", lambda broker: parts(broker).logs.config.producer_id_expiration_ms, 1000),
    "log.cleaner.threads": ("3", lambda broker: cleaner(broker).threads, 3),
    "log.cleaner.io.max.bytes.per.second": ("9999", lambda broker: cleaner(broker).io_max_bytes_per_second, 9999),
    "log.cleaner.dedupe.buffer.size": ("33554432", lambda broker: cleaner(broker).dedupe_buffer_size, 33554432),
    "log.cleaner.io.buffer.size": ("131072", lambda broker: cleaner(broker).io_buffer_size, 131072),
    "log.cleaner.io.buffer.load.factor": ("0.5", lambda broker: cleaner(broker).io_buffer_load_factor, 0.5),
    "log.cleaner.backoff.ms": ("77", lambda broker: cleaner(broker).backoff_ms, 77),
}

STORE_TYPES = ("ssl.keystore.type", "ssl.truststore.type")
OF_THE_CONTROLLER = ("unclean.leader.election.enable",)
CHECKED = ("sasl.mechanism.inter.broker.protocol",)  # against the mechanisms on offer

# Those that a topic inherits: each log's own snapshot changes.
INHERITED = {
    "log.cleanup.policy": ("compact", ("compact",)),
    "compression.type": ("zstd", "zstd"),
    "compression.gzip.level": ("5", 5),
    "compression.lz4.level": ("5", 5),
    "compression.zstd.level": ("5", 5),
    "log.message.timestamp.type": ("LogAppendTime", "LogAppendTime"),
    "log.cleaner.min.cleanable.ratio": ("0.25", 0.25),
    "min.insync.replicas": ("2", 2),
    "log.segment.bytes": ("2000000", 2000000),
    "log.message.downconversion.enable": ("false", False),
}
ANY_NUMBER = ("123456", 123456)


def log_config_field(name):
    """The attribute of a LogConfig that holds what this broker config stands in for."""
    for row in topic.TABLE.rows.values():
        if any(synonym.name == name for synonym in row.synonyms):
            return next((key for key, declared in LogConfig._fields.items() if declared.name == row.name), None)
    return None


@pytest.mark.parametrize("release", RELEASES)
def test_every_config_that_kafka_can_change_has_an_effect_or_says_that_it_has_none(release):
    for name in dynamic_in_kafka(release):
        row = TABLE.at(release).get(name)
        assert row is not None and row.is_dynamic, name
        has_effect = name in (*EFFECTS, *STORE_TYPES, *OF_THE_CONTROLLER, *CHECKED)
        has_effect = has_effect or log_config_field(name) is not None
        assert row.served == has_effect, f"{name}: {row.not_served or 'is said to be served, and no test shows it'}"


def in_both(names):
    """Each config with each release that has it."""
    pairs = [(release, name) for name in names for release in RELEASES if name in TABLE.at(release)]
    return pytest.mark.parametrize(("broker", "name"), pairs, indirect=["broker"])


@pytest.mark.contract("D43", "I19")
@in_both(EFFECTS)
def test_effect_of(broker, change, name):
    value, look, expected = EFFECTS[name]
    before = look(broker)
    assert before != expected, "the test would show nothing"
    change(**{name.replace(".", "_"): value})
    assert look(broker) == expected
    change()
    assert look(broker) == before, "a config that is taken back is what it was"


@in_both(name for name, row in TABLE.rows.items() if row.is_dynamic and row.served and log_config_field(name))
def test_what_a_topic_inherits(broker, change, name):
    value, expected = INHERITED.get(name, ANY_NUMBER)
    field = log_config_field(name)

    def look():
        return getattr(parts(broker).logs.topic_configs.of("any"), field)

    before = look()
    assert before != expected, "the test would show nothing"
    change(**{name.replace(".", "_"): value})
    assert look() == expected
    change()
    assert look() == before


@in_both(STORE_TYPES)
def test_stores_of_java_are_refused_and_the_old_one_stays(broker, change, name):
    before = tls(broker)
    change(**{name.replace(".", "_"): "JKS"})
    assert tls(broker) == before
    assert any(name in line and "PEM" in line for line in broker.lines)


@pytest.mark.parametrize("release", RELEASES)
def test_the_controller_hears_of_unclean_elections(release):
    broker = SimBroker(World(seed=6), release=release).wait_until_ready()
    client = SimClient(broker.world, "client", broker.address)
    client.ask(CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)]), 5)
    core = broker.server.controller.controller.core
    topic_id = core.topics.by_name["t"].id
    assert not core.is_unclean_election_enabled(topic_id)
    set_for_all(client, "unclean.leader.election.enable", "true")
    assert core.is_unclean_election_enabled(topic_id)


def set_for_all(client, name, value, broker=""):
    """The code and the words of the answer."""
    config = AlterableConfig(name=name, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=4, resource_name=broker, configs=[config])
    answer = client.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses[0]
    return answer.error_code, answer.error_message


@pytest.mark.parametrize("release", RELEASES)
def test_the_mechanism_between_brokers_must_be_on_offer(release):
    between = {"inter.broker.listener.name": "SASL_SSL", "sasl.mechanism.inter.broker.protocol": "PLAIN"}
    properties = {**LISTENERS, **between}
    broker = SimBroker(World(seed=9), release=release, properties=properties, tls=Context).wait_until_ready()
    configs = broker.server.shared.configs
    configs.update({}, {"sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256"})
    assert configs.config["sasl.mechanism.inter.broker.protocol"] == "PLAIN"
    assert any("sasl.enabled.mechanisms must have the mechanism" in line for line in broker.lines)


# What has no effect, and what asks for protection that is not there


def test_a_change_without_effect_is_a_warning_once():
    broker = SimBroker(World(seed=7)).wait_until_ready()
    client = SimClient(broker.world, "client", broker.address)
    assert set_for_all(client, "num.replica.fetchers", "2") == (0, None)
    assert set_for_all(client, "num.io.threads", "9") == (0, None)
    told = [line for line in broker.lines if "num.replica.fetchers" in line]
    assert len(told) == 1 and "WARN" in told[0], told
    assert "num.replica.fetchers=2 has no effect: one node replicates nothing" in told[0]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("listener.name.ssl.ssl.keystore.type", "JKS", "only PEM is read"),
        ("listener.name.ssl.ssl.truststore.type", "PKCS12", "only PEM is read"),
        ("listener.name.ssl.ssl.engine.factory.class", "org.example.Engine", "TLS is OpenSSL's"),
        ("listener.name.ssl.ssl.provider", "BCFIPS", "TLS is OpenSSL's"),
        ("listener.name.ssl.ssl.cipher.suites", "TLS_AES_256_GCM_SHA384", "leaves out TLS_CHACHA20_POLY1305_SHA256"),
        ("listener.name.sasl_ssl.sasl.enabled.mechanisms", "SCRAM-SHA-512", "only PLAIN is built"),
        ("principal.builder.class", "org.example.Names", "callers would go by other names"),
    ],
)
def test_a_running_broker_does_not_take_protection_that_is_not_there(broker, name, value, told):
    client = SimClient(broker.world, "client", broker.address)
    code, words = set_for_all(client, name, value, broker="1")
    assert code == 42 and told in words, words
    assert broker.server.shared.cache.image.configs.of(4, "1") == {}


def test_protection_that_another_broker_has_set_keeps_this_one_from_starting():
    broker = SimBroker(World(seed=8), properties=LISTENERS, tls=Context).wait_until_ready()
    record = ConfigRecord(resource_type=4, resource_name="1", name="principal.builder.class", value="org.example.Names")
    writing = broker.server.controller.controller.run(lambda core: Decision(core.versioned([record]), None))
    assert broker.world.run_until(lambda: writing.is_done, 5000)
    broker.stop()
    with pytest.raises(StartRefused, match=r"principal\.builder\.class=org\.example\.Names asks for protection"):
        broker.restart()


@pytest.mark.contract("D22", "H30", "H36")
def test_this_brokers_own_value_hides_that_of_all(broker, change):
    configs = broker.server.shared.configs
    configs.update({"num.io.threads": "3"}, {"num.io.threads": "5"})
    assert broker.node.executor.workers == 5
    configs.update({"num.io.threads": "3"}, {})
    assert broker.node.executor.workers == 3
    assert configs.current.config["num.io.threads"] == 3


def test_a_bad_value_is_left_out_and_the_others_hold(broker, change):
    change(num_io_threads="none", num_network_threads="4", nonsense="1", node_id="7")
    assert broker.server.shared.config["num.io.threads"] == 8
    assert broker.server.shared.config["num.network.threads"] == 4
    assert broker.server.shared.config["node.id"] == 1, "what is read-only stays as the file has it"
    assert any("num.io.threads" in line for line in broker.lines)


def test_a_limit_of_one_listener(broker, change):
    change(listener_name_plaintext_max_connections="7")
    assert quotas(broker).listener_max["PLAINTEXT"] == 7
    assert quotas(broker).max_connections != 7
    change()
    assert quotas(broker).listener_max["PLAINTEXT"] == quotas(broker).listener_max["SSL"], "and it may be taken back"
