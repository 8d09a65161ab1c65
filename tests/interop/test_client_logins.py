"""Our clients log in to Apache Kafka: SCRAM, OAUTHBEARER and delegation tokens, with what is right and what is wrong.

Kafka 3.3.2 has SCRAM only with ZooKeeper, so it runs with one here.
"""

import contextlib
import time
from base64 import b64encode

import kafka_tools
import pytest
from kafka_server import kafka
from test_kafka_on_our_dir import Directory, free_ports

import outside
from odradek import AdminClient, KafkaConsumer, KafkaProducer, errors
from odradek.client.admin.credentials import UserScramCredentialUpsertion
from odradek.protocol.vocabulary import ScramMechanism
from started import broker

REAUTHENTICATE_MS = 2000
SECONDS_MAX = 30
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
LISTENERS = f"""
listeners=PLAINTEXT://127.0.0.1:{{plain}},LOGIN://127.0.0.1:{{login}}{{controller}}
advertised.listeners=PLAINTEXT://127.0.0.1:{{plain}},LOGIN://127.0.0.1:{{login}}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT
listener.name.login.sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
listener.name.login.scram-sha-256.sasl.jaas.config={SCRAM} required;
listener.name.login.scram-sha-512.sasl.jaas.config={SCRAM} required;
listener.name.login.oauthbearer.sasl.jaas.config={OAUTH} required unsecuredLoginStringClaim_sub="broker";
listener.name.login.oauthbearer.connections.max.reauth.ms={REAUTHENTICATE_MS}
listener.name.login.scram-sha-256.connections.max.reauth.ms={REAUTHENTICATE_MS}
inter.broker.listener.name=PLAINTEXT
delegation.token.secret.key=the-secret-of-the-test
offsets.topic.replication.factor=1
"""
WITH_ZOOKEEPER = """
broker.id=1
zookeeper.connect=127.0.0.1:{port}
log.dirs={data}
"""


@contextlib.contextmanager
def kafka_with_zookeeper(path):
    plain, login, port = free_ports(3)
    properties = path / "server.properties"
    properties.write_text(
        LISTENERS.format(plain=plain, login=login, controller="") + WITH_ZOOKEEPER.format(port=port, data=path / "data")
    )
    main = "org.apache.zookeeper.server.ZooKeeperServerMain"
    command = [*kafka_tools.java("3.3.2", megabytes=128), main, str(port), str(path / "zookeeper")]
    with (
        open(path / "zookeeper.out", "wb") as log,
        outside.Program(command, stdout=log, stderr=log),
        kafka("3.3.2", properties, plain),
    ):
        yield f"127.0.0.1:{plain}", f"127.0.0.1:{login}"


@contextlib.contextmanager
def kafka_4_3(path):
    directory = Directory(path, "4.3")
    with broker("4.3", config=directory.properties, data=directory.data):
        pass  # it formats the directory
    plain, controller = directory.ports
    (login,) = free_ports(1)
    kept = [
        line
        for line in directory.properties.read_text().splitlines()
        if not line.startswith(("listeners=", "advertised.", "listener.", "authorizer", "super.", "allow."))
    ]
    listeners = LISTENERS.format(plain=plain, login=login, controller=f",CONTROLLER://127.0.0.1:{controller}")
    directory.properties.write_text("\n".join(kept) + listeners)
    with kafka("4.3.0", directory.properties, plain):
        yield f"127.0.0.1:{plain}", f"127.0.0.1:{login}"


@pytest.fixture(scope="module", params=["3.3.2", "4.3.0"])
def addresses(request, tmp_path_factory):
    """Where nobody logs in, and where everybody does."""
    try:
        kafka_tools.jars(request.param)
    except kafka_tools.Unavailable as reason:
        pytest.skip(str(reason))
    started = kafka_with_zookeeper if request.param == "3.3.2" else kafka_4_3
    with started(tmp_path_factory.mktemp("logins")) as (plain, login):
        with AdminClient(bootstrap_servers=plain) as admin:
            for mechanism, password in (("SCRAM_SHA_256", "secret-256"), ("SCRAM_SHA_512", "sécret,=512")):
                wanted = UserScramCredentialUpsertion("al,ice=", ScramMechanism[mechanism], password)
                admin.alter_user_scram_credentials([wanted]).raise_any()
        yield plain, login


