"""A declared struct: slots, Kafka's defaults, equality, what it shows of itself, and the tags that it does not know."""

import gc
import sys

import pytest

import outside
from odradek.protocol.declare import Data, Struct, array, int32, nullable_struct, string, struct
from odradek.protocol.errors import UnsupportedVersion
from odradek.protocol.messages.header import RequestHeader
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from odradek.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic

TOPIC_ID = bytes(range(16))


class Inner(Struct):
    number = int32()


class Outer(Data, versions="0-3", flexible="2+"):
    name = string()
    inner = struct(Inner)
    perhaps = nullable_struct(Inner, "1+")
    inners = array(Inner)
    tagged = int32("2+", tag=0, default=7, ignorable=True)


def test_fields_are_slots_and_nothing_else_can_be_set():
    request = FetchRequest()
    assert not hasattr(request, "__dict__")
    with pytest.raises(AttributeError):
        request.max_wait = 5


def test_defaults_are_those_of_kafka():
    request = FetchRequest()
    assert (request.replica_id, request.max_bytes, request.session_epoch) == (-1, 2147483647, -1)
    assert (request.cluster_id, request.rack_id, request.topics) == (None, "", [])
    partition = FetchPartition()
    assert (partition.current_leader_epoch, partition.log_start_offset) == (-1, -1)
    assert partition.replica_directory_id == bytes(16)


def test_a_mutable_default_is_fresh_and_then_kept():
    one, other = Outer(), Outer()
    one.inners.append(Inner(number=1))
    one.inner.number = 5
    assert (one.inners, one.inner) == ([Inner(number=1)], Inner(number=5))
    assert (other.inners, other.inner) == ([], Inner())
    assert Outer().inners == []


def test_a_default_that_was_changed_in_place_is_encoded():
    message = Outer()
    message.inner.number = 5
    assert Outer.decode(message.to_bytes(0), 0).inner.number == 5


def test_reading_a_default_does_not_make_the_object_another():
    looked_at, untouched = Outer(), Outer()
    assert (looked_at.name, looked_at.inner.number, looked_at.tagged) == ("", 0, 7)
    assert looked_at == untouched
    assert looked_at.to_bytes(3) == untouched.to_bytes(3)


def test_an_unknown_name_is_an_error_at_construction():
    with pytest.raises(TypeError, match="FetchRequest has no field 'max_wait'"):
        FetchRequest(max_wait=5)


def test_an_unknown_name_is_an_error_when_read():
    with pytest.raises(AttributeError, match="FetchRequest has no field 'max_wait'"):
        _ = FetchRequest().max_wait


def test_repr_shows_what_differs_from_the_default():
    assert repr(FetchRequest()) == "FetchRequest()"
    request = FetchRequest(max_wait_ms=500, topics=[FetchTopic(topic="t", partitions=[FetchPartition(partition=3)])])
    assert repr(request) == (
        "FetchRequest(max_wait_ms=500, topics=[FetchTopic(topic='t', partitions=[FetchPartition(partition=3)])])"
    )


def test_repr_shows_ids_in_kafkas_form():
    assert repr(FetchTopic(topic_id=TOPIC_ID)) == "FetchTopic(topic_id=AAECAwQFBgcICQoLDA0ODw)"


def test_repr_shows_the_size_of_records_and_not_their_bytes():
    assert repr(PartitionProduceData(records=b"secret")) == "PartitionProduceData(records=<6 bytes>)"


def test_repr_shows_unknown_tags():
    assert repr(RequestHeader(unknown_tags=((9, b"x"),))) == "RequestHeader(unknown_tags=((9, b'x'),))"


def test_repr_leaves_a_struct_that_has_only_defaults_out():
    assert repr(FetchRequest(replica_state=ReplicaState())) == "FetchRequest()"


def test_equality_compares_every_field_and_the_unknown_tags():
    assert FetchTopic(topic="t") == FetchTopic(topic="t")
    assert FetchTopic(topic="t") != FetchTopic(topic="u")
    assert FetchTopic(topic="t") != FetchTopic(topic="t", unknown_tags=((9, b""),))
    assert MetadataRequestTopic() != Inner()
    assert Inner() != 0


def test_records_are_equal_as_bytes_whatever_holds_them():
    assert PartitionProduceData(records=b"ab") == PartitionProduceData(records=memoryview(b"xab")[1:])


def test_a_message_cannot_be_hashed():
    with pytest.raises(TypeError, match="unhashable"):
        hash(FetchRequest())


def test_a_version_that_is_not_declared():
    with pytest.raises(UnsupportedVersion, match="MetadataRequest has versions 0-13, not 14"):
        MetadataRequest().encode(14)
    with pytest.raises(UnsupportedVersion, match="not -1"):
        MetadataRequest.decode(b"", -1)


