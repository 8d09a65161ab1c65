"""A request's frame and a response's, in one step each: the same from both executors, for any bytes at all."""

import pytest
from agreement import agreed, bytes_of
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.errors import EncodeError, PeerProtocolError
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k00_produce import ProduceRequest
from odradek.protocol.messages.k01_fetch import FetchableTopicResponse, FetchResponse, PartitionData
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse

client_ids = st.none() | st.sampled_from(["", "a", "grün", "x" * 300])
tags = st.sampled_from([(), ((3, b""), (7, b"abc"))])


class Range:
    """Records in a file, as far as a codec sees them."""

    def __init__(self, size):
        self.size = size


def request_frame(version, client_id, unknown_tags):
    header = RequestHeader(request_api_key=12, request_api_version=version, correlation_id=7, client_id=client_id)
    if version >= 4:
        header.unknown_tags = unknown_tags
    request = HeartbeatRequest(group_id="g", generation_id=3, member_id="m")
    return b"".join([*header.encode(2 if version >= 4 else 1), *request.encode(version)])


def outcome(work):
    try:
        return work()
    except PeerProtocolError as error:
        return error.reason, error.position
    except EncodeError as error:
        return str(error)


def header_plan(version):
    return RequestHeader.plan(2) if version >= 4 else None


@given(version=st.sampled_from([0, 3, 4]), client_id=client_ids, unknown_tags=tags)
def test_what_was_sent_comes_out(codecs, version, client_id, unknown_tags):
    frame = request_frame(version, client_id, unknown_tags)
    plans = HeartbeatRequest.plan(version), header_plan(version)
    request, found_id, at = agreed(codecs, lambda codec: codec.decode_request(*plans, memoryview(frame)))
    assert (request.group_id, request.generation_id, request.member_id, found_id) == ("g", 3, "m", client_id)
    assert HeartbeatRequest.decode(frame, version, at) == request


@given(
    version=st.sampled_from([0, 3, 4]),
    client_id=client_ids,
    unknown_tags=tags,
    damage=st.lists(st.tuples(st.integers(0, 400), st.integers(1, 255)), max_size=3),
    end=st.integers(0, 400),
)
def test_both_say_the_same_of_any_bytes(codecs, version, client_id, unknown_tags, damage, end):
    frame = bytearray(request_frame(version, client_id, unknown_tags))
    for at, bits in damage:
        frame[at % len(frame)] ^= bits
    view = memoryview(frame)[:end]
    plans = HeartbeatRequest.plan(version), header_plan(version)
    agreed(codecs, lambda codec: outcome(lambda: codec.decode_request(*plans, view)))


@pytest.mark.parametrize(
    ("frame", "reason", "position"),
    [
        (b"\0\x0c\0\0\0\0\0\7\0", "a request header needs at least 10 bytes", 9),
        (b"\0\x0c\0\0\0\0\0\7\0\5ab", "the client id claims 5 bytes, 2 remain", 8),
        (b"\0\x0c\0\0\0\0\0\7\0\2a\xff", "the client id is not UTF-8", 10),
    ],
)
def test_a_header_that_is_none(codec, frame, reason, position):
    with pytest.raises(PeerProtocolError) as caught:
        codec.decode_request(HeartbeatRequest.plan(0), None, frame)
    assert (caught.value.reason, caught.value.position) == (reason, position)


def test_arrays_that_are_empty_can_be_added_to(codec):
    header = RequestHeader(request_api_key=0, request_api_version=9, correlation_id=7, client_id=None)
    frame = b"".join([*header.encode(2), *ProduceRequest(acks=1).encode(9)])
    first, second = (codec.decode_request(ProduceRequest.plan(9), RequestHeader.plan(2), frame)[0] for _ in range(2))
    first.topic_data.append("one")
    assert first.topic_data == ["one"] and second.topic_data == []


@given(correlation_id=st.integers(-(2**31), 2**31 - 1), has_tags=st.booleans(), sizes=st.lists(st.integers(0, 3000)))
def test_a_response_is_framed(codecs, correlation_id, has_tags, sizes):
    partitions = [PartitionData(partition_index=index, records=bytes(size)) for index, size in enumerate(sizes)]
    partitions.append(PartitionData(partition_index=9, records=Range(5)))
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])
    parts = agreed(codecs, lambda codec: codec.encode_response(response.plan(12), response, correlation_id, has_tags))
    whole = b"".join(map(bytes_of, parts))
    body = b"".join(map(bytes_of, response.encode(12)))
    header = correlation_id.to_bytes(4, "big", signed=True) + (b"\0" if has_tags else b"")
    assert whole == (len(header) + len(body)).to_bytes(4, "big") + header + body


def test_a_small_response_is_one_part(codec):
    assert codec.encode_response(HeartbeatResponse.plan(0), HeartbeatResponse(error_code=5), 1, False) == [
        b"\0\0\0\6" + b"\0\0\0\1" + b"\0\5"
    ]


def test_what_fits_no_frame_is_our_own_mistake(codec):
    large = [PartitionData(partition_index=index, records=Range(2**31 - 1)) for index in range(2)]
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=large)])
    with pytest.raises(EncodeError):
        codec.encode_response(response.plan(12), response, 1, True)
