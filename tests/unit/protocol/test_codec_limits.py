"""Stories of bytes that do not parse and of values that do not fit, each with the exact reason and position; and of
records, which are never copied."""

import pytest

from odradek.protocol.declare import (
    Data,
    Struct,
    array,
    boolean,
    bytes_,
    int8,
    int16,
    int32,
    int64,
    nullable_string,
    nullable_struct,
    records_,
    string,
    uuid,
)
from odradek.protocol.errors import EncodeError, PeerProtocolError
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k01_fetch import FetchableTopicResponse, FetchResponse, PartitionData
from odradek.protocol.messages.k03_metadata import MetadataRequest


class Pair(Struct):
    left = int32()
    right = int32()


class Sample(Data, versions="0-2", flexible="1+"):
    number = int16()
    flag = boolean()
    name = string()
    alias = nullable_string()
    content = bytes_()
    pairs = array(Pair)
    perhaps = nullable_struct(Pair, "2+")
    small = int8("1+", tag=0)
    words = array(string(), "1+", tag=1)


PLAIN_EMPTY = bytes.fromhex("0007 01 0000 ffff 00000000 00000000")
FLEXIBLE_EMPTY = bytes.fromhex("0007 01 01 00 01 01 00")


class Range:
    """Records in a file, as far as the codec sees them."""

    def __init__(self, size):
        self.size = size


def refused(codec, cls, version, frame):
    with pytest.raises(PeerProtocolError) as refusal:
        codec.decode(cls.plan(version), frame, 0)
    assert str(refusal.value) == f"{refusal.value.reason} at byte {refusal.value.position}"
    return refusal.value.reason, refusal.value.position


def unfit(codec, message, version):
    with pytest.raises(EncodeError) as refusal:
        codec.encode(message.plan(version), message)
    return str(refusal.value)


def test_the_least_message(codec):
    assert codec.decode(Sample.plan(0), PLAIN_EMPTY, 0) == (Sample(number=7, flag=True), len(PLAIN_EMPTY))
    assert codec.decode(Sample.plan(1), FLEXIBLE_EMPTY, 0) == (Sample(number=7, flag=True), len(FLEXIBLE_EMPTY))


MALFORMED = {
    "nothing at all": (0, "", "number needs 3 bytes, 0 bytes remain", 0),
    "a group of numbers cut off": (0, "0007", "number needs 3 bytes, 2 bytes remain", 0),
    "a plain length cut off": (0, "0007 01 00", "name needs 2 bytes, 1 byte remains", 3),
    "a string longer than the frame": (0, "0007 01 0005 6162", "name claims 5 bytes, 2 bytes remain", 5),
    "null where it is not allowed": (0, "0007 01 ffff", "name is null, which this version does not allow", 5),
    "any negative length is null": (0, "0007 01 8000", "name is null, which this version does not allow", 5),
    "bytes longer than the frame": (
        0,
        "0007 01 0000 ffff 7fffffff 00",
        "content claims 2147483647 bytes, 1 byte remains",
        11,
    ),
    "null bytes": (0, "0007 01 0000 ffff ffffffff", "content is null, which this version does not allow", 11),
    "an array of more than remains": (
        *(0, "0007 01 0000 ffff 00000000 00000002 0000000000000000"),
        *("pairs claims 2 elements, 8 bytes remain", 15),
    ),
    "a huge array": (
        *(0, "0007 01 0000 ffff 00000000 7fffffff 0000000000000000"),
        *("pairs claims 2147483647 elements, 8 bytes remain", 15),
    ),
    "a null array": (
        *(0, "0007 01 0000 ffff 00000000 ffffffff"),
        *("pairs is null, which this version does not allow", 15),
    ),
    "a compact length cut off": (1, "0007 01 82", "a varint of name is cut off", 3),
    "no compact length": (1, "0007 01", "a varint of name is cut off", 3),
    "a compact null": (1, "0007 01 00", "name is null, which this version does not allow", 4),
    "a varint of six bytes": (1, "0007 01 8080808080 01", "a varint of name is longer than five bytes", 3),
    "a varint of 35 bits": (1, "0007 01 ffffffff7f", "a varint of name does not fit 32 bits", 3),
    "a string beyond what a string may be": (
        *(1, "0007 01 8180 02" + "61" * 32768),
        *("name is a string of 32768 bytes, at most 32767 are allowed", 6),
    ),
    "a compact array of more than remains": (
        *(1, "0007 01 01 00 01 03 0000000000000000"),
        *("pairs claims 2 elements, 8 bytes remain", 7),
    ),
    "an array of one that is not there": (1, "0007 01 01 00 01 02", "pairs claims 1 element, 0 bytes remain", 7),
    "one tag that is not there": (1, "0007 01 01 00 01 01 01 00", "Sample claims 1 tagged field, 1 byte remains", 8),
    "no tag section": (1, "0007 01 01 00 01 01", "a varint of Sample is cut off", 7),
    "more tags than bytes": (1, "0007 01 01 00 01 01 02 0000", "Sample claims 2 tagged fields, 2 bytes remain", 8),
    "a tag larger than the frame": (
        1,
        "0007 01 01 00 01 01 01 09 05 00",
        "tag 9 of Sample claims 5 bytes, 1 byte remains",
        10,
    ),
    "a known tag that is too short": (1, "0007 01 01 00 01 01 01 00 00", "small needs 1 byte, 0 bytes remain", 10),
    "a known tag that is too long": (
        1,
        "0007 01 01 00 01 01 01 00 02 0505",
        "small ends 1 byte before its tag does",
        11,
    ),
    "a string that leaves its tag": (
        *(1, "0007 01 01 00 01 01 01 01 03 02 03 61 6161"),
        *("words claims 2 bytes, 1 byte remains", 12),
    ),
    "an array that leaves its tag": (
        *(1, "0007 01 01 00 01 01 01 01 01 05 01010101"),
        *("words claims 4 elements, 0 bytes remain", 11),
    ),
    "no marker of a nullable struct": (2, "0007 01 01 00 01 01", "perhaps claims 1 byte, 0 bytes remain", 7),
    "a nullable struct cut off": (2, "0007 01 01 00 01 01 01 00000001", "left needs 8 bytes, 4 bytes remain", 8),
}


