"""Offsets as Spark keeps them: `{"orders": {"0": 123}}` in options, progress and checkpoints; by partition in here."""

from collections.abc import Mapping
from typing import Any

from odradek.protocol.topic_partition import TopicPartition

Offsets = dict[TopicPartition, int]
OffsetTree = dict[str, dict[str, int]]


def tree_of(offsets: Mapping[TopicPartition, int]) -> OffsetTree:
    """In order, so that the same offsets are the same text."""
    tree: OffsetTree = {}
    for place in sorted(offsets):
        tree.setdefault(place.topic, {})[str(place.partition)] = offsets[place]
    return tree


def offsets_of(tree: Mapping[str, Any]) -> Offsets:
    """Any: a checkpoint is JSON, and may be that of Spark's own connector."""
    return {
        TopicPartition(topic, int(partition)): int(offset)
        for topic, partitions in tree.items()
        for partition, offset in partitions.items()
    }
