"""How a client proves who it is, and asks the same of the broker: TLS and SASL, on real and on simulated sockets."""

from pathlib import Path

import pytest

from channel_kit import CLOSE, CONFIG, SILENT, ScriptedBroker
from odradek.channel.client_connection import RESERVED_CORRELATION_IDS, ChannelSecurity
from odradek.channel.connection_states import State
from odradek.channel.errors import Disconnected, SslAuthenticationFailed
from odradek.channel.sasl_client import PlainSaslClient, SaslExchange
from odradek.channel.unsent_requests import UnsentRequests
from odradek.protocol import errors
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from odradek.protocol.messages.k18_api_versions import ApiVersionsRequest
from odradek.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from odradek.reactor.adapters.tls import tls_context
from odradek.reactor.tls_settings import TlsSettings

DATA = Path(__file__).parents[2] / "data" / "tls"


def server_tls(certificate="server.pem"):
    return tls_context(TlsSettings(keystore_path=str(DATA / certificate)))


def client_tls(authority="ca.pem", **changes):
    settings = TlsSettings(is_server=False, truststore_path=str(DATA / authority), **changes)
    return ChannelSecurity(tls=tls_context(settings))


def sasl_broker(outside, password="secret", **options):
    def authenticate(asked):
        if asked.request.auth_bytes == f"\0alice\0{password}".encode():
            return SaslAuthenticateResponse()
        return SaslAuthenticateResponse(error_code=58, error_message="Authentication failed: wrong")

    broker = ScriptedBroker(outside, **options)
    broker.answers(SaslHandshakeRequest, SaslHandshakeResponse(mechanisms=["PLAIN"]))
    broker.answers(HeartbeatRequest, HeartbeatResponse(error_code=3))
    return broker.answers(SaslAuthenticateRequest, authenticate)


def plain(password="secret"):
    return ChannelSecurity(sasl=lambda: PlainSaslClient("alice", password))


def asked(client, outside, broker):
    return outside.outcome(UnsentRequests(client).send(broker.node, HeartbeatRequest(group_id="g", member_id="m")))


# TLS


@pytest.mark.contract("C39", "C40", "C41")
def test_a_client_asks_over_tls(outside):
    broker = ScriptedBroker(outside, tls=server_tls()).answers(HeartbeatRequest, HeartbeatResponse(error_code=3))
    client = outside.client(security=client_tls(checks_host_name=False))
    assert asked(client, outside, broker).error_code == 3


@pytest.mark.contract("C49", "C52")
def test_a_request_is_out_only_when_the_last_encrypted_byte_is(sim):
    """The transport has taken all of it and holds some back: the send ends later, without a byte of its own."""
    broker = ScriptedBroker(sim, tls=server_tls())
    client = sim.connected(broker, security=client_tls(checks_host_name=False))
    (peer,) = broker.connections
    peer.stop_reading()
    data = PartitionProduceData(index=0, records=bytes(300_000))
    request = ProduceRequest(acks=0, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=[data])])
    sent = client.send(1, request, expects_response=False)
    sim.pass_ms(1000)
    assert not sent.is_done and not client.is_ready(1)
    peer.read_again()
    assert sim.outcome(sent) is None
    assert client.is_ready(1)


@pytest.mark.contract("C46")
def test_a_broker_that_the_client_does_not_trust_is_refused(outside, tmp_path):
    other = tmp_path / "other.pem"
    other.write_text(_certificate_only(DATA / "client.pem"))
    broker = ScriptedBroker(outside, tls=server_tls())
    client = outside.client(security=client_tls(other, checks_host_name=False))
    error = asked(client, outside, broker)
    assert isinstance(error, SslAuthenticationFailed)
    assert "CERTIFICATE_VERIFY_FAILED" in str(error)
    assert client.states.state(1) is State.AUTHENTICATION_FAILED
    assert client.authentication_error(1) is error


def _certificate_only(path):
    text = path.read_text()
    return text[text.index("-----BEGIN CERTIFICATE") :]


def test_a_broker_under_another_name_is_refused(sim):
    broker = ScriptedBroker(sim, tls=server_tls())
    error = asked(sim.client(security=client_tls()), sim, broker)  # its certificate is not for 10.0.0.2
    assert isinstance(error, SslAuthenticationFailed)


def test_a_tls_client_at_a_plain_port_finds_out(sim):
    broker = ScriptedBroker(sim)
    broker.answers(HeartbeatRequest, HeartbeatResponse())
    config = CONFIG._replace(socket_connection_setup_timeout_ms=500, socket_connection_setup_timeout_max_ms=500)
    client = sim.client(config, security=client_tls())
    assert isinstance(asked(client, sim, broker), Disconnected)  # a broker that waits for the rest of a frame