@pytest.mark.parametrize("story", MALFORMED)
def test_malformed(story, codec):
    version, frame, reason, position = MALFORMED[story]
    assert refused(codec, Sample, version, bytes.fromhex(frame)) == (reason, position)


def test_positions_count_from_the_start_of_the_frame(codec):
    with pytest.raises(PeerProtocolError) as refusal:
        codec.decode(Sample.plan(0), b"header" + b"\0\7\1\0", 6)
    assert (refusal.value.reason, refusal.value.position) == ("name needs 2 bytes, 1 byte remains", 9)


def test_a_start_behind_the_end(codec):
    with pytest.raises(PeerProtocolError, match="number needs 3 bytes, 0 bytes remain"):
        codec.decode(Sample.plan(0), b"ab", 9)


def test_an_array_of_structs_that_would_not_pay_for_itself(codec):
    """A million empty names in a million bytes: a string object each, and a list."""
    frame = bytes.fromhex("c1843d") + b"\1" * 1_000_000 + b"\0"
    assert refused(codec, Names, 0, frame) == (
        "names would occupy more memory than an honest message of this size",
        3,
    )
    assert codec.decode(Names.plan(0), bytes.fromhex("03 0261 0262 00"), 0)[0].names == ["a", "b"]


class Names(Data, versions="0", flexible="0+"):
    names = array(string())


def test_more_tags_than_an_honest_message_holds(codec):
    count = 400_000
    frame = RequestHeader().to_bytes(2)[:-1] + bytes.fromhex("80b518") + b"\x7f\0" * count
    reason, position = refused(codec, RequestHeader, 2, frame)
    assert (reason, position) == ("RequestHeader claims 400000 tagged fields, more than an honest message holds", 13)


def test_bytes_that_are_not_utf8_become_replacement_characters(codec):
    """As in Java; the peer's text is not worth a broken connection."""
    message, _ = codec.decode(Sample.plan(0), bytes.fromhex("0007 01 0003 61ff62 ffff 00000000 00000000"), 0)
    assert message.name == "a�b"


@pytest.mark.parametrize("marker", ["01", "00", "7f"])
def test_any_marker_that_is_not_negative_means_a_struct(marker, codec):
    frame = bytes.fromhex(f"0007 01 01 00 01 01 {marker} 0000000100000002 00 00")
    assert codec.decode(Sample.plan(2), frame, 0)[0].perhaps == Pair(left=1, right=2)


