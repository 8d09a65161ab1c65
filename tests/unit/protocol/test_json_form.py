"""Messages as JSON in Kafka's form, and what is said about JSON that is no message."""

import pytest

from odradek.protocol.errors import EncodeError
from odradek.protocol.json_form import from_json, to_json
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest

TOPIC_ID = bytes(range(16))
HEARTBEAT = {"groupId": "g", "generationId": 3, "memberId": "m", "groupInstanceId": None}


def test_names_are_kafkas_and_every_field_of_the_version_is_there():
    request = HeartbeatRequest(group_id="g", generation_id=3, member_id="m")
    assert to_json(request, 3) == HEARTBEAT
    assert list(to_json(request, 0)) == ["groupId", "generationId", "memberId"]


def test_ids_have_their_22_characters_and_records_are_base64():
    topic = TopicProduceData(topic_id=TOPIC_ID, partition_data=[PartitionProduceData(records=memoryview(b"\0\xff"))])
    form = to_json(ProduceRequest(topic_data=[topic]), 13)["topicData"][0]
    assert form == {"topicId": "AAECAwQFBgcICQoLDA0ODw", "partitionData": [{"index": 0, "records": "AP8="}]}


def test_a_tagged_field_at_its_default_is_left_out():
    assert "clusterId" not in to_json(FetchRequest(), 17)
    assert to_json(FetchRequest(cluster_id="c"), 17)["clusterId"] == "c"
    partition = FetchPartition(replica_directory_id=TOPIC_ID)
    form = to_json(FetchRequest(topics=[FetchTopic(partitions=[partition])]), 17)
    assert form["topics"][0]["partitions"][0]["replicaDirectoryId"] == "AAECAwQFBgcICQoLDA0ODw"


def test_there_and_back():
    partition = FetchPartition(partition=1, fetch_offset=2**62, replica_directory_id=TOPIC_ID)
    request = FetchRequest(cluster_id="c", topics=[FetchTopic(topic_id=TOPIC_ID, partitions=[partition])])
    assert from_json(FetchRequest, to_json(request, 17), 17) == request


def test_a_missing_tagged_field_is_its_default():
    assert from_json(FetchRequest, to_json(FetchRequest(), 17), 17).cluster_id is None


WRONG = {
    "no object": ([], "HeartbeatRequest is [] where an object is expected"),
    "missing": (
        {"groupId": "g", "generationId": 3, "memberId": "m"},
        "HeartbeatRequest lacks 'groupInstanceId', which version 3 carries",
    ),
    "unknown": ({**HEARTBEAT, "color": 1}, "HeartbeatRequest has no field 'color' in version 3"),
    "a number for a string": ({**HEARTBEAT, "groupId": 5}, "HeartbeatRequest.groupId is 5 where a string is expected"),
    "a string for a number": (
        {**HEARTBEAT, "generationId": "3"},
        "HeartbeatRequest.generationId is '3' where int32 is expected",
    ),
    "a boolean for a number": (
        {**HEARTBEAT, "generationId": True},
        "HeartbeatRequest.generationId is True where int32 is expected",
    ),
    "an object for a number": (
        {**HEARTBEAT, "generationId": {}},
        "HeartbeatRequest.generationId is {} where int32 is expected",
    ),
}


@pytest.mark.parametrize("story", WRONG)
def test_wrong(story):
    form, reason = WRONG[story]
    with pytest.raises(EncodeError) as refusal:
        from_json(HeartbeatRequest, form, 3)
    assert str(refusal.value) == reason


def fetch(**changes):
    topic = {"topicId": "AAECAwQFBgcICQoLDA0ODw", "partitions": []}
    return {**to_json(FetchRequest(), 17), "topics": [{**topic, **changes}]}


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        (fetch(topicId="short"), "FetchRequest.topics.topicId: 'short' is not an id: expected 22 characters"),
        (fetch(partitions={}), "FetchRequest.topics.partitions is {} where a list is expected"),
        (fetch(partitions=[5]), "FetchRequest.topics.partitions is 5 where an object is expected"),
        (fetch(topic="t"), "FetchRequest.topics has no field 'topic' in version 17"),
    ],
)
def test_wrong_inside(form, reason):
    with pytest.raises(EncodeError) as refusal:
        from_json(FetchRequest, form, 17)
    assert str(refusal.value).startswith(reason)


@pytest.mark.parametrize("records", ["A", "AA=", "A A=", "AAAA*", "ü", "_-AA"])
def test_records_that_are_no_base64(records):
    form = {
        **to_json(ProduceRequest(), 13),
        "topicData": [{"topicId": "AAECAwQFBgcICQoLDA0ODw", "partitionData": [{"index": 0, "records": records}]}],
    }
    with pytest.raises(EncodeError, match=r"^ProduceRequest.topicData.partitionData.records: "):
        from_json(ProduceRequest, form, 13)


def test_null_and_range_are_the_encoders_to_judge():
    message = from_json(HeartbeatRequest, {**HEARTBEAT, "memberId": None}, 3)
    with pytest.raises(EncodeError, match=r"HeartbeatRequest\.member_id is null, which version 3 does not allow"):
        message.encode(3)
    message = from_json(HeartbeatRequest, {**HEARTBEAT, "generationId": 2**31}, 3)
    with pytest.raises(EncodeError, match="does not fit int32"):
        message.encode(3)
