"""The shape of a Produce request: what can be said of its topics and records before any partition is asked."""

from typing import Any

from odradek.protocol import errors
from odradek.protocol.messages.k00_produce import PartitionProduceData, TopicProduceData
from odradek.records.check import check_request
from odradek.records.layout import (
    ATTRIBUTES_OFFSET,
    HEADER_SIZE,
    LENGTH_OFFSET,
    LOG_OVERHEAD,
    MAGIC_MAX,
    MAGIC_OFFSET,
    TRANSACTIONAL_MASK,
)
from odradek.replica.fetch_entry import TopicKey

TOPIC_ID_VERSION_MIN = 13

# A view into the frame, or a buffer of a request that never was on a wire; None if there are none. The declaration of
# the message allows ranges of files too, for answers: to tell them apart at run time would cost a call for each.
Records = Any


def is_transactional(records: Records) -> bool:
    return (
        records is not None
        and len(records) >= HEADER_SIZE
        and records[ATTRIBUTES_OFFSET + 1] & TRANSACTIONAL_MASK
        and records[MAGIC_OFFSET] == MAGIC_MAX
    )


def is_early(error: errors.KafkaError, records: Records, version: int) -> bool:
    """Found before the log was asked: in the shape of the request, in its topic or its transaction.

    The error does not tell: `check` raises the same ones by the rules of the topic. So the shape is looked at once
    more, which costs a walk over the headers, and only for what has failed.
    """
    if isinstance(error, errors.InvalidTxnState | errors.InvalidTopicException):
        return True
    if records is None:
        return False
    try:
        check_request(records, version)
    except errors.KafkaError:
        return True
    return False


def check_readable(topics: list[TopicProduceData], version: int) -> None:
    """A batch that nobody can read fails the whole request: that must show before a part of it is appended."""
    for topic in topics:
        for data in topic.partition_data:
            records: Records = data.records
            if records is None or len(records) < HEADER_SIZE:
                continue
            size = int.from_bytes(records[LENGTH_OFFSET : LENGTH_OFFSET + 4], "big") + LOG_OVERHEAD
            if size != len(records) or records[MAGIC_OFFSET] > MAGIC_MAX:
                _raise_if_corrupt(records, version)


def _raise_if_corrupt(records: Records, version: int) -> None:
    try:
        check_request(records, version)
    except errors.CorruptMessage:
        raise
    except errors.KafkaError:
        return  # this partition's own affair


def without_repeats(topics: list[TopicProduceData], version: int) -> list[TopicProduceData]:
    """Returns each topic once and each partition once: of one that is named twice the last data."""
    found: dict[TopicKey, dict[int, PartitionProduceData]] = {}
    repeats = 0
    for topic in topics:
        key = topic_key(topic, version)
        partitions = found.setdefault(key, {})
        repeats += bool(partitions)
        for data in topic.partition_data:
            repeats += data.index in partitions
            partitions[data.index] = data
    if not repeats:
        return topics
    first = {topic_key(topic, version): topic for topic in reversed(topics)}
    return [
        TopicProduceData(name=first[key].name, topic_id=first[key].topic_id, partition_data=list(partitions.values()))
        for key, partitions in found.items()
    ]


def topic_key(topic: TopicProduceData, version: int) -> TopicKey:
    """The id of a topic where the version has ids, else its name."""
    return topic.topic_id if version >= TOPIC_ID_VERSION_MIN else topic.name