@pytest.mark.parametrize("marker", ["ff", "80"])
def test_a_negative_marker_means_null(marker, codec):
    frame = bytes.fromhex(f"0007 01 01 00 01 01 {marker} 00")
    assert codec.decode(Sample.plan(2), frame, 0)[0].perhaps is None


def test_any_byte_but_zero_is_true(codec):
    assert codec.decode(Sample.plan(0), b"\0\7\x80" + PLAIN_EMPTY[3:], 0)[0].flag is True


def test_trailing_bytes_are_left_alone(codec):
    message, end = codec.decode(Sample.plan(0), PLAIN_EMPTY + b"more", 0)
    assert (message.number, end) == (7, len(PLAIN_EMPTY))


@pytest.mark.parametrize("version", [12, 13])
def test_librdkafka_asks_for_all_topics_with_three_bytes_too_many(version, codec):
    header = bytes.fromhex(f"0003 00{version:02x} 00000002 0004 666c6f77 00")
    frame = header + bytes.fromhex("00 01 00 00") + b"\0\0\0"
    _, at = codec.decode(RequestHeader.plan(2), frame, 0)
    request, end = codec.decode(MetadataRequest.plan(version), frame, at)
    assert request == MetadataRequest(topics=None)
    assert len(frame) - end == 3
    assert MetadataRequest.decode(frame, version, at) == request


def produce(records):
    topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=records)])
    return ProduceRequest(topic_data=[topic])


def records_of(request):
    return request.topic_data[0].partition_data[0].records


@pytest.mark.parametrize("version", [3, 9])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_records_come_out_as_a_view_into_the_frame(kind, version, codec):
    data = produce(b"0123456789").to_bytes(version)
    frame = kind(data)
    request, _ = codec.decode(ProduceRequest.plan(version), frame, 0)
    records = records_of(request)
    assert isinstance(records, memoryview)
    assert (bytes(records), records.format, records.ndim) == (b"0123456789", "B", 1)
    assert records.obj is (data if kind is memoryview else frame)


def test_a_view_sees_what_is_written_to_the_frame_later(codec):
    frame = bytearray(produce(b"0123456789").to_bytes(9))
    request, _ = codec.decode(ProduceRequest.plan(9), frame, 0)
    frame[frame.index(b"0123456789")] = ord("X")
    assert bytes(records_of(request)) == b"X123456789"


def test_other_bytes_fields_are_copies(codec):
    frame = bytearray(Sample(content=b"abc").to_bytes(0))
    message, _ = codec.decode(Sample.plan(0), frame, 0)
    frame[:] = bytes(len(frame))
    assert message.content == b"abc"
    assert type(message.content) is bytes


@pytest.mark.parametrize(
    "records", [b"abc", bytearray(b"abc"), memoryview(b"abc"), Range(3)], ids=lambda r: type(r).__name__
)
def test_records_go_in_as_they_are(records, codec):
    parts = codec.encode(ProduceRequest.plan(9), produce(records))
    assert [part is records for part in parts] == [False, True, False]
    rest = b"abc".join([parts[0], parts[2]])
    assert rest == produce(b"abc").to_bytes(9)


def test_each_partition_is_a_part_of_its_own(codec):
    ranges = [Range(5), Range(7)]
    partitions = [PartitionData(partition_index=index, records=part) for index, part in enumerate(ranges)]
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])
    parts = codec.encode(FetchResponse.plan(11), response)
    assert [part for part in parts if isinstance(part, Range)] == ranges
    assert all(isinstance(part, (bytes, Range)) for part in parts)


def test_empty_and_null_records_are_no_part(codec):
    for records in (b"", None, Range(0)):
        assert [type(part) for part in codec.encode(ProduceRequest.plan(9), produce(records))] == [bytes]


def test_a_message_of_no_bytes_is_one_empty_part(codec):
    assert codec.encode(Nothing.plan(0), Nothing()) == [b""]


class Nothing(Data, versions="0"):
    """Carries no field."""


class Fixed(Data, versions="0"):
    topic_id = uuid()
    small = int8()
    large = int64()


