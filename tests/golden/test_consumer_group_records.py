"""A consumer group that a real Kafka 4.3.0 wrote is replayed; our records of one are the same but for ids and times."""

import metadata_kit
from consumer_kit import LEAVE, ConsumerStory
from logdirs import segments
from odradek.protocol.frames import OFFSETS
from odradek.protocol.json_form import to_json
from odradek.replicated.log_record import LogRecord

GROUP = "group-consumer"
CONSUMER_TYPES = {3, 5, 6, 7, 8}
VARIES = ("topicId", "metadataHash", "assignmentTimestamp", "memberId", "clientId")


def golden_records():
    """Of the group, in the order of the log."""
    for name, file in sorted(segments("kafka-4.3.0-kraft-clean").items()):
        if not name.startswith("__consumer_offsets"):
            continue
        for batch in file["batches"]:
            for record in [] if batch["control"] else batch["records"]:
                key = OFFSETS.decode_key(bytes.fromhex(record["key"]))
                if key is not None and getattr(key, "group_id", None) == GROUP and key.api_key in CONSUMER_TYPES:
                    value = record["value"]
                    yield LogRecord(key, None if value is None else OFFSETS.decode_value(key, bytes.fromhex(value)))


def told(record):
    """A record without what differs from run to run; topics in the order of their ids."""
    if record.value is None:
        return record.key.api_key, None
    return record.key.api_key, _stripped(to_json(record.value, 0))


def _stripped(form):
    if isinstance(form, dict):
        return {name: _stripped(value) for name, value in form.items() if name not in VARIES}
    if isinstance(form, list):
        return sorted((_stripped(each) for each in form), key=str)
    return form


def test_a_life_of_a_group_is_written_as_kafka_writes_it():
    story = ConsumerStory({"keyed": 3, "plain": 1})
    assert story.joins("member", "keyed plain", group=GROUP, timeout_ms=300_000) == "2: keyed[0 1 2] plain[0]"
    assert story.says("member", LEAVE, group=GROUP) == "-1"
    golden = list(golden_records())
    assert len(golden) == 9
    assert [told(record) for record, _ in story.log] == [told(record) for record in golden]


def test_what_kafka_wrote_is_understood():
    story = ConsumerStory()
    golden = list(golden_records())
    for offset, record in enumerate(golden[:5]):
        story.core.replay(record, offset)
    group = story.consumer_group(GROUP)
    (member,) = group.members.values()
    assert story.epochs(GROUP) == "Stable 2/2"
    assert (member.topic_names, member.epoch, member.previous_epoch) == (("keyed", "plain"), 2, 0)
    assert sorted(sorted(partitions.items()) for partitions in member.assigned.values()) == [
        [(0, 2)],
        [(0, 2), (1, 2), (2, 2)],
    ]
    for offset, record in enumerate(golden[5:], 5):
        story.core.replay(record, offset)
    assert story.epochs(GROUP) == "Empty 3/2"


def test_the_hash_of_the_topics_is_kafkas():
    """Of the group's record: so that neither of us assigns anew what the other has assigned."""
    golden = list(golden_records())
    hashes = {record.value.metadata_hash for record in golden if record.key.api_key == 3 and record.value is not None}
    targets = [record.value for record in golden if record.key.api_key == 7 and record.value is not None]
    by_count = {len(topic.partitions): bytes(topic.topic_id) for topic in targets[0].topic_partitions}
    story = ConsumerStory({})
    for name, count in (("keyed", 3), ("plain", 1)):
        story.change(*metadata_kit.topic(int.from_bytes(by_count[count], "big"), count, name=name))
    assert hashes - {0} == {story.core.consumers.topics.hash_of(["plain", "keyed", "missing"])}
    assert story.core.consumers.topics.hash_of(["missing"]) == 0
