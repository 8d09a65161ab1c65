"""Metadata records for tests: those of real logs, and small ones made by hand."""

from odradek.metadata.delta import MetadataDelta
from odradek.metadata.image import EMPTY
from odradek.protocol.frames import METADATA
from odradek.protocol.messages import metadata_brokers, metadata_cluster, metadata_topics
from odradek.records.batch import batches

TRANSACTION_TYPES = (23, 24, 25)


class Batch:
    """As the quorum hands it to a listener."""

    def __init__(self, base_offset, records, epoch=1, append_ms=5, last_offset=None):
        self.base_offset = base_offset
        self.records = records
        self.epoch = epoch
        self.append_ms = append_ms
        self.last_offset = base_offset + max(len(records), 1) - 1 if last_offset is None else last_offset


class Snapshot:
    def __init__(self, offset, batches, epoch=1, last_contained_log_timestamp=5):
        self.offset = offset
        self.batches = batches
        self.epoch = epoch
        self.last_contained_log_timestamp = last_contained_log_timestamp


def log_batches(path):
    """Every batch of a metadata log; control batches have no records."""
    found = []
    for batch in batches(path.read_bytes()):
        records = [] if batch.is_control else [METADATA.decode(record.value)[0] for record in batch.records()]
        epoch, time = batch.partition_leader_epoch, batch.max_timestamp
        found.append(Batch(batch.base_offset, records, epoch, time, last_offset=batch.last_offset))
    return found


def image_of(records, image=EMPTY, offset=0):
    delta = MetadataDelta(image)
    for record in records:
        delta.replay(record)
    return delta.apply(offset, 1)


def topic_id(number):
    return number.to_bytes(16, "big")


def topic(number, partitions=1, name=None, **fields):
    """The records of a new topic."""
    made = [metadata_topics.TopicRecord(name=name or f"topic-{number}", topic_id=topic_id(number))]
    return made + [partition(number, index, **fields) for index in range(partitions)]


def partition(number, index=0, replicas=(1,), isr=None, leader=1, **fields):
    return metadata_topics.PartitionRecord(
        partition_id=index,
        topic_id=topic_id(number),
        replicas=list(replicas),
        isr=list(replicas if isr is None else isr),
        leader=leader,
        leader_epoch=0,
        partition_epoch=0,
        **fields,
    )


def change(number, index=0, **fields):
    return metadata_topics.PartitionChangeRecord(partition_id=index, topic_id=topic_id(number), **fields)


def level(name, value):
    return metadata_cluster.FeatureLevelRecord(name=name, feature_level=value)


def broker(broker_id, epoch=1, listeners=("PLAINTEXT",), **fields):
    points = [
        metadata_brokers.BrokerEndpoint(name=name, host=f"host-{broker_id}", port=9000 + index)
        for index, name in enumerate(listeners)
    ]
    return metadata_brokers.RegisterBrokerRecord(
        broker_id=broker_id, broker_epoch=epoch, incarnation_id=topic_id(broker_id + 1000), end_points=points, **fields
    )


def config(resource_type, resource, name, value):
    return metadata_topics.ConfigRecord(resource_type=resource_type, resource_name=resource, name=name, value=value)
