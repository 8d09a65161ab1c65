"""What real clients sent to a real Kafka, sent to us: the answers differ in ids, times and addresses only."""

import differences
import pytest

from odradek.protocol import whole
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from odradek.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from sasl_listener import sasl_properties
from started import broker
from wire_replay import PROPERTIES, USED, WIRE, Replay, SocketTarget, create_topic, frames_of, recordings

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


def log_in(ask, token):
    for request in (SaslHandshakeRequest(mechanism="PLAIN"), SaslAuthenticateRequest(auth_bytes=token)):
        header = RequestHeader(request_api_key=request.api_key, request_api_version=1, correlation_id=1)
        answer = ask("set-up", b"".join(whole.encode_request(header, request)))
        assert whole.decode_response(answer, request.api_key, 1)[1].error_code == 0


@pytest.mark.parametrize("release", ["4.3", "3.3"])
def test_recorded_logins(release, tmp_path):
    with broker(release, {**PROPERTIES, **AUTO_CREATE_OFF}, sasl_properties(release, tmp_path)) as address:
        target = SocketTarget(*address)
        log_in(target.ask, b"\0admin\0admin-secret")
        create_topic(target.ask, "wire")
        target.close()
        for path in recordings(release, "sasl-plain", "sasl-plain-wrong"):
            target = SocketTarget(*address)
            differences = Replay(release, target.ask).run(path)
            target.close()
            assert not differences, f"{path.name}:\n" + "\n".join(map(str, differences))


def test_every_row_of_the_table_is_needed():
    """Left out is only what differs: each row changes an answer of some recording."""
    needed = set()
    for release in ("4.3", "3.3"):
        for path in recordings(release, *FLOWS, "sasl-plain", "sasl-plain-wrong"):
            needed |= rows_needed(release, path)
    assert needed == {(release, row.apis, row.field) for row in differences.ANSWERS for release in row.releases}


def rows_needed(release, path):
    USED.clear()
    replay = Replay(release, None)
    for frame in frames_of(path):
        if frame["dir"] == "response" and differences.is_compared(frame["api_key"]):
            replay.comparable(bytes.fromhex(frame["hex"]), frame["api_key"], frame["version"])
    return set(USED)


def test_the_recordings_are_all_there():
    assert len(list(WIRE.glob("*.jsonl.gz"))) >= 30
