"""A config that asks for protection that is not there is refused in one line; one that asks for none is not."""

import pytest

from odradek.config import broker
from odradek.config.broker.served import NOT_SERVED
from odradek.config.reasons import REFUSED
from odradek.security.protections import everybody_is_super_user, missing, warnings

KRAFT = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL,"
    "SASL:SASL_PLAINTEXT,BOTH:SASL_SSL",
    "controller.quorum.voters": "1@localhost:9093",
    "log.dirs": "/data",
}
TLS = {
    "listeners": "PLAINTEXT://:9092,SSL://:9094,CONTROLLER://:9093",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": "/key.pem",
}
TRUST = {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/trust.pem"}
USERS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="a" user_bob="b";'
SASL = {
    "listeners": "PLAINTEXT://:9092,SASL://:9094,CONTROLLER://:9093",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.jaas.config": USERS,
}
AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
ZOOKEEPERS = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}


def config(*changes, release="4.3"):
    values = dict(KRAFT)
    for change in changes:
        values.update(change)
    return broker.TABLE.parse(values, release)


@pytest.mark.parametrize("name", [name for name, reason in NOT_SERVED.items() if reason.kind == REFUSED])
def test_whatever_is_to_be_refused_is(name):
    release = broker.TABLE.rows[name].releases[-1]
    reason = missing(
        config(TLS, SASL, {"listeners": "BOTH://:9092,CONTROLLER://:9093"}, BETWEEN, {name: "org.x.Y"}, release=release)
    )
    shown = "[hidden]" if "token" in name else "org.x.Y"
    assert reason.startswith(f"{name}={shown} asks for protection that is not there: {NOT_SERVED[name].text}; ")
    assert "\n" not in reason