@pytest.mark.parametrize("version", ["3", True, 3.0, None])
def test_a_version_is_an_int_and_nothing_that_looks_like_one(version):
    class Fresh(Data, versions="0-9"):
        number = int32()

    with pytest.raises(TypeError) as refusal:
        Fresh().to_bytes(version)
    assert str(refusal.value) == f"a version of Fresh is an int, not {version!r}"
    assert Fresh.version_plans == {}


def test_flexible_versions():
    assert [version for version in Outer.versions if Outer.is_flexible(version)] == [2, 3]
    assert not RequestHeader.is_flexible(1)


def test_unknown_tags_are_kept_and_written_back(codec):
    data = bytes.fromhex("01 00000000 00 ff 01 02 8407 0178 a08d06 027979")  # tags 900 and 100000
    message, end = codec.decode(Outer.plan(2), data, 0)
    assert end == len(data)
    assert message.unknown_tags == ((900, b"x"), (100000, b"yy"))
    assert b"".join(codec.encode(Outer.plan(2), message)) == data


def test_unknown_tags_survive_at_every_depth(codec):
    topic = FetchTopic(topic_id=TOPIC_ID, unknown_tags=((900, b"inner"),))
    request = FetchRequest(topics=[topic], unknown_tags=((901, b"outer"),))
    data = b"".join(codec.encode(FetchRequest.plan(17), request))
    back, _ = codec.decode(FetchRequest.plan(17), data, 0)
    assert back.topics[0].unknown_tags == ((900, b"inner"),)
    assert back.unknown_tags == ((901, b"outer"),)
    assert b"".join(codec.encode(FetchRequest.plan(17), back)) == data


def test_unknown_tags_are_written_in_rising_order_among_the_known(codec):
    request = FetchRequest(cluster_id="c", unknown_tags=((901, b"b"), (900, b"a")))
    data = b"".join(codec.encode(FetchRequest.plan(17), request))
    assert data.endswith(bytes.fromhex("03 00 02 0263 8407 0161 8507 0162"))


def test_unknown_tags_are_dropped_where_the_version_has_no_tags(codec):
    with_tags = b"".join(codec.encode(Outer.plan(1), Outer(unknown_tags=((9, b"x"),))))
    assert with_tags == b"".join(codec.encode(Outer.plan(1), Outer()))


def test_a_tagged_field_at_its_default_is_not_written(codec):
    assert b"".join(codec.encode(Outer.plan(2), Outer(tagged=7)))[-1:] == b"\0"
    assert b"".join(codec.encode(Outer.plan(2), Outer(tagged=0))).endswith(bytes.fromhex("01 00 04 00000000"))


def test_decode_prefix_tells_where_the_message_ends():
    header = RequestHeader(request_api_key=3, correlation_id=7, client_id="c")
    frame = header.to_bytes(1) + b"body"
    back, at = RequestHeader.decode_prefix(b"xx" + frame, 1, at=2)
    assert (back, (b"xx" + frame)[at:]) == (header, b"body")


def test_one_object_serves_all_versions():
    topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=1, records=b"r")])
    request = ProduceRequest(acks=-1, timeout_ms=100, topic_data=[topic])
    for version in range(13):
        assert ProduceRequest.decode(request.to_bytes(version), version) == request
    assert ProduceRequest.decode(request.to_bytes(13), 13).topic_data[0].name == ""


DROPPED_CLASS = """
import gc
from odradek.protocol.declare import Data, array, int32

class Short(Data, versions="0", flexible="0+"):
    numbers = array(int32())

assert Short.decode(Short(numbers=[1]).to_bytes(0), 0).numbers == [1]
last = [Short.plan(0).compiled]  # younger than the plan, and so taken apart after it
last.append(last)
del Short, last
gc.collect()
"""


def test_a_class_with_plans_can_be_collected():
    """The collector takes plans apart in any order; nothing may be said about it, at exit neither."""
    done = outside.run([sys.executable, "-c", DROPPED_CLASS], check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_decoding_leaves_no_garbage(codec):
    data = FetchRequest(topics=[FetchTopic(topic_id=TOPIC_ID)]).to_bytes(17)

    def garbage():
        for _ in range(100):
            codec.decode(FetchRequest.plan(17), data, 0)
        return gc.collect()

    gc.collect()
    gc.freeze()  # what other tests have left need not be looked through again
    try:
        found = min(garbage() for _ in range(3))
    finally:
        gc.unfreeze()
    assert found == 0, "others in this process may leave some now and then, not every time"
