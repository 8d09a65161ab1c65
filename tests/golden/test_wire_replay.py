"""What real clients sent to a real Kafka, sent to us: the answers differ in ids, times and addresses only."""

import socket

import pytest

from odradek.protocol import whole
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from odradek.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from started import broker
from wire_replay import EXCEPTIONS, PROPERTIES, WIRE, Replay, SocketTarget, create_topic, recordings

FLOWS = ("produce", "idempotent", "admin")
AUTO_CREATE_OFF = {"auto.create.topics.enable": "false"}


@pytest.fixture(scope="module", params=["4.3", "3.3"])
def played(request):
    with broker(request.param, {**PROPERTIES, **AUTO_CREATE_OFF}) as address:
        target = SocketTarget(*address)
        create_topic(target.ask, "wire")
        target.close()
        yield request.param, address


@pytest.mark.parametrize("flow", FLOWS)
def test_recorded_conversations(played, flow):
    release, address = played
    paths = recordings(release, flow)
    assert paths
    for path in paths:
        target = SocketTarget(*address)
        replay = Replay(release, target.ask)
        differences = replay.run(path)
        target.close()
        assert replay.asked >= 8, path.name
        assert not differences, f"{path.name}:\n" + "\n".join(map(str, differences))


SASL = """\
process.roles=broker,controller
node.id=1
{quorum}:{controller}
controller.listener.names=CONTROLLER
listeners=CLIENT://127.0.0.1:0,CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=CLIENT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=CLIENT
sasl.mechanism.inter.broker.protocol=PLAIN
sasl.enabled.mechanisms=PLAIN
listener.name.client.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
  username="admin" password="admin-secret" user_admin="admin-secret" user_alice="alice-secret";
"""


# With named voters a 4.3 has kraft.version 0; the recorded one was formatted as a standalone one.
QUORUM = {"3.3": "controller.quorum.voters=1@127.0.0.1", "4.3": "controller.quorum.bootstrap.servers=127.0.0.1"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def log_in(ask, token):
    for request in (SaslHandshakeRequest(mechanism="PLAIN"), SaslAuthenticateRequest(auth_bytes=token)):
        header = RequestHeader(request_api_key=request.api_key, request_api_version=1, correlation_id=1)
        answer = ask("set-up", b"".join(whole.encode_request(header, request)))
        assert whole.decode_response(answer, request.api_key, 1)[1].error_code == 0


@pytest.mark.parametrize("release", ["4.3", "3.3"])
def test_recorded_logins(release, tmp_path):
    config = tmp_path / "server.properties"
    config.write_text(SASL.format(quorum=QUORUM[release], controller=free_port()))
    with broker(release, {**PROPERTIES, **AUTO_CREATE_OFF}, config) as address:
        target = SocketTarget(*address)
        log_in(target.ask, b"\0admin\0admin-secret")
        create_topic(target.ask, "wire")
        target.close()
        for path in recordings(release, "sasl-plain", "sasl-plain-wrong"):
            target = SocketTarget(*address)
            differences = Replay(release, target.ask).run(path)
            target.close()
            assert not differences, f"{path.name}:\n" + "\n".join(map(str, differences))


def test_every_exception_has_a_reason():
    assert all(row.reason and row.releases for row in EXCEPTIONS)
    assert len(list(WIRE.glob("*.jsonl.gz"))) >= 30