BETWEEN = {"inter.broker.listener.name": "BOTH", "sasl.mechanism.inter.broker.protocol": "PLAIN"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            [SASL, {"sasl.enabled.mechanisms": "SCRAM-SHA-256"}],
            "sasl.enabled.mechanisms=SCRAM-SHA-256 on the listener SASL",
        ),
        ([SASL, {"sasl.enabled.mechanisms": "OAUTHBEARER"}], "only PLAIN is built"),
        ([{"listeners": SASL["listeners"]}], "sasl.enabled.mechanisms=GSSAPI on the listener SASL"),
        ([SASL, {"listener.name.sasl.sasl.enabled.mechanisms": "SCRAM-SHA-512"}], "on the listener SASL"),
        (
            [SASL, {"listener.name.sasl.plain.sasl.server.callback.handler.class": "x.Y"}],
            "logins would be decided without",
        ),
        ([TLS, {"ssl.keystore.type": "PKCS12"}], "openssl pkcs12"),
        ([TLS, {"ssl.keystore.type": "JKS"}], "keytool"),
        ([TLS, {"ssl.truststore.type": "JKS", "ssl.truststore.location": "/t.jks"}], "set ssl.truststore.type=PEM"),
        ([TLS, {"listener.name.ssl.ssl.keystore.type": "JKS"}], "only PEM is read"),
        ([TLS, {"ssl.client.auth": "required"}], "ssl.client.auth=required on the listener SSL has no certificates"),
        ([TLS, {"ssl.client.auth": "requested"}], "ssl.truststore.location"),
        ([TLS, {"ssl.cipher.suites": "TLS_AES_256_GCM_SHA384"}], "leaves out TLS_CHACHA20_POLY1305_SHA256"),
        (
            [TLS, {"ssl.cipher.suites": "TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256,TLS_AES_128_GCM_SHA256"}],
            "names no suite of TLS 1.2",
        ),
        ([AUTHORIZER], "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
        ([AUTHORIZER, {"allow.everyone.if.no.acl.found": "true"}], "everybody would be allowed everything"),
        ([AUTHORIZER, {"super.users": "User:admin"}], "User:ANONYMOUS"),
    ],
)
def test_protection_that_is_not_there(changes, told):
    assert told in missing(config(*changes))


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [TLS],
        [SASL],
        [SASL, {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256"}],
        [TLS, TRUST, {"ssl.client.auth": "required"}],
        [TLS, TRUST, {"ssl.client.auth": "requested"}],
        [TLS, {"ssl.cipher.suites": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ssl.enabled.protocols": "TLSv1.2"}],
        [{"sasl.enabled.mechanisms": "SCRAM-SHA-256"}],  # nobody logs in anywhere
        [{"ssl.engine.factory.class": "x.Y", "ssl.keystore.location": "/k.jks"}],  # nobody speaks TLS
        [SASL, {"ssl.engine.factory.class": "x.Y"}],
        [TLS, {"listener.name.plaintext.ssl.engine.factory.class": "x.Y"}],  # not on the one that does
        [{"principal.builder.class": broker.TABLE.rows["principal.builder.class"].default}],
        [{"super.users": "User:admin"}],  # as in Kafka, nobody reads it
        [{"kafka.metrics.reporters": "x.Y", "metric.reporters": "x.Y"}],
    ],
)
def test_nothing_that_is_not_there_is_asked_for(changes):
    assert missing(config(*changes)) is None


# Access control where everybody may do everything anyway


@pytest.mark.parametrize(
    ("changes", "is_super"),
    [
        ([AUTHORIZER, {"super.users": "User:ANONYMOUS"}], True),
        ([AUTHORIZER, {"super.users": "User:admin; User:ANONYMOUS"}], True),
        ([AUTHORIZER, {"super.users": "User:admin"}], False),
        ([AUTHORIZER, {"super.users": "user:anonymous"}], False),
        ([AUTHORIZER, {"super.users": "User:*"}], False),
        ([{"authorizer.class.name": "org.example.Mine", "super.users": "User:ANONYMOUS"}], False),
        ([AUTHORIZER, SASL, {"super.users": "User:ANONYMOUS"}], False),
        ([AUTHORIZER, SASL, {"super.users": "User:ANONYMOUS;User:alice"}], False),
        ([AUTHORIZER, SASL, {"super.users": "User:ANONYMOUS;User:alice;User:bob"}], True),
        ([AUTHORIZER, SASL, {"super.users": "User:alice;User:bob"}], False),
        ([AUTHORIZER, TLS, {"super.users": "User:ANONYMOUS"}], True),
        ([AUTHORIZER, TLS, TRUST, {"super.users": "User:ANONYMOUS", "ssl.client.auth": "requested"}], False),
        ([AUTHORIZER, TLS, TRUST, {"super.users": "User:ANONYMOUS", "ssl.client.auth": "required"}], False),
    ],
)
def test_who_is_a_super_user(changes, is_super):
    found = config(*changes)
    assert everybody_is_super_user(found) is is_super
    assert (missing(found) is None) is is_super
    assert any("ACLs are stored and bind nobody" in line for line in warnings(found)) is is_super


def test_the_authorizer_of_a_3_3_is_known_as_well():
    assert everybody_is_super_user(config(ZOOKEEPERS, {"super.users": "User:ANONYMOUS"}, release="3.3"))


# What may be used, but not as somebody might believe


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([SASL, {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256"}], "the listener SASL offers SASL/SCRAM-SHA-256"),
        ([TLS, {"ssl.enabled.protocols": "TLSv1.1,TLSv1.2"}], "the listener SSL does not speak TLSv1.1"),
        (
            [
                TLS,
                TRUST,
                SASL,
                {"listeners": "BOTH://:9092,CONTROLLER://:9093", "ssl.client.auth": "required"},
                BETWEEN,
            ],
            "ssl.client.auth=required is not for the listener BOTH",
        ),
    ],
)
def test_what_is_not_as_it_looks(changes, told):
    found = config(*changes)
    assert missing(found) is None
    assert any(told in line for line in warnings(found)), warnings(found)


def test_a_plain_config_has_no_warnings():
    assert warnings(config()) == warnings(config(TLS)) == warnings(config(SASL)) == []