# SASL


@pytest.mark.contract("C40", "C41")
def test_a_client_logs_in_before_it_asks(outside):
    broker = sasl_broker(outside)
    client = outside.client(security=plain())
    assert asked(client, outside, broker).error_code == 3
    kinds = [type(each.request) for each in broker.asked]
    assert kinds == [SaslHandshakeRequest, SaslAuthenticateRequest, HeartbeatRequest]
    assert all(each.correlation_id in RESERVED_CORRELATION_IDS for each in broker.asked[:2])
    assert broker.asked[0].request.mechanism == "PLAIN"
    assert [each.version for each in broker.asked[:2]] == [1, 2]


def test_a_client_logs_in_over_tls(outside):
    broker = sasl_broker(outside, tls=server_tls())
    security = plain()._replace(tls=client_tls(checks_host_name=False).tls)
    assert asked(outside.client(security=security), outside, broker).error_code == 3


@pytest.mark.contract("C46")
def test_a_wrong_password_is_told_and_tried_again_only_after_a_pause(outside):
    broker = sasl_broker(outside)
    client = outside.client(security=plain("wrong"))
    error = asked(client, outside, broker)
    assert isinstance(error, errors.SaslAuthenticationFailed)
    assert str(error) == "Authentication failed: wrong"
    assert client.states.state(1) is State.AUTHENTICATION_FAILED
    assert "secret" not in repr(PlainSaslClient("alice", "secret"))
    assert client.connection_failed(1)


def test_a_mechanism_that_the_broker_does_not_offer_is_named_with_those_that_it_does(outside):
    broker = sasl_broker(outside)
    refusal = SaslHandshakeResponse(error_code=33, mechanisms=["SCRAM-SHA-256", "GSSAPI"])
    broker.answers(SaslHandshakeRequest, refusal)
    error = asked(outside.client(security=plain()), outside, broker)
    assert isinstance(error, errors.UnsupportedSaslMechanism)
    assert "PLAIN; it has SCRAM-SHA-256, GSSAPI" in str(error)


@pytest.mark.parametrize("rule", [SILENT, CLOSE])
@pytest.mark.parametrize("step", [SaslHandshakeRequest, SaslAuthenticateRequest, ApiVersionsRequest])
def test_a_login_that_breaks_off_is_a_failed_attempt_and_not_a_refusal(sim, step, rule):
    broker = sasl_broker(sim).answers(step, rule)
    config = CONFIG._replace(socket_connection_setup_timeout_ms=500, socket_connection_setup_timeout_max_ms=500)
    client = sim.client(config, security=plain())
    assert isinstance(asked(client, sim, broker), Disconnected)
    assert client.states.state(1) is State.DISCONNECTED


def test_a_mechanism_with_several_steps_gets_every_challenge():
    class Counting:
        mechanism = "COUNT"

        def __init__(self):
            self.challenges = []

        def token(self, challenge):
            self.challenges.append(challenge)
            return None if challenge == b"2" else str(len(self.challenges)).encode()

    client = Counting()
    exchange = SaslExchange(lambda: client, ApiVersionsRequest())
    exchange._authenticate_version = 2
    request, _ = exchange.answered(SaslHandshakeResponse())
    assert request.auth_bytes == b"1"
    request, version = exchange.answered(SaslAuthenticateResponse(auth_bytes=b"1"))
    assert (request.auth_bytes, version) == (b"2", 2)
    assert exchange.answered(SaslAuthenticateResponse(auth_bytes=b"2", session_lifetime_ms=9000)) is None
    assert client.challenges == [b"", b"1", b"2"]
    assert exchange.session_lifetime_ms == 9000


def test_a_broker_that_never_knows_our_version_does_not_keep_the_login_going_for_ever(sim):
    from channel_kit import answer_bytes
    from odradek.protocol.messages.k18_api_versions import ApiVersionsResponse

    broker = sasl_broker(sim)
    broker.answers(ApiVersionsRequest, lambda one: answer_bytes(one, ApiVersionsResponse(error_code=35), version=0))
    error = asked(sim.client(security=plain()), sim, broker)
    assert isinstance(error, errors.UnsupportedVersion)


# Sessions that end (KIP-368)

LIFETIME_MS = 10_000


def session_broker(outside, lifetime_ms=LIFETIME_MS):
    broker = sasl_broker(outside)
    return broker.answers(SaslAuthenticateRequest, SaslAuthenticateResponse(session_lifetime_ms=lifetime_ms))


