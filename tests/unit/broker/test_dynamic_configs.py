"""Configs that change while a broker runs: the effect of every one that Kafka can change, or the word that it has none.

The broker is whole and runs in a simulation; what is changed goes the way that the metadata log's records go.
"""

import json
from pathlib import Path

import pytest
from broker_kit import SimBroker

from odradek.config import topic
from odradek.config.broker import TABLE
from odradek.config.definition import RELEASES
from odradek.log.config import LogConfig
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
    "ssl.cipher.suites": ("TLS_X", lambda broker: tls(broker).cipher_suites, ("TLS_X",)),
    "ssl.enabled.protocols": ("TLSv1.3", lambda broker: tls(broker).protocols, ("TLSv1.3",)),
    "group.consumer.assignment.interval.ms": (
        "70",
        lambda broker: broker.server.shared.services.groups._consumer_config.assignment_interval_ms({}),
        70,
    ),
    "group.share.assignment.interval.ms": (
        "72",
        lambda broker: broker.server.shared.services.groups._share_config.assignment_interval_ms({}),
        72,
    ),
    "group.streams.assignment.interval.ms": (
        "74",
        lambda broker: broker.server.shared.services.groups._streams_config.assignment_interval_ms({}),
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
        has_effect = name in EFFECTS or name in STORE_TYPES or log_config_field(name) is not None
        assert row.served == has_effect, f"{name}: {row.not_served or 'is said to be served, and no test shows it'}"


def in_both(names):
    """Each config with each release that has it."""
    pairs = [(release, name) for name in names for release in RELEASES if name in TABLE.at(release)]
    return pytest.mark.parametrize(("broker", "name"), pairs, indirect=["broker"])


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
    change(**{name.replace(".", "_"): "JKS", "ssl_truststore_location": "/trust.jks"})
    assert tls(broker) == before
    assert any(name in line and "PEM" in line for line in broker.lines)


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
