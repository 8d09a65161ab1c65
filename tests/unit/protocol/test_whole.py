"""Whole requests and responses: the API table picks the header's version."""

import pytest

from odradek.protocol import apis
from odradek.protocol.errors import EncodeError, InvalidRequest, PeerProtocolError, UnsupportedVersion
from odradek.protocol.messages.header import RequestHeader, ResponseHeader
from odradek.protocol.messages.k07_controlled_shutdown import ControlledShutdownRequest
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.protocol.messages.k18_api_versions import ApiVersionsResponse
from odradek.protocol.whole import (
    decode_request,
    decode_request_prefix,
    decode_response,
    decode_response_prefix,
    encode_request,
    encode_response,
)

HEARTBEAT = apis.by_name("Heartbeat").key
API_VERSIONS = apis.by_name("ApiVersions").key
PLAIN = bytes.fromhex("000c 0000 00000001 0001 63 0001 67 00000003 0001 6d")
FLEXIBLE = bytes.fromhex("000c 0004 00000001 0001 63 00 02 67 00000003 02 6d 00 00")


@pytest.mark.parametrize(("version", "frame"), [(0, PLAIN), (4, FLEXIBLE)])
def test_a_request_both_ways(version, frame):
    header = RequestHeader(request_api_key=12, request_api_version=version, correlation_id=1, client_id="c")
    request = HeartbeatRequest(group_id="g", generation_id=3, member_id="m")
    assert decode_request(frame) == (header, request)
    assert b"".join(encode_request(header, request)) == frame


def test_the_one_request_without_a_client_id():
    frame = bytes.fromhex("0007 0000 00000005 00000009")
    header, request = decode_request(frame)
    assert (header.correlation_id, request) == (5, ControlledShutdownRequest(broker_id=9))
    assert b"".join(encode_request(header, request)) == frame


@pytest.mark.parametrize(("version", "data"), [(1, "00000007 00000000 0019"), (4, "00000007 00 00000000 0019 00")])
def test_a_response_both_ways(version, data):
    frame = bytes.fromhex(data)
    header, response = decode_response(frame, HEARTBEAT, version)
    assert (header, response) == (ResponseHeader(correlation_id=7), HeartbeatResponse(error_code=25))
    assert b"".join(encode_response(header, response, version)) == frame


def test_api_versions_is_answered_without_tags_in_the_header():
    frame = b"".join(encode_response(ResponseHeader(correlation_id=7), ApiVersionsResponse(), 3))
    assert frame == bytes.fromhex("00000007 0000 01 00000000 00")
    assert decode_response(frame, API_VERSIONS, 3) == (ResponseHeader(correlation_id=7), ApiVersionsResponse())


def test_what_follows_is_ignored_and_its_position_told():
    request = memoryview(b"head" + PLAIN + b"tail")
    assert decode_request(request, 4) == decode_request(PLAIN)
    assert decode_request_prefix(request, 4)[2] == 4 + len(PLAIN)
    response = bytes.fromhex("00000007 0019") + b"tail"
    assert decode_response_prefix(response, HEARTBEAT, 0)[2] == 6


@pytest.mark.parametrize("size", range(len(PLAIN)))
def test_cut_off_anywhere(size):
    with pytest.raises(PeerProtocolError):
        decode_request(PLAIN[:size])


def test_a_key_that_no_release_declares():
    with pytest.raises(InvalidRequest, match="no API with key -1"):
        decode_request(b"\xff\xff" + PLAIN[2:])
    with pytest.raises(InvalidRequest, match="no API with key 999"):
        decode_response(b"", 999, 0)


@pytest.mark.parametrize("version", [-1, 5])
def test_a_version_that_the_api_does_not_have(version):
    frame = PLAIN[:2] + version.to_bytes(2, "big", signed=True) + PLAIN[4:11] + b"\0" + PLAIN[11:]
    with pytest.raises(UnsupportedVersion, match=f"HeartbeatRequest has versions 0-4, not {version}"):
        decode_request(frame)


def test_a_header_of_another_request():
    with pytest.raises(EncodeError, match="the header has the API key 3, HeartbeatRequest another"):
        encode_request(RequestHeader(request_api_key=3), HeartbeatRequest())
