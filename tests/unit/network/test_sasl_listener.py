"""SASL/PLAIN over the socket server: who may speak, how much before that, and for how long."""

import struct

import pytest

from network_kit import broker_config, correlation_id_of, echo, request
from odradek.config.errors import ConfigError
from odradek.network.listener_security import mechanisms
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from odradek.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from odradek.protocol.whole import decode_response, encode_request
from odradek.security.protections import unserved_mechanisms

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SASL = {
    "listeners": "CLIENTS://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "CLIENTS",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.clients.plain.sasl.jaas.config": f'{MODULE} user_alice="alice-secret" user_bob="bob-secret";',
}
BETWEEN_BROKERS = {
    "listeners": "CLIENTS://127.0.0.1:0,INTERNAL://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "INTERNAL",
}


def framed(message, version, correlation_id):
    header = RequestHeader(
        request_api_key=message.api_key, request_api_version=version, correlation_id=correlation_id, client_id="c"
    )
    data = b"".join(encode_request(header, message))
    return struct.pack(">i", len(data)) + data


def handshake(correlation_id=1, version=1):
    return framed(SaslHandshakeRequest(mechanism="PLAIN"), version, correlation_id)


def token(password="alice-secret", correlation_id=2, name="alice"):
    message = SaslAuthenticateRequest(auth_bytes=f"\0{name}\0{password}".encode())
    return framed(message, 2, correlation_id)


def start(rig, serve=echo, overrides=None):
    return rig.start(serve, {**SASL, **(overrides or {})}, protocol="SASL_PLAINTEXT", listener="CLIENTS")


def authenticated(frame):
    return decode_response(frame, 36, 2)[1]


def test_who_knows_the_password_is_served(rig):
    principals = []

    def serve(connection, frame):
        principals.append(str(connection.principal))
        return echo(connection, frame)

    client = start(rig, serve).connect()
    frames = rig.ask(client, handshake() + token() + request(3, b"at last"), count=3)
    assert authenticated(frames[1]).error_code == 0
    assert frames[2] == struct.pack(">i", 3) + b"at last"
    assert principals == ["User:alice"]
    assert rig.connection().authenticator is None


def test_api_versions_is_answered_before(rig):
    seen = []

    def serve(connection, frame):
        seen.append(bytes(frame[:2]))
        return [struct.pack(">iihi", 10, correlation_id_of(frame), 0, 0)]

    client = start(rig, serve).connect()
    frames = rig.ask(client, request(1, key=18, version=0) + handshake(2) + token(correlation_id=3), count=3)
    assert seen == [b"\0\x12"]
    assert authenticated(frames[2]).error_code == 0


def test_nothing_is_served_to_who_has_not_said_who_it_is(rig):
    served = []
    client = start(rig, lambda connection, frame: served.append(frame)).connect()
    client.send(request(1))
    rig.until(lambda: client.is_closed)
    assert served == []
    assert client.received == b""


@pytest.mark.contract("C28")
def test_a_wrong_password_is_told_late_and_closes(rig):
    start(rig, overrides={"connection.failed.authentication.delay.ms": "120"})
    client = rig.connect()
    rig.ask(client, handshake())
    before = rig.ports.clock.mono_ms()
    client.send(token("guess") + request(3))
    rig.until(lambda: client.is_closed)
    assert rig.ports.clock.mono_ms() - before >= 118
    assert client.correlation_ids() == [1, 2]
    answer = authenticated(client.frames()[1])
    assert (answer.error_code, answer.error_message) == (58, "Authentication failed: Invalid username or password")
    assert sum(processor.failed_authentications.count for processor in rig.listener.processors) == 1
    assert rig.server.quotas.total == 0


def test_before_authentication_frames_are_short(rig):
    client = start(rig).connect()
    client.send(struct.pack(">i", 64 * 1024 + 1))
    rig.until(lambda: client.is_closed)
    other = rig.connect()
    rig.ask(other, handshake() + token(), count=2)
    assert rig.ask(other, request(3, b"x" * 100_000))


def test_bare_tokens(rig):
    client = start(rig).connect()
    rig.ask(client, handshake(version=0))
    bare = b"\0bob\0bob-secret"
    frames = rig.ask(client, struct.pack(">i", len(bare)) + bare + request(9), count=2)
    assert frames == [b"", struct.pack(">i", 9)]
    assert str(rig.connection().principal) == "User:bob"


def test_who_talks_but_never_authenticates_is_closed(sim_rig):
    """An ApiVersions request of a version that nobody has may be asked again, but not for ever."""

    def unsupported(connection, frame):
        return [struct.pack(">iih", 6, correlation_id_of(frame), 35)]

    client = start(sim_rig, unsupported, {"connections.max.idle.ms": "10000"}).connect()
    wrong = struct.pack(">ihhih", 10, 18, 99, 7, -1)
    for _ in range(15):
        if not client.is_closed:
            client.send(wrong)
        sim_rig.pass_ms(1000)
    assert len(client.frames()) > 5
    assert client.is_closed