UNFIT = {
    "too large": (Sample(number=32768), 0, "Sample.number is 32768, which does not fit int16"),
    "too small": (Sample(number=-32769), 0, "Sample.number is -32769, which does not fit int16"),
    "no number": (Sample(number="x"), 0, "Sample.number is 'x', which does not fit int16"),
    "a float": (Sample(number=1.0), 0, "Sample.number is 1.0, which does not fit int16"),
    "null number": (Sample(number=None), 0, "Sample.number is None, which does not fit int16"),
    "the second of a group": (Fixed(large=2**63), 0, "Fixed.large is 9223372036854775808, which does not fit int64"),
    "a short id": (
        *(Fixed(topic_id=b"x", small=999), 0),
        "Fixed.topic_id is b'x' where the 16 bytes of an id are expected",
    ),
    "null string": (Sample(name=None), 0, "Sample.name is null, which version 0 does not allow"),
    "no string": (Sample(name=b"x"), 0, "Sample.name is of type bytes where a str is expected"),
    "long string": (Sample(name="ü" * 16384), 0, "Sample.name has 32768 bytes, at most 32767 fit"),
    "surrogate": (Sample(name="\ud800"), 0, "Sample.name holds a lone surrogate, which UTF-8 cannot carry"),
    "no bytes": (Sample(content="x"), 0, "Sample.content is of type str where bytes are expected"),
    "null bytes": (Sample(content=None), 1, "Sample.content is null, which version 1 does not allow"),
    "gaps": (
        Sample(content=memoryview(b"abcd")[::2]),
        0,
        "Sample.content is a view with gaps where bytes are expected",
    ),
    "no list": (Sample(pairs="x"), 0, "Sample.pairs is of type str where a list is expected"),
    "null list": (Sample(pairs=None), 0, "Sample.pairs is null, which version 0 does not allow"),
    "another struct": (Sample(pairs=[Sample()]), 0, "Sample where Pair is expected"),
    "no struct": (Sample(pairs=[None]), 0, "NoneType where Pair is expected"),
    "inside a struct": (Sample(pairs=[Pair(left=2**31)]), 0, "Pair.left is 2147483648, which does not fit int32"),
    "an element": (Sample(words=["a", 1]), 1, "Sample.words is of type int where a str is expected"),
    "not carried": (Sample(small=1), 0, "Sample.small is set, but version 0 does not carry it"),
    "a tag": (Sample(small=128), 1, "Sample.small is 128, which does not fit int8"),
    "a tag twice": (Sample(small=1, unknown_tags=((0, b""),)), 1, "Sample has the tag 0 twice"),
    "no tag": (
        *(Sample(unknown_tags=((-1, b""),)), 1),
        "Sample.unknown_tags holds (-1, b'') where a tag and its bytes are expected",
    ),
}


@pytest.mark.parametrize("story", UNFIT)
def test_unfit(story, codec):
    message, version, reason = UNFIT[story]
    assert unfit(codec, message, version) == reason


class Stored(Data, versions="0"):
    records = records_()


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        (-1, "Stored.records has the size -1, at most 2147483647 fits"),
        (2**31, "Stored.records has the size 2147483648, at most 2147483647 fits"),
        (2**70, f"Stored.records has the size {2**70}, at most 2147483647 fits"),
        ("x", "Stored.records has the size 'x' where a number of bytes is expected"),
    ],
)
def test_a_range_with_an_impossible_size(size, reason, codec):
    assert unfit(codec, Stored(records=Range(size)), 0) == reason


def test_an_integer_by_another_name_fits(codec):
    assert b"".join(codec.encode(Sample.plan(0), Sample(number=True, flag=1))) == b"\0\1" + PLAIN_EMPTY[2:]


def test_a_tuple_serves_as_a_list(codec):
    pairs = (Pair(left=1), Pair(right=2))
    written = b"".join(codec.encode(Sample.plan(0), Sample(pairs=pairs)))
    assert written == b"".join(codec.encode(Sample.plan(0), Sample(pairs=list(pairs))))


def test_no_message_begins_before_the_frame(codec):
    with pytest.raises(ValueError, match="no message begins at byte -1"):
        codec.decode(MetadataRequest.plan(12), b"\x00\x00\x00", -1)


def test_of_a_tag_that_comes_twice_the_last_one_counts(codec):
    endpoint = bytes.fromhex("00000007 026100002384 00 00".replace(" ", ""))
    first = b"\x00" + bytes([1 + len(endpoint)]) + b"\x02" + endpoint
    empty = b"\x00\x01\x01"
    data = bytes(10) + b"\x01" + b"\x02" + first + empty
    assert codec.decode(FetchResponse.plan(16), data, 0)[0].node_endpoints == []
    assert len(codec.decode(FetchResponse.plan(16), data[:11] + b"\x02" + empty + first, 0)[0].node_endpoints) == 1
