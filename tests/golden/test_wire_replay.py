"""What real clients sent to a real Kafka, sent to us: the answers differ in ids, times and addresses only."""

import pytest

import differences
from doing import Doing
from odradek.protocol import whole
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from odradek.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from sasl_listener import sasl_properties
from started import broker
from told import GROUP, Told
from wire_replay import PROPERTIES, USED, WIRE, Replay, SocketTarget, create_topic, frames_of, recordings

CLIENTS = ("java-3.3.2", "java-4.3.0", "confluent", "kafka-python", "aiokafka")
FLOWS = ("produce", "idempotent", "group", "txn", "admin", "group848", "share")
COORDINATORS = {"group.initial.rebalance.delay.ms": "0"}
CLOCK_MS = 1_700_000_000_000
AUTO_CREATE_OFF = {"auto.create.topics.enable": "false"}


@pytest.mark.parametrize("release", ["4.3", "3.3"])
def test_recorded_conversations(release):
    """In the order in which they were had: what one has left of groups and transactions, a later one lists."""
    with broker(release, {**PROPERTIES, **COORDINATORS, **AUTO_CREATE_OFF}) as address:
        target = SocketTarget(*address)
        create_topic(target.ask, "wire")
        told = Told(*address)
        doing = Doing(told)
        for number in range(5):
            doing.produce("wire", 0, [(b"k", b"v%d" % number, CLOCK_MS)])
        if release == "4.3":
            doing.set_config(GROUP, "wire-share", "share.auto.offset.reset", "earliest")
        told.close()
        paths = [path for client in CLIENTS for flow in FLOWS for path in recordings(release, flow, client=client)]
        assert len(paths) >= 15
        for path in paths:
            replay = Replay(release, target.ask)
            differences = replay.run(path)
            assert replay.asked >= 8 and not replay.skipped, path.name
            assert not differences, f"{path.name}:\n" + "\n".join(map(str, differences))
        target.close()


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