def logged_in(sim, broker):
    client = sim.client(security=plain())
    assert asked(client, sim, broker).error_code == 3
    broker.asked.clear()
    return client


def kinds(broker):
    return [type(each.request) for each in broker.asked]


@pytest.mark.contract("C40", "C44")
def test_before_its_session_ends_a_client_logs_in_again_on_the_same_connection(sim):
    broker = session_broker(sim)
    client = logged_in(sim, broker)
    sim.pass_ms(LIFETIME_MS * 84 // 100)
    assert asked(client, sim, broker).error_code == 3
    assert kinds(broker) == [HeartbeatRequest], "it is too early"
    sim.pass_ms(LIFETIME_MS * 12 // 100)
    assert asked(client, sim, broker).error_code == 3
    assert kinds(broker)[1:] == [SaslHandshakeRequest, SaslAuthenticateRequest, HeartbeatRequest]
    assert all(each.correlation_id in RESERVED_CORRELATION_IDS for each in broker.asked[1:3])
    assert len(broker.connections) == 1
    assert asked(client, sim, broker).error_code == 3
    assert kinds(broker)[4:] == [HeartbeatRequest], "the session has begun anew"


def test_a_session_without_an_end_is_never_begun_again(sim):
    broker = session_broker(sim, lifetime_ms=0)
    client = logged_in(sim, broker)
    sim.pass_ms(100_000)
    asked(client, sim, broker)
    assert kinds(broker) == [HeartbeatRequest]


@pytest.mark.parametrize("lifetime_ms", [1, 2])
def test_however_short_a_session_is_requests_get_through(sim, lifetime_ms):
    broker = session_broker(sim, lifetime_ms)
    client = logged_in(sim, broker)
    for _ in range(3):
        sim.pass_ms(10)
        assert asked(client, sim, broker).error_code == 3
    assert kinds(broker) == [SaslHandshakeRequest, SaslAuthenticateRequest, HeartbeatRequest] * 3


def test_an_answer_that_comes_while_the_client_logs_in_again_is_handed_on(sim):
    broker = session_broker(sim)
    client = logged_in(sim, broker)
    heartbeat = HeartbeatRequest(group_id="g", member_id="m")
    broker.answers(HeartbeatRequest, SILENT)
    early = client.send(1, heartbeat)
    sim.until(lambda: broker.asked)
    sim.pass_ms(LIFETIME_MS)
    broker.answers(SaslHandshakeRequest, SILENT)
    late = client.send(1, heartbeat)
    sim.until(lambda: kinds(broker)[-1:] == [SaslHandshakeRequest])
    assert not client.is_ready(1), "one request waits for the login"
    (peer,) = broker.connections
    peer.answer(broker.asked[0], HeartbeatResponse(error_code=1))
    assert sim.outcome(early).error_code == 1
    broker.answers(HeartbeatRequest, HeartbeatResponse(error_code=2))
    peer.answer(broker.asked[1], SaslHandshakeResponse(mechanisms=["PLAIN"]))
    assert sim.outcome(late).error_code == 2


def test_a_request_without_an_answer_is_over_when_it_has_gone_out_and_not_the_login_before_it(sim):
    broker = session_broker(sim)
    client = logged_in(sim, broker)
    sim.pass_ms(LIFETIME_MS)
    broker.answers(SaslHandshakeRequest, SILENT)
    sent = client.send(1, HeartbeatRequest(group_id="g", member_id="m"), expects_response=False)
    sim.until(lambda: broker.asked)
    sim.pass_ms(100)
    assert not sent.is_done
    (peer,) = broker.connections
    broker.answers(HeartbeatRequest, SILENT)
    peer.answer(broker.asked[0], SaslHandshakeResponse(mechanisms=["PLAIN"]))
    assert sim.outcome(sent) is None
    sim.until(lambda: kinds(broker)[-1:] == [HeartbeatRequest])


def test_who_may_not_log_in_again_is_told_why(sim):
    broker = session_broker(sim)
    client = logged_in(sim, broker)
    sim.pass_ms(LIFETIME_MS)
    refusal = SaslAuthenticateResponse(error_code=58, error_message="Authentication failed: gone")
    broker.answers(SaslAuthenticateRequest, refusal)
    error = sim.outcome(client.send(1, HeartbeatRequest(group_id="g", member_id="m")))
    assert isinstance(error, errors.SaslAuthenticationFailed) and "gone" in str(error)
    assert client.states.state(1) is State.AUTHENTICATION_FAILED
