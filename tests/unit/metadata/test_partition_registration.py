"""The record of a partition: what it holds at each level of metadata.version makes the same partition again."""

import pytest

from odradek.metadata import record_versions
from odradek.metadata.delta import MetadataDelta
from odradek.metadata.image import EMPTY
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.metadata_topics import PartitionRecord, TopicRecord

TOPIC_ID = Uuid(bytes(range(16)))
DIRECTORIES = (bytes([1]) * 16, bytes([2]) * 16)


def image_of(record):
    delta = MetadataDelta(EMPTY)
    delta.replay(TopicRecord(name="t", topic_id=TOPIC_ID))
    delta.replay(record)
    return delta.apply(2, 1).topics.by_name["t"].partitions[0]


@pytest.mark.parametrize(
    ("level", "has_elr", "keeps_directories", "keeps_elr"),
    [
        (16, False, False, False),
        (17, False, True, False),
        (22, True, True, False),
        (23, False, True, False),
        (23, True, True, True),
    ],
)
def test_a_level_keeps_what_its_nodes_can_read(level, has_elr, keeps_directories, keeps_elr):
    whole = image_of(
        PartitionRecord(
            partition_id=0,
            topic_id=TOPIC_ID,
            replicas=[1, 2],
            isr=[1],
            leader=1,
            leader_epoch=3,
            partition_epoch=4,
            directories=[Uuid(each) for each in DIRECTORIES],
            eligible_leader_replicas=[2],
        )
    )
    record = whole.record(TOPIC_ID, 0, level, has_elr=has_elr)
    version = record_versions.partition(level)
    again = image_of(PartitionRecord.decode(record.to_bytes(version), version))
    assert (again.directories == DIRECTORIES) is keeps_directories
    assert again.elr == ((2,) if keeps_elr else ())
    assert again._replace(directories=whole.directories, elr=whole.elr) == whole
