"""Committed offsets by group, topic and partition, and those that wait for the end of a transaction.

An offset that a transaction commits is pending until its marker: then it counts, unless the group has committed a later
record for the same partition meanwhile, or it is dropped. Which partitions have something pending is what
`require_stable` asks.
"""

from collections.abc import Iterator
from typing import NamedTuple

from odradek.broken_rule import BrokenRuleError, instance, require
from odradek.protocol.declare import Message
from odradek.protocol.field import ZERO_UUID
from odradek.protocol.messages.consumer_offsets import LegacyOffsetCommitValue, OffsetCommitValue

NO_EXPIRY = -1

# The fields of a Committed. There may be millions of them for years: a plain tuple of plain values is nothing that the
# garbage collector comes back to.
Stored = tuple[int, int, str, int, int, bytes, int]


class Committed(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int  # NO_EXPIRY unless the commit has brought a retention time of its own
    topic_id: bytes
    record_offset: int  # where its record lies: of two commits the later one counts


def stored(value: Message, record_offset: int) -> Stored:
    if type(value) is OffsetCommitValue:
        return (
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            value.topic_id,
            record_offset,
        )
    legacy = instance(value, LegacyOffsetCommitValue, "the value of a commit is a commit")
    return legacy.offset, -1, legacy.metadata, legacy.commit_timestamp, NO_EXPIRY, ZERO_UUID, record_offset


Partitions = dict[int, Stored]
Place = tuple[str, str, int]  # group, topic, partition


class OffsetStore:
    __slots__ = ("_by_topic", "_committed", "_pending", "_unstable")

    def __init__(self) -> None:
        self._committed: dict[str, dict[str, Partitions]] = {}
        self._by_topic: dict[str, dict[str, None]] = {}  # the groups that have committed something for a topic
        self._pending: dict[int, dict[Place, Stored]] = {}  # by producer id
        self._unstable: dict[str, dict[tuple[str, int], set[int]]] = {}  # producer ids, by group and partition

    # What there is

    def get(self, group_id: str, topic: str, partition: int) -> Committed | None:
        topics = self._committed.get(group_id)
        partitions = None if topics is None else topics.get(topic)
        found = None if partitions is None else partitions.get(partition)
        return None if found is None else Committed(*found)

    def of_group(self, group_id: str) -> dict[str, Partitions]:
        return self._committed.get(group_id, {})

    def count(self) -> int:
        """How many offsets are committed, in all groups together."""
        return sum(len(partitions) for topics in self._committed.values() for partitions in topics.values())

    def is_unstable(self, group_id: str, topic: str, partition: int) -> bool:
        unstable = self._unstable.get(group_id)
        return unstable is not None and (topic, partition) in unstable

    def groups_of_topic(self, topic: str) -> list[str]:
        return list(self._by_topic.get(topic, ()))

    def places(self, group_id: str) -> Iterator[tuple[str, int, Committed]]:
        for topic, partitions in self.of_group(group_id).items():
            for partition, found in partitions.items():
                yield topic, partition, Committed(*found)

    def pending_places(self, group_id: str) -> list[tuple[str, int]]:
        return list(self._unstable.get(group_id, ()))

    # The log

    def replay(self, group_id: str, topic: str, partition: int, committed: Stored) -> None:
        topics = self._committed.get(group_id)
        if topics is None:
            topics = self._committed[group_id] = {}
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[topic] = {}
            self._by_topic.setdefault(topic, {})[group_id] = None
        partitions[partition] = committed

    def replay_pending(self, producer_id: int, place: Place, committed: Stored) -> None:
        self._pending.setdefault(producer_id, {})[place] = committed
        group_id, topic, partition = place
        self._unstable.setdefault(group_id, {}).setdefault((topic, partition), set()).add(producer_id)

    def replay_tombstone(self, place: Place) -> None:
        """What is pending for the place is gone with it: its group or its topic was deleted."""
        group_id, topic, partition = place
        topics = self._committed.get(group_id)
        if topics is not None and topic in topics:
            topics[topic].pop(partition, None)
            self._prune(group_id, topic)
        for producer_id in list(self._unstable.get(group_id, {}).get((topic, partition), ())):
            self._drop_pending(producer_id, place)

    def replay_end(self, producer_id: int, is_commit: bool) -> None:
        for place, committed in list(self._pending.get(producer_id, {}).items()):
            self._drop_pending(producer_id, place)
            if is_commit:
                current = self.get(*place)
                if current is None or current.record_offset < Committed(*committed).record_offset:
                    self.replay(*place, committed)

    def _prune(self, group_id: str, topic: str) -> None:
        topics = self._committed[group_id]
        if not topics[topic]:
            del topics[topic]
            self._by_topic[topic].pop(group_id, None)
            if not self._by_topic[topic]:
                del self._by_topic[topic]
        if not topics:
            del self._committed[group_id]

    def _drop_pending(self, producer_id: int, place: Place) -> None:
        group_id, topic, partition = place
        of_producer = self._pending[producer_id]
        del of_producer[place]
        if not of_producer:
            del self._pending[producer_id]
        unstable = self._unstable[group_id]
        unstable[topic, partition].discard(producer_id)
        if not unstable[topic, partition]:
            del unstable[topic, partition]
        if not unstable:
            del self._unstable[group_id]

    def validate(self) -> None:
        by_topic: dict[str, dict[str, None]] = {}
        for group_id, topics in self._committed.items():
            if not topics or not all(topics.values()):
                raise BrokenRuleError(f"{group_id} has empty places")
            for topic in topics:
                by_topic.setdefault(topic, {})[group_id] = None
        require(by_topic == self._by_topic, "topics are indexed by the groups that have committed for them")
        unstable: dict[str, dict[tuple[str, int], set[int]]] = {}
        for producer_id, places in self._pending.items():
            if not places:
                raise BrokenRuleError(f"producer {producer_id} has an empty transaction")
            for group_id, topic, partition in places:
                unstable.setdefault(group_id, {}).setdefault((topic, partition), set()).add(producer_id)
        require(unstable == self._unstable, "a partition is unstable while a commit of a transaction is pending for it")
