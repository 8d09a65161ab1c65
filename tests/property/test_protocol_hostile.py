"""A peer that lies about a length gets PeerProtocolError at once, and never makes us allocate what it claims."""

import tracemalloc

import pytest
from agreement import decoded, encoded, examples
from hypothesis import given
from message_strategies import EVERY_VERSION, MESSAGES, messages, one_of_each
from reference_encoder import ReferenceEncoder, varint

from odradek.protocol import field as kinds
from odradek.protocol.errors import PeerProtocolError
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.plan import DECODED_BYTES_BASE, DECODED_BYTES_PER_BYTE

MB = 1024 * 1024
FRAME_BYTES = 32 * 1024  # its share of the limit is as large as the base

HOSTILE_VARINTS = [
    varint(0x7FFFFFFF),
    varint(0xFFFFFFFF),
    varint(0x100000000),
    bytes.fromhex("ffffffffff7f"),
    bytes.fromhex("ffffffffffffffffff01"),
]
HOSTILE_PLAIN = [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\x7f\xff\xff\xfe"]


def lies(data, place):
    """The frame with another length here, and whether that can still be a message: null where it is allowed."""
    before, behind = data[: place.position], data[place.position + place.width :]
    for lie in HOSTILE_VARINTS if place.is_varint else HOSTILE_PLAIN:
        negative = not place.is_varint and lie[0] >= 0x80
        yield before + lie[: place.width if not place.is_varint else None] + behind, negative and place.nullable


@pytest.mark.parametrize(
    ("cls", "version"), EVERY_VERSION, ids=[f"{cls.__name__}-{version}" for cls, version in EVERY_VERSION]
)
def test_every_length_of(cls, version, codecs):
    @examples(2)
    @given(messages(cls, version))
    def lie_about_each(message):
        encoder = ReferenceEncoder(version)
        data = encoder.message(message)
        assert data == encoded(codecs, message, version)
        for place in encoder.places:
            for frame, may_be_null in lies(data, place):
                outcome, _ = decoded(codecs, cls, version, frame)
                assert may_be_null or isinstance(outcome, str), (place, frame)

    lie_about_each()


@pytest.fixture
def traced():
    tracemalloc.start()
    yield
    tracemalloc.stop()


def peak_bytes(codec, cls, version, frame):
    """What decoding took at its highest; the plan is not counted, as it is made once."""
    outcome_of(codec, cls, version, b"")
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    outcome_of(codec, cls, version, frame)
    _, peak = tracemalloc.get_traced_memory()
    return peak - before


def outcome_of(codec, cls, version, frame):
    try:
        return codec.decode(cls.plan(version), frame, 0)
    except PeerProtocolError:
        return None


def with_many_elements(cls, version):
    """Each array in turn holds as many of its least elements as a frame has room for, and a quarter as many."""
    encoder = ReferenceEncoder(version)
    data = encoder.message(one_of_each(cls, version))
    for place in encoder.places:
        if place.field is None or place.field.kind != kinds.ARRAY:
            continue
        element = least_element(place, version, cls.is_flexible(version))
        for count in (FRAME_BYTES // len(element), FRAME_BYTES // 4 // len(element)):
            claim = varint(count + 1) if place.is_varint else count.to_bytes(4, "big")
            yield data[: place.position] + claim + element * count + bytes(FRAME_BYTES - len(element) * count)


def least_element(place, version, flexible):
    encoder = ReferenceEncoder(version)
    encoder.value(place.field.item, place.field.item.fresh_default(), flexible, place.is_varint)
    return bytes(encoder.out)


@pytest.mark.parametrize("name", MESSAGES)
def test_memory_of_arrays_stays_within_the_limit(name, codecs, traced):
    if "compiled" not in codecs:
        pytest.skip("minutes of work for the pure codec, which takes the dearest arrays below")
    check_memory(codecs["compiled"], MESSAGES[name])


@pytest.mark.parametrize("name", ["CreateAclsResponse", "DescribeQuorumRequest", "FetchRequest", "VoteResponse"])
def test_memory_of_the_dearest_arrays_stays_within_the_limit(name, codec, traced):
    check_memory(codec, MESSAGES[name])


def check_memory(codec, cls):
    version = cls.versions[-1]
    for frame in with_many_elements(cls, version):
        limit = DECODED_BYTES_BASE + DECODED_BYTES_PER_BYTE * len(frame)
        assert peak_bytes(codec, cls, version, frame) <= limit


@pytest.mark.parametrize("content", [b"", b"xx", b"x" * 40])
def test_memory_of_unknown_tags_stays_within_the_limit(content, codec, traced):
    count = FRAME_BYTES // (4 + len(content))
    tags = b"".join(varint(500 + tag) + varint(len(content)) + content for tag in range(count))
    frame = RequestHeader().to_bytes(2)[:-1] + varint(count) + tags
    limit = DECODED_BYTES_BASE + DECODED_BYTES_PER_BYTE * len(frame)
    assert peak_bytes(codec, RequestHeader, 2, frame) <= limit


def long_requests():
    """Frames of several MB with nothing but small things in them: (class, version, frame)."""
    head = ProduceRequest(acks=1, timeout_ms=1, topic_data=[]).to_bytes(9)[:-2]
    partition = b"\0\0\0\0" + varint(0) + b"\0"  # null records
    count = 4 * MB // len(partition)
    topic = varint(1) + varint(count + 1) + partition * count + b"\0"
    yield "one topic", ProduceRequest, 9, head + varint(2) + topic + b"\0"
    topic = varint(1) + varint(2) + partition + b"\0"
    count = 4 * MB // len(topic)
    yield "many topics", ProduceRequest, 9, head + varint(count + 1) + topic * count + b"\0"
    wide = ("x" * 30_000 + "\U0001f600").encode()
    topic = varint(len(wide) + 1) + wide + varint(1) + b"\0"
    count = 12 * MB // len(topic)
    yield "wide names", ProduceRequest, 9, head + varint(count + 1) + topic * count + b"\0"
    count = 2 * MB
    yield "tags", RequestHeader, 2, RequestHeader().to_bytes(2)[:-1] + varint(count) + (varint(9) + varint(0)) * count


LONG_REQUESTS = {name: rest for name, *rest in long_requests()}


@pytest.mark.parametrize("name", LONG_REQUESTS)
def test_a_long_frame_buys_no_more_memory(name, codec, traced):
    """100 MB of empty partitions would be gigabytes: there is an end to what a request may name, whatever its size."""
    cls, version, frame = LONG_REQUESTS[name]
    assert len(frame) * DECODED_BYTES_PER_BYTE > 2 * cls.decoded_bytes_max
    assert peak_bytes(codec, cls, version, frame) <= cls.decoded_bytes_max
    assert outcome_of(codec, cls, version, frame) is None


@pytest.mark.parametrize("topics", [1, 10_000])
def test_records_for_ten_thousand_partitions_are_taken(topics, codec):
    data = [PartitionProduceData(index=number, records=b"r" * 500) for number in range(10_000 // topics)]
    sent = [
        TopicProduceData(name=f"topic-with-an-honest-name-{number}", partition_data=data) for number in range(topics)
    ]
    frame = ProduceRequest(acks=1, timeout_ms=1, topic_data=sent).to_bytes(9)
    message, _ = codec.decode(ProduceRequest.plan(9), frame, 0)
    assert sum(len(topic.partition_data) for topic in message.topic_data) == 10_000


def test_the_limit_of_a_request_says_the_same_words_in_both(codecs):
    for cls, version, frame in LONG_REQUESTS.values():
        outcome, _ = decoded(codecs, cls, version, frame)
        assert isinstance(outcome, str)


def test_a_lie_costs_next_to_nothing(codec, traced):
    """Two thousand million topics in thirteen bytes."""
    frame = RequestHeader().to_bytes(1) + b"\x7f\xff\xff\xff"
    assert peak_bytes(codec, MetadataRequest, 0, frame[-4:]) < 8192


def test_an_array_that_pays_for_itself_is_taken(codec):
    """The limit refuses what no honest client sends, not what is merely large."""
    topics = [MetadataRequestTopic(name=f"t{number}") for number in range(20_000)]
    data = MetadataRequest(topics=topics).to_bytes(9)
    message, _ = codec.decode(MetadataRequest.plan(9), data, 0)
    assert len(message.topics) == 20_000
