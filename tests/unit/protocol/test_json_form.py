"""Messages as JSON in Kafka's form, and what is said about JSON that is no message."""

import pytest

from odradek.protocol.errors import EncodeError
from odradek.protocol.json_form import from_json, to_json
from odradek.protocol.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k03_metadata import MetadataRequest
from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest
from odradek.protocol.messages.k18_api_versions import ApiVersionsResponse
from odradek.protocol.messages.k48_describe_client_quotas import DescribeClientQuotasResponse

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
    "no object": ([], "HeartbeatRequest is a list where an object is expected"),
    "null": (None, "HeartbeatRequest is null where an object is expected"),
    "missing": (
        {"groupId": "g", "generationId": 3, "memberId": "m"},
        'HeartbeatRequest lacks "groupInstanceId", which version 3 carries',
    ),
    "unknown": ({**HEARTBEAT, "color": 1}, 'HeartbeatRequest has no field "color" in version 3'),
    "a number for a string": ({**HEARTBEAT, "groupId": 5}, "HeartbeatRequest.groupId is 5 where a string is expected"),
    "a string for a number": (
        {**HEARTBEAT, "generationId": "3"},
        'HeartbeatRequest.generationId is "3" where a whole number is expected',
    ),
    "a boolean for a number": (
        {**HEARTBEAT, "generationId": True},
        "HeartbeatRequest.generationId is true where a whole number is expected",
    ),
    "an object for a number": (
        {**HEARTBEAT, "generationId": {}},
        "HeartbeatRequest.generationId is an object where a whole number is expected",
    ),
    "one and a half": (
        {**HEARTBEAT, "generationId": 1.5},
        "HeartbeatRequest.generationId is 1.5, which is not a whole number",
    ),
    "no number at all": (
        {**HEARTBEAT, "generationId": float("nan")},
        "HeartbeatRequest.generationId is NaN, which is not a whole number",
    ),
    "a whole number in disguise": (
        {**HEARTBEAT, "generationId": 3.0},
        "HeartbeatRequest.generationId is 3.0: write a whole number without a point or an exponent",
    ),
    "too large": (
        {**HEARTBEAT, "generationId": 2**31},
        "HeartbeatRequest.generationId is 2147483648, which does not fit int32 (-2147483648 to 2147483647)",
    ),
    "null where it is not allowed": (
        {**HEARTBEAT, "memberId": None},
        "HeartbeatRequest.memberId is null, which version 3 does not allow",
    ),
    "a lone surrogate": (
        {**HEARTBEAT, "memberId": "\ud800"},
        "HeartbeatRequest.memberId holds a lone surrogate, which UTF-8 cannot carry",
    ),
    "a long string": (
        {**HEARTBEAT, "memberId": "ü" * 16384},
        "HeartbeatRequest.memberId has 32768 bytes, at most 32767 fit",
    ),
    "a long string in the wrong place": (
        {**HEARTBEAT, "generationId": "x" * 1000},
        f'HeartbeatRequest.generationId is "{"x" * 59}... where a whole number is expected',
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
        (fetch(topicId="short"), 'FetchRequest.topics[0].topicId is "short" where an id is expected: 22 characters'),
        (fetch(topicId=7), "FetchRequest.topics[0].topicId is 7 where a string is expected"),
        (fetch(partitions={}), "FetchRequest.topics[0].partitions is an object where a list is expected"),
        (fetch(partitions=[5]), "FetchRequest.topics[0].partitions[0] is 5 where an object is expected"),
        (fetch(partitions=[None]), "FetchRequest.topics[0].partitions[0] is null, which version 17 does not allow"),
        (fetch(topic="t"), 'FetchRequest.topics[0] has no field "topic" in version 17'),
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
    with pytest.raises(
        EncodeError, match=r"^ProduceRequest.topicData\[0\].partitionData\[0\].records is .*, which is not base64: "
    ):
        from_json(ProduceRequest, form, 13)


def test_the_index_counts_the_elements():
    keys = [{"apiKey": key, "minVersion": 0, "maxVersion": 0} for key in range(3)]
    keys[2]["minVersion"] = "x"
    with pytest.raises(EncodeError) as refusal:
        from_json(ApiVersionsResponse, {"errorCode": 0, "apiKeys": keys}, 0)
    assert str(refusal.value) == 'ApiVersionsResponse.apiKeys[2].minVersion is "x" where a whole number is expected'


def test_where_names_the_place_in_a_larger_form():
    with pytest.raises(EncodeError, match=r"^body.groupId is 5 where"):
        from_json(HeartbeatRequest, {**HEARTBEAT, "groupId": 5}, 3, where="body")


@pytest.mark.parametrize("value", [True, False])
def test_booleans_are_true_or_false_only(value):
    form = {**to_json(MetadataRequest(), 13), "allowAutoTopicCreation": value}
    assert from_json(MetadataRequest, form, 13).allow_auto_topic_creation is value
    with pytest.raises(EncodeError, match="allowAutoTopicCreation is 1 where true or false is expected"):
        from_json(MetadataRequest, {**form, "allowAutoTopicCreation": int(value) or 1}, 13)


@pytest.mark.parametrize(
    ("value", "reason"), [(True, "true where a number is"), (10**400, r"1000+\.\.\., which does not fit")]
)
def test_a_float_takes_any_number_that_fits(value, reason):
    def form(number):
        entry = {"entity": [{"entityType": "t", "entityName": None}], "values": [{"key": "k", "value": number}]}
        return {"throttleTimeMs": 0, "errorCode": 0, "errorMessage": None, "entries": [entry]}

    assert from_json(DescribeClientQuotasResponse, form(2), 1).entries[0].values[0].value == 2
    with pytest.raises(EncodeError, match=rf"entries\[0\].values\[0\].value is {reason}"):
        from_json(DescribeClientQuotasResponse, form(value), 1)


TAGGED = HeartbeatRequest(group_id="g", generation_id=3, member_id="m", unknown_tags=((5, b"\0\xff"), (7, b"")))


def test_unknown_tags_are_shown_on_demand_and_read_back():
    assert to_json(TAGGED, 4) == HEARTBEAT
    form = to_json(TAGGED, 4, unknown_tags=True)
    assert form == {**HEARTBEAT, "_unknownTags": [{"tag": 5, "bytes": "AP8="}, {"tag": 7, "bytes": ""}]}
    assert from_json(HeartbeatRequest, form, 4, unknown_tags=True) == TAGGED
    assert "_unknownTags" not in to_json(HeartbeatRequest(), 4, unknown_tags=True)


def test_unknown_tags_of_inner_structs():
    request = FetchRequest(topics=[FetchTopic(topic_id=TOPIC_ID, unknown_tags=((9, b"x"),))])
    form = to_json(request, 17, unknown_tags=True)
    assert form["topics"][0]["_unknownTags"] == [{"tag": 9, "bytes": "eA=="}]
    assert from_json(FetchRequest, form, 17, unknown_tags=True) == request


def test_unknown_tags_are_no_part_of_kafkas_form():
    with pytest.raises(EncodeError, match='has no field "_unknownTags" in version 4'):
        from_json(HeartbeatRequest, to_json(TAGGED, 4, unknown_tags=True), 4)


@pytest.mark.parametrize(
    ("tags", "reason"),
    [
        ({}, "_unknownTags is an object where a list is expected"),
        ([5], '_unknownTags[0] is 5 where an object with "tag" and "bytes" is expected'),
        ([{"tag": 5}], '_unknownTags[0] is an object where an object with "tag" and "bytes" is expected'),
        ([{"tag": -1, "bytes": ""}], "_unknownTags[0].tag is -1 where 0-4294967295 is expected"),
        ([{"tag": 2**32, "bytes": ""}], "_unknownTags[0].tag is 4294967296 where 0-4294967295 is expected"),
        ([{"tag": "5", "bytes": ""}], '_unknownTags[0].tag is "5" where a whole number is expected'),
        ([{"tag": 5, "bytes": None}], "_unknownTags[0].bytes is null where a string is expected"),
        ([{"tag": 5, "bytes": ""}, {"tag": 5, "bytes": ""}], "_unknownTags has the tag 5 twice"),
        ([{"tag": 0, "bytes": ""}], '_unknownTags[0].tag is 0, which is that of "clusterId"'),
    ],
)
def test_wrong_unknown_tags(tags, reason):
    form = {**to_json(FetchRequest(), 17), "_unknownTags": tags}
    with pytest.raises(EncodeError) as refusal:
        from_json(FetchRequest, form, 17, unknown_tags=True)
    assert str(refusal.value) == f"FetchRequest.{reason}"


def test_unknown_tags_in_a_version_without_tags():
    form = {**HEARTBEAT, "_unknownTags": []}
    with pytest.raises(EncodeError, match="_unknownTags is set, but version 3 carries no tagged fields"):
        from_json(HeartbeatRequest, form, 3, unknown_tags=True)
