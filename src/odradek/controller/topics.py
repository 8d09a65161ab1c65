"""Topics and their partitions, and who holds what.

Everything is keyed by topic id; names are an alias. Two indexes keep work proportional to what changes: by broker the
partitions in whose in-sync set it is, so that a broker that goes costs what it holds; and the partitions without a
leader, so that a broker that comes costs what waits for it. `validate` derives both anew.
"""

from collections.abc import Iterable, Iterator

from odradek.controller.partition import NO_LEADER, Partition
from odradek.protocol.messages.metadata_topics import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

Place = tuple[bytes, int]  # topic id and partition


class Topic:
    __slots__ = ("id", "name", "partitions")

    def __init__(self, name: str, topic_id: bytes) -> None:
        self.name = name
        self.id = topic_id
        self.partitions: dict[int, Partition] = {}

    def __repr__(self) -> str:
        return f"Topic({self.name}, {len(self.partitions)} partitions)"


class Topics:
    __slots__ = ("by_id", "by_name", "in_sync", "leaderless", "not_preferred", "reassigning", "with_collisions")

    def __init__(self) -> None:
        self.by_id: dict[bytes, Topic] = {}
        self.by_name: dict[str, Topic] = {}
        self.with_collisions: dict[str, dict[str, None]] = {}  # names by their form with every dot as underscore
        # Dicts are ordered sets here: what is decided must not depend on hashing.
        self.in_sync: dict[int, dict[Place, None]] = {}  # broker -> partitions that it could lead
        self.leaderless: dict[Place, None] = {}
        self.reassigning: dict[Place, None] = {}
        self.not_preferred: dict[Place, None] = {}  # led by another replica than their first

    def led_by(self, broker_id: int) -> Iterator[Place]:
        for place in self.in_sync.get(broker_id, ()):
            if self.by_id[place[0]].partitions[place[1]].leader == broker_id:
                yield place

    def leads_any(self, broker_id: int) -> bool:
        return next(self.led_by(broker_id), None) is not None

    # Records

    def replay_topic(self, record: TopicRecord) -> None:
        assert record.name not in self.by_name, f"topic {record.name} is there already"
        topic = Topic(record.name, record.topic_id)
        self.by_id[topic.id] = self.by_name[topic.name] = topic
        if _may_collide(topic.name):
            self.with_collisions.setdefault(collision_form(topic.name), {})[topic.name] = None

    def replay_partition(self, record: PartitionRecord) -> None:
        topic = self.by_id[record.topic_id]
        place = (topic.id, record.partition_id)
        self._put(topic, place, topic.partitions.get(record.partition_id), Partition.from_record(record))

    def replay_partition_change(self, record: PartitionChangeRecord) -> None:
        topic = self.by_id[record.topic_id]
        before = topic.partitions[record.partition_id]
        self._put(topic, (topic.id, record.partition_id), before, before.changed(record))

    def replay_clear_elr(self, record: ClearElrRecord) -> None:
        topics = [self.by_name[record.topic_name]] if record.topic_name else list(self.by_id.values())
        for topic in topics:
            for index, before in topic.partitions.items():
                if before.elr or before.last_known_elr:
                    change = PartitionChangeRecord(eligible_leader_replicas=[], last_known_elr=[])
                    self._put(topic, (topic.id, index), before, before.changed(change))

    def replay_remove(self, record: RemoveTopicRecord) -> Topic:
        topic = self.by_id.pop(record.topic_id)
        del self.by_name[topic.name]
        for index, partition in topic.partitions.items():
            self._unindex((topic.id, index), partition)
        if _may_collide(topic.name):
            form = collision_form(topic.name)
            del self.with_collisions[form][topic.name]
            if not self.with_collisions[form]:
                del self.with_collisions[form]
        return topic

    # Indexes

    def _put(self, topic: Topic, place: Place, before: Partition | None, after: Partition) -> None:
        if before is not None:
            self._unindex(place, before)
        topic.partitions[place[1]] = after
        self._index(place, after)

    def _index(self, place: Place, partition: Partition) -> None:
        in_sync = self.in_sync
        for broker_id in _candidates(partition):
            places = in_sync.get(broker_id)
            if places is None:
                places = in_sync[broker_id] = {}
            places[place] = None
        if partition.leader == NO_LEADER:
            self.leaderless[place] = None
        elif partition.leader != partition.replicas[0]:
            self.not_preferred[place] = None
        if partition.adding or partition.removing:
            self.reassigning[place] = None

    def _unindex(self, place: Place, partition: Partition) -> None:
        for broker_id in _candidates(partition):
            places = self.in_sync[broker_id]
            del places[place]
            if not places:
                del self.in_sync[broker_id]
        self.leaderless.pop(place, None)
        self.not_preferred.pop(place, None)
        self.reassigning.pop(place, None)

    def validate(self) -> None:
        """Derives every index anew from the topics, and holds each partition to the rules of a partition."""
        fresh = Topics()
        for topic in self.by_id.values():
            assert self.by_name[topic.name] is topic
            assert sorted(topic.partitions) == list(range(len(topic.partitions))), f"{topic} has a hole"
            if _may_collide(topic.name):
                assert topic.name in self.with_collisions[collision_form(topic.name)]
            for index, partition in topic.partitions.items():
                _check(partition)
                fresh._index((topic.id, index), partition)
        assert len(self.by_name) == len(self.by_id)
        assert sum(map(len, self.with_collisions.values())) == sum(map(_may_collide, self.by_name))
        assert {broker: set(places) for broker, places in self.in_sync.items()} == {
            broker: set(places) for broker, places in fresh.in_sync.items()
        }
        assert self.leaderless.keys() == fresh.leaderless.keys()
        assert self.reassigning.keys() == fresh.reassigning.keys()
        assert self.not_preferred.keys() == fresh.not_preferred.keys()


def collision_form(name: str) -> str:
    """Names of metrics turn dots into underscores: two topics of the same form could not be told apart there."""
    return name.replace(".", "_")


def _may_collide(name: str) -> bool:
    return "." in name or "_" in name


def _candidates(partition: Partition) -> Iterable[int]:
    if not partition.elr and not partition.last_known_elr:
        return partition.isr
    return {*partition.isr, *partition.elr, *partition.last_known_elr}


def _check(partition: Partition) -> None:
    """C10 of the reliability page, and what every partition owes its readers."""
    replicas = set(partition.replicas)
    assert len(replicas) == len(partition.replicas) == len(partition.directories), partition
    assert set(partition.isr) <= replicas, partition
    assert set(partition.elr) <= replicas, partition
    assert not set(partition.isr) & set(partition.elr), partition
    assert partition.leader == NO_LEADER or partition.leader in partition.isr, partition
    assert set(partition.adding) <= replicas, partition
    assert set(partition.removing) <= replicas, partition
