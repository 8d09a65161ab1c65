"""Conversations of real clients with real brokers: each frame decodes, header and body, and encodes as it was."""

import gzip
import json
from pathlib import Path

import pytest

from odradek.protocol import apis, registry
from odradek.protocol.errors import UnsupportedVersion
from odradek.protocol.messages.header import RequestHeader, ResponseHeader

WIRE = Path(__file__).parents[2] / "golden" / "data" / "wire"
CONVERSATIONS = sorted(path.name for path in WIRE.glob("*.jsonl.gz"))

METADATA = 3
SASL_HANDSHAKE = 17
API_VERSIONS = 18
BARE_EXCHANGES = {"PLAIN": 1, "SCRAM-SHA-256": 2, "SCRAM-SHA-512": 2}


class Connection:
    """What a reader must remember: open requests by correlation id, and how many tokens follow without a header, which
    is what a handshake in version 0 leads to."""

    def __init__(self):
        self.open = {}
        self.mechanism = None
        self.bare_requests_due = 0
        self.bare_responses_due = 0

    def request(self, codec, frame):
        if self.bare_requests_due:
            self.bare_requests_due -= 1
            return None
        api, version = apis.by_key(int.from_bytes(frame[:2], "big")), int.from_bytes(frame[2:4], "big")
        header, body, end = decoded(
            codec, RequestHeader, api.request_header_version(version), registry.request(api.key), version, frame
        )
        assert (header.request_api_key, header.request_api_version) == (api.key, version)
        assert header.correlation_id not in self.open
        self.open[header.correlation_id] = (api, version)
        if api.key == SASL_HANDSHAKE:
            self.mechanism = body.mechanism
        return api, version, frame[end:]

    def response(self, codec, frame):
        if self.bare_responses_due:
            self.bare_responses_due -= 1
            return None
        api, version = self.open.pop(int.from_bytes(frame[:4], "big"))
        header_version = api.response_header_version(version)
        if api.key == API_VERSIONS and frame[4:6] == UnsupportedVersion.code.to_bytes(2, "big"):
            version = 0  # the broker does not know the client's version, and answers in the one that everybody reads
        _, body, end = decoded(codec, ResponseHeader, header_version, registry.response(api.key), version, frame)
        if (api.key, version) == (SASL_HANDSHAKE, 0) and body.error_code == 0:
            self.bare_requests_due = self.bare_responses_due = BARE_EXCHANGES[self.mechanism]
        return api, version, frame[end:]


def decoded(codec, header_cls, header_version, cls, version, frame):
    header_plan, plan = header_cls.plan(header_version), cls.plan(version)
    header, at = codec.decode(header_plan, frame, 0)
    body, end = codec.decode(plan, frame, at)
    written = b"".join([*codec.encode(header_plan, header), *codec.encode(plan, body)])
    assert written == frame[:end], f"{cls.__name__} v{version}"
    return header, body, end


def lines(name):
    with gzip.open(WIRE / name) as file:
        return [json.loads(line) for line in file]


def replay(codec, frames):
    """Of every frame its direction, and API, version and trailing bytes; None in their place if it is bare."""
    connections = {}
    for conn, direction, frame in frames:
        connection = connections.setdefault(conn, Connection())
        read = connection.request if direction == "request" else connection.response
        yield direction, read(codec, frame)


def recorded(name):
    return [(line["conn"], line["dir"], bytes.fromhex(line["hex"])) for line in lines(name) if line["dir"] != "close"]


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_every_frame_of(name, codec):
    noted = [(line["dir"], line["api_key"]) for line in lines(name) if line["dir"] != "close"]
    seen = []
    for direction, (api, version, trailing) in replay(codec, recorded(name)):
        seen.append((direction, api.key))
        assert trailing == b"" or (direction, api.key) == ("request", METADATA), f"{api.name} v{version}"
    assert seen == noted


def test_every_flow_is_there():
    assert len(CONVERSATIONS) == 70
    assert sum(len(recorded(name)) for name in CONVERSATIONS) == 1918


def test_trailing_bytes_are_those_of_librdkafka(codec):
    """It asks for all topics in Metadata 12 with three bytes too many; brokers do not mind."""
    found = [
        (name, api.key, len(trailing))
        for name in CONVERSATIONS
        for _, (api, _, trailing) in replay(codec, recorded(name))
        if trailing
    ]
    assert found
    assert all("confluent" in name and (key, size) == (METADATA, 3) for name, key, size in found)


def test_tokens_after_a_handshake_in_version_0_have_no_header(codec):
    handshake = bytes.fromhex("0011 0000 00000001 0001 63") + b"\0\x05PLAIN"
    accepted = bytes.fromhex("00000001 0000 00000001") + b"\0\x05PLAIN"
    api_versions = bytes.fromhex("0012 0000 00000002 0001 63")
    frames = [
        (1, "request", handshake),
        (1, "response", accepted),
        (1, "request", b"\0user\0secret"),
        (1, "response", b""),
        (1, "request", api_versions),
    ]
    assert [read and read[0].key for _, read in replay(codec, frames)] == [17, 17, None, None, 18]


def test_tokens_in_version_1_come_with_a_header(codec):
    """Every client on record does it so: the tokens are SaslAuthenticate requests."""
    names = [name for name in CONVERSATIONS if "sasl" in name]
    read = [read for name in names for _, read in replay(codec, recorded(name))]
    assert None not in read
    assert {version for api, version, _ in read if api.key == SASL_HANDSHAKE} == {1}
