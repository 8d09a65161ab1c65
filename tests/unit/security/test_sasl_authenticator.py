"""SASL inside Kafka's protocol: every order of frames leads to a principal or to a close, and to nothing else."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.java_hash import in_java_order
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from odradek.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from odradek.protocol.whole import decode_response, encode_request
from odradek.security.mechanism import Mechanism
from odradek.security.principal import ANONYMOUS, Principal
from odradek.security.sasl_authenticator import SaslAuthenticator
from odradek.security.sasl_plain import PlainCredentials, PlainServer

PLAIN = b"\0alice\0alice-secret"
CREDENTIALS = PlainCredentials({"alice": "alice-secret", "bob": "böb"})


def api_versions_answer(error=0):
    return [struct.pack(">iihi", 10, 5, error, 0)]


def authenticator(reauth_ms=0, error=0, before=None):
    mechanisms = [Mechanism("PLAIN", lambda: PlainServer(CREDENTIALS), reauth_ms), Mechanism("GSSAPI", None)]
    return SaslAuthenticator(mechanisms, lambda frame: api_versions_answer(error), before=before)


def frame(request, version, correlation_id=5):
    header = RequestHeader(
        request_api_key=request.api_key, request_api_version=version, correlation_id=correlation_id, client_id="c"
    )
    return memoryview(b"".join(encode_request(header, request)))


def api_versions(version=0):
    return memoryview(struct.pack(">hhih", 18, version, 5, -1))


def handshake(mechanism="PLAIN", version=1):
    return frame(SaslHandshakeRequest(mechanism=mechanism), version)


def authenticate(token=PLAIN, version=2):
    return frame(SaslAuthenticateRequest(auth_bytes=token), version)


def body(step, key, version):
    data = b"".join(step.reply)
    assert len(data) == 4 + int.from_bytes(data[:4], "big")
    return decode_response(data[4:], key, version)[1]


def test_from_api_versions_to_a_principal():
    sasl = authenticator()
    assert b"".join(sasl.receive(api_versions()).reply) == b"".join(api_versions_answer())
    answer = body(sasl.receive(handshake()), 17, 1)
    assert (answer.error_code, sorted(answer.mechanisms)) == (0, ["GSSAPI", "PLAIN"])
    step = sasl.receive(authenticate())
    assert step.principal == Principal("User", "alice")
    assert body(step, 36, 2).error_code == 0
    assert sasl.mechanism == "PLAIN"


def test_api_versions_may_be_tried_again_until_a_version_fits():
    sasl = authenticator(error=35)
    for _ in range(3):
        assert not sasl.receive(api_versions(99)).has_failed
    assert body(sasl.receive(handshake()), 17, 1).error_code == 0


def test_api_versions_twice_is_once_too_often():
    sasl = authenticator()
    sasl.receive(api_versions())
    assert sasl.receive(api_versions()).has_failed


def test_api_versions_whose_header_does_not_parse():
    def refuse(frame):
        raise PeerProtocolError("no header", 0)

    sasl = SaslAuthenticator([], refuse)
    step = sasl.receive(api_versions(99))
    assert step.has_failed
    assert step.reply is None


@pytest.mark.parametrize("mechanism", ["NOPE", "GSSAPI", ""])
def test_a_mechanism_that_is_not_served_is_refused_with_the_list(mechanism):
    step = authenticator().receive(handshake(mechanism))
    assert step.has_failed
    answer = body(step, 17, 1)
    assert answer.error_code == 33
    assert answer.mechanisms == in_java_order(("PLAIN", "GSSAPI"))


def test_bare_tokens_after_a_handshake_of_version_0():
    sasl = authenticator()
    sasl.receive(handshake(version=0))
    step = sasl.receive(memoryview(PLAIN))
    assert step.reply == [b"\0\0\0\0", b""]
    assert step.principal == Principal("User", "alice")
    assert not step.can_reauthenticate


def test_a_bare_token_that_is_wrong_gets_no_answer():
    sasl = authenticator()
    sasl.receive(handshake(version=0))
    step = sasl.receive(memoryview(b"\0alice\0nope"))
    assert step.has_failed
    assert step.reply is None


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0nobody\0alice-secret", "Authentication failed: Invalid username or password"),
        (b"\0\0alice-secret", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (
            b"bob\0alice\0alice-secret",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"alice\0alice-secret", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0alice\0alice-secret\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\xff\xfe\0\xff", "Authentication failed: Invalid username or password"),
    ],
)
def test_tokens_that_prove_nothing(token, message):
    sasl = authenticator()
    sasl.receive(handshake())
    step = sasl.receive(authenticate(token))
    assert step.has_failed
    assert step.principal is None
    answer = body(step, 36, 2)
    assert (answer.error_code, answer.error_message) == (58, message)


def test_a_name_may_be_repeated_and_a_password_may_be_any_text():
    sasl = authenticator()
    sasl.receive(handshake())
    step = sasl.receive(authenticate("bob\0bob\0böb".encode()))
    assert step.principal == Principal("User", "bob")


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_session_lifetime_is_told(version):
    sasl = authenticator(reauth_ms=60_000)
    sasl.receive(handshake())
    step = sasl.receive(authenticate(version=version))
    assert step.session_lifetime_ms == 60_000
    assert step.can_reauthenticate is (version > 0)
    if version:
        assert body(step, 36, version).session_lifetime_ms == 60_000


def test_who_authenticates_again_must_stay_who_it_was():
    again = authenticator(before=("PLAIN", Principal("User", "alice")))
    again.receive(handshake())
    assert again.receive(authenticate()).principal == Principal("User", "alice")
    other = authenticator(before=("PLAIN", Principal("User", "bob")))
    other.receive(handshake())
    step = other.receive(authenticate())
    assert step.has_failed
    assert "Cannot change principals" in body(step, 36, 2).error_message
    changed = authenticator(before=("SCRAM-SHA-256", Principal("User", "alice")))
    changed.receive(handshake())
    assert changed.receive(authenticate()).has_failed


@pytest.mark.parametrize(
    "frames",
    [
        [authenticate()],
        [handshake(), handshake()],
        [handshake(), api_versions()],
        [memoryview(struct.pack(">hhih", 17, 7, 5, -1) + b"\0\5PLAIN")],
        [handshake(), authenticate(version=2)[:9]],
        [memoryview(struct.pack(">hhih", 3, 12, 5, -1))],
        [memoryview(struct.pack(">hhih", 999, 0, 5, -1))],
        [handshake(), memoryview(struct.pack(">hhih", 36, 99, 5, -1))],
        [memoryview(b"")],
        [handshake(), memoryview(b"\0")],
    ],
)
def test_frames_out_of_order_end_it(frames):
    sasl = authenticator()
    for each in frames[:-1]:
        assert not sasl.receive(each).has_failed
    step = sasl.receive(frames[-1])
    assert step.has_failed
    assert step.principal is None


def test_after_a_failure_nothing_helps():
    sasl = authenticator()
    sasl.receive(handshake("NOPE"))
    assert sasl.receive(handshake()).has_failed
    assert sasl.receive(authenticate()).has_failed


@given(
    st.lists(st.binary(max_size=200) | st.sampled_from([bytes(handshake()), bytes(handshake(version=0))]), max_size=5)
)
def test_any_bytes_are_a_step(frames):
    sasl = authenticator()
    for each in frames:
        step = sasl.receive(memoryview(each))
        assert step.principal is None or PLAIN in each
        if step.has_failed:
            break


def test_mechanisms_are_listed_in_the_order_of_a_java_set():
    names = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
    assert in_java_order(names) == ["PLAIN", "SCRAM-SHA-512", "SCRAM-SHA-256"]


def test_principals():
    assert str(ANONYMOUS) == "User:ANONYMOUS"
    assert Principal.parse("User:CN=a:b") == Principal("User", "CN=a:b")
    assert Principal("User", "a") != Principal("Group", "a")
    for text in ("alice", ":alice", "User:", ""):
        with pytest.raises(ValueError, match="kind:name"):
            Principal.parse(text)
