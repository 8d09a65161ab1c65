"""What is counted of logins: those that went well or not, the first and later ones, and sessions that ran out."""

import struct

import pytest

from network_kit import request
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from odradek.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from odradek.protocol.whole import encode_request

PLAIN = {
    "listeners": "CLIENTS://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "CLIENTS",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";',
    "num.network.threads": "1",
    "connections.max.reauth.ms": "60000",
    "connection.failed.authentication.delay.ms": "0",
}


def framed(message, version):
    header = RequestHeader(request_api_key=message.api_key, request_api_version=version, correlation_id=1)
    data = b"".join(encode_request(header, message))
    return struct.pack(">i", len(data)) + data


def token(password="secret", version=2):
    return framed(SaslAuthenticateRequest(auth_bytes=f"\0alice\0{password}".encode()), version)


def login(password="secret", version=2):
    return framed(SaslHandshakeRequest(mechanism="PLAIN"), 1) + token(password, version)


@pytest.fixture
def rig(sim_rig):
    return sim_rig.start(overrides=PLAIN, protocol="SASL_PLAINTEXT", listener="CLIENTS")


def counted(rig, *names):
    tags = {"listener": "CLIENTS", "networkProcessor": "0"}
    list(rig.registry)
    return [rig.registry.find("kafka.server", "socket-server-metrics", name, tags).read() for name in names]


@pytest.mark.contract("J12")
def test_logins_are_counted_by_what_became_of_them(rig):
    names = [
        f"{what}-total"
        for what in (
            "successful-authentication",
            "failed-authentication",
            "successful-reauthentication",
            "failed-reauthentication",
            "successful-authentication-no-reauth",
        )
    ]
    assert counted(rig, *names) == [0, 0, 0, 0, 0]
    client = rig.connect()
    rig.ask(client, login(), count=2)
    assert counted(rig, *names) == [1, 0, 0, 0, 0]
    rig.ask(rig.connect(), login(version=0), count=2)
    assert counted(rig, *names) == [2, 0, 0, 0, 1], "its version knows of no session that ends"
    stranger = rig.connect()
    stranger.send(login("guess"))
    rig.until(lambda: stranger.is_closed)
    assert counted(rig, *names) == [2, 1, 0, 0, 1]
    rig.pass_ms(5000)
    rig.ask(client, login(), count=2)
    assert counted(rig, *names) == [2, 1, 1, 0, 1]
    rig.pass_ms(5000)
    client.send(login("guess"))
    rig.until(lambda: client.is_closed)
    assert counted(rig, *names) == [2, 1, 1, 1, 1]


@pytest.mark.contract("J12")
def test_it_is_told_how_long_logins_took_that_were_renewed(rig):
    names = "reauthentication-latency-avg", "reauthentication-latency-max"
    client = rig.connect()
    rig.ask(client, login(), count=2)
    assert counted(rig, *names) == [None, None], "the first one is no renewal"
    for took_ms in (20, 40):
        rig.pass_ms(5000)
        rig.ask(client, framed(SaslHandshakeRequest(mechanism="PLAIN"), 1))
        rig.pass_ms(took_ms)
        rig.ask(client, token())
    average_ms, max_ms = counted(rig, *names)
    assert 30 <= average_ms < 40 <= max_ms < 50
    rig.pass_ms(61_000)
    assert counted(rig, *names) == [None, None], "they are those of the last minute"


@pytest.mark.contract("J3")
def test_a_connection_that_is_closed_because_its_session_ran_out_is_counted(rig):
    client = rig.connect()
    rig.ask(client, login(), count=2)
    rig.pass_ms(61_000)
    assert counted(rig, "expired-connections-killed-count") == [0], "nobody has asked for anything yet"
    client.send(request(2))
    rig.until(lambda: client.is_closed)
    assert counted(rig, "expired-connections-killed-count") == [1]
    assert rig.registry.find("kafka.network", "SocketServer", "ExpiredConnectionsKilledCount").read() == 1