def test_who_has_authenticated_has_its_whole_idle_time(sim_rig):
    client = start(sim_rig, overrides={"connections.max.idle.ms": "10000"}).connect()
    sim_rig.pass_ms(8000)
    sim_rig.ask(client, handshake() + token(), count=2)
    sim_rig.pass_ms(8000)
    assert sim_rig.ask(client, request(3))
    assert not client.is_closed


def reauthenticating(rig):
    return start(rig, overrides={"connections.max.reauth.ms": "60000"})


@pytest.mark.contract("E32")
def test_a_session_that_has_expired_ends(sim_rig):
    client = reauthenticating(sim_rig).connect()
    frames = sim_rig.ask(client, handshake() + token(), count=2)
    assert authenticated(frames[1]).session_lifetime_ms == 60_000
    sim_rig.pass_ms(59_000)
    assert sim_rig.ask(client, request(3))
    sim_rig.pass_ms(2000)
    client.send(request(4))
    sim_rig.until(lambda: client.is_closed)
    assert 4 not in client.correlation_ids()
    assert sum(processor.expired_sessions for processor in sim_rig.listener.processors) == 1


@pytest.mark.contract("E31")
def test_who_authenticates_again_may_go_on(sim_rig):
    client = reauthenticating(sim_rig).connect()
    sim_rig.ask(client, handshake() + token(), count=2)
    for number in range(10, 14):
        sim_rig.pass_ms(50_000)
        frames = sim_rig.ask(client, handshake(number) + token(correlation_id=number) + request(number), count=3)
        assert authenticated(frames[1]).session_lifetime_ms == 60_000
        assert frames[2] == struct.pack(">i", number)
    assert sum(processor.reauthenticated.count for processor in sim_rig.listener.processors) == 4


def test_who_authenticates_again_cannot_become_somebody_else(sim_rig):
    client = reauthenticating(sim_rig).connect()
    sim_rig.ask(client, handshake() + token(), count=2)
    sim_rig.pass_ms(5000)
    client.send(handshake(3) + token("bob-secret", 4, name="bob"))
    sim_rig.until(lambda: client.is_closed)
    assert authenticated(client.frames()[-1]).error_code == 58
    assert sum(processor.failed_reauthentications.count for processor in sim_rig.listener.processors) == 1


def test_again_within_a_second_is_an_ordinary_request(sim_rig):
    """Which the dispatcher refuses: here it is what echo answers."""
    client = reauthenticating(sim_rig).connect()
    sim_rig.ask(client, handshake() + token(), count=2)
    sim_rig.ask(client, handshake(3))
    assert sim_rig.connection().authenticator is None


def test_changed_passwords_hold_for_the_connections_to_come(rig):
    start(rig)
    name = "listener.name.clients.plain.sasl.jaas.config"
    rig.server.update_config(broker_config({**SASL, name: f'{MODULE} user_alice="new";'}))
    client = rig.connect()
    frames = rig.ask(client, handshake() + token("new"), count=2)
    assert authenticated(frames[1]).error_code == 0


def test_the_password_is_in_no_error_and_no_repr(rig):
    start(rig)
    assert "alice-secret" not in repr(rig.server._config)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"listener.name.clients.plain.sasl.jaas.config": None}, "needs its users"),
        ({**BETWEEN_BROKERS, "sasl.enabled.mechanisms": ""}, "needs a mechanism"),
        ({"listener.name.clients.plain.sasl.jaas.config": "nonsense"}, "malformed"),
    ],
)
def test_a_listener_that_cannot_authenticate_says_why(changes, words):
    values = {key: value for key, value in {**SASL, **changes}.items() if value is not None}
    with pytest.raises(ConfigError, match=words):
        mechanisms(broker_config(values), "CLIENTS")


def test_a_mechanism_that_is_not_served_yet_is_offered_and_refused():
    config = broker_config({**SASL, "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256"})
    offered = {mechanism.name: mechanism.server is not None for mechanism in mechanisms(config, "CLIENTS")}
    assert offered == {"PLAIN": True, "SCRAM-SHA-256": False}


def test_a_mechanism_that_nobody_can_use_is_a_warning():
    offered = {**SASL, "listener.name.clients.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256"}
    assert unserved_mechanisms(broker_config(offered)) == [
        "the listener CLIENTS offers SASL/SCRAM-SHA-256, which is not served yet: only PLAIN is"
    ]
    assert unserved_mechanisms(broker_config(SASL)) == []
    plain = {**SASL, "listener.security.protocol.map": "CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT"}
    assert unserved_mechanisms(broker_config({**plain, "sasl.enabled.mechanisms": "GSSAPI"})) == []
