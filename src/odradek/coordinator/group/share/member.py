"""A member of a share group, and the topics that the group keeps state for, as values."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.coordinator.group.epochs.group import JOINING

STABLE = 0  # the one state of a member: nothing has to be given back, because nobody owns a share-partition

Target = Mapping[bytes, frozenset[int]]  # partitions by topic id
NOTHING: Target = {}


class ShareMember(NamedTuple):
    member_id: str
    epoch: int = JOINING
    previous_epoch: int = JOINING
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()  # sorted
    assigned: Target = NOTHING

    def subscription(self) -> "ShareMember":
        """Returns the member without its assignment: what the record of a member holds."""
        return self._replace(epoch=JOINING, previous_epoch=JOINING, assigned=NOTHING)


class StateTopic(NamedTuple):
    name: str
    partitions: frozenset[int]


class StateTopics(NamedTuple):
    """Topics by id: whose share-partitions are being set up, are ready to be read, are being deleted."""

    initializing: Mapping[bytes, StateTopic] = {}
    initialized: Mapping[bytes, StateTopic] = {}
    deleting: Mapping[bytes, str] = {}


def added(topics: Mapping[bytes, StateTopic], more: Mapping[bytes, StateTopic]) -> dict[bytes, StateTopic]:
    joined = dict(topics)
    for topic_id, (name, partitions) in more.items():
        has = joined[topic_id].partitions if topic_id in joined else frozenset()
        joined[topic_id] = StateTopic(name, has | partitions)
    return joined


def without(topics: Mapping[bytes, StateTopic], less: Mapping[bytes, StateTopic]) -> dict[bytes, StateTopic]:
    left: dict[bytes, StateTopic] = {}
    for topic_id, (name, partitions) in topics.items():
        kept = partitions - less[topic_id].partitions if topic_id in less else partitions
        if kept:
            left[topic_id] = StateTopic(name, kept)
    return left


def places(partitions: Target) -> Iterable[tuple[bytes, int]]:
    return ((topic_id, partition) for topic_id, of_topic in partitions.items() for partition in of_topic)