def client(addresses, mechanism, **configs):
    return AdminClient(
        bootstrap_servers=addresses[1],
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        default_api_timeout_ms=20_000,
        **configs,
    )


def answers(admin):
    """Credentials and tokens reach a broker a moment after the answer that they are there."""
    deadline = time.monotonic() + SECONDS_MAX
    while True:
        try:
            return admin.describe_cluster().nodes
        except errors.SaslAuthenticationFailed:
            assert time.monotonic() < deadline, "never let in"
            time.sleep(0.05)


SCRAMS = [("SCRAM-SHA-256", "secret-256"), ("SCRAM-SHA-512", "sécret,=512")]


@pytest.mark.parametrize(("mechanism", "password"), SCRAMS)
def test_a_right_password(addresses, mechanism, password):
    with client(addresses, mechanism, sasl_username="al,ice=", sasl_password=password) as admin:
        assert answers(admin)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("name", ["al,ice=", "nobody"])
def test_a_wrong_password_and_an_unknown_name(addresses, mechanism, name):
    with (
        client(addresses, mechanism, sasl_username=name, sasl_password="wrong") as admin,
        pytest.raises(errors.SaslAuthenticationFailed, match=f"invalid credentials with SASL mechanism {mechanism}"),
    ):
        admin.describe_cluster()


def test_a_delegation_token_logs_in_by_scram(addresses):
    with client(addresses, "SCRAM-SHA-256", sasl_username="al,ice=", sasl_password="secret-256") as admin:
        answers(admin)
        token = admin.create_delegation_token()
    login = f'{SCRAM} required username="{token.token_id}" password="{{}}" tokenauth="true";'
    right, wrong = (login.format(b64encode(hmac).decode()) for hmac in (token.hmac, b"wrong"))
    with client(addresses, "SCRAM-SHA-512", sasl_jaas_config=right) as admin:
        assert answers(admin)
    with (
        client(addresses, "SCRAM-SHA-512", sasl_jaas_config=wrong) as admin,
        pytest.raises(errors.SaslAuthenticationFailed),
    ):
        admin.describe_cluster()


def test_producer_and_consumer_log_in_as_well(addresses):
    login = {
        "bootstrap_servers": addresses[1],
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "al,ice=",
        "sasl_plain_password": "sécret,=512",
    }
    with AdminClient(bootstrap_servers=addresses[0]) as admin:
        admin.create_topic("letters", partitions=1, replication=1)
    with KafkaProducer(**login, value_serializer=str.encode) as producer:
        producer.send("letters", "hello").result(SECONDS_MAX)
    with KafkaConsumer("letters", group_id="readers", auto_offset_reset="earliest", **login) as consumer:
        assert next(consumer).value == b"hello"


def test_a_token_that_nobody_has_signed(addresses):
    with client(addresses, "OAUTHBEARER", sasl_jaas_config=f'{OAUTH} required unsecuredLoginStringClaim_sub="a";') as a:
        assert answers(a)


def test_a_token_that_is_none(addresses):
    with (
        client(addresses, "OAUTHBEARER", sasl_oauth_token_provider=lambda: "nonsense") as admin,
        pytest.raises(errors.SaslAuthenticationFailed, match="invalid_token"),
    ):
        admin.describe_cluster()


@pytest.mark.parametrize(
    ("mechanism", "login"),
    [
        ("SCRAM-SHA-256", {"sasl_username": "al,ice=", "sasl_password": "secret-256"}),
        ("OAUTHBEARER", {"sasl_jaas_config": f'{OAUTH} required unsecuredLoginStringClaim_sub="a";'}),
    ],
)
def test_a_session_that_ends_goes_on_by_another_login(addresses, mechanism, login):
    """Whoever has not logged in again within the time is cut off by Kafka with its next request."""
    with client(addresses, mechanism, retries=0, **login) as admin:
        answers(admin)
        end = time.monotonic() + REAUTHENTICATE_MS / 1000 * 1.5
        while time.monotonic() < end:
            assert admin.describe_cluster().nodes
            time.sleep(0.02)
