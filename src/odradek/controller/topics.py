"""Topics and their partitions, and who holds what.

Everything is keyed by topic id; names are an alias. Two indexes keep work proportional to what changes: by broker the
partitions in whose in-sync set it is, so that a broker that goes costs what it holds; and the partitions without a
leader, so that a broker that comes costs what waits for it. `validate` derives both anew.
"""

from collections.abc import Iterable, Iterator

from odradek.broken_rule import require
from odradek.metadata.partition import NO_LEADER, PartitionRegistration
from odradek.metadata.topics import TopicsReplay
from odradek.protocol.topic_partition import TopicIdPartition


class Topic:
    __slots__ = ("id", "name", "partitions")

    def __init__(self, name: str, topic_id: bytes) -> None:
        self.name = name
        self.id = topic_id
        self.partitions: dict[int, PartitionRegistration] = {}

    def partition(self, index: int) -> PartitionRegistration | None:
        return self.partitions.get(index)

    def __repr__(self) -> str:
        return f"Topic({self.name}, {len(self.partitions)} partitions)"


class Topics(TopicsReplay[Topic]):
    __slots__ = ("by_id", "by_name", "in_sync", "leaderless", "not_preferred", "reassigning", "with_collisions")

    def __init__(self) -> None:
        self.by_id: dict[bytes, Topic] = {}
        self.by_name: dict[str, Topic] = {}
        self.with_collisions: dict[str, dict[str, None]] = {}  # names by their form with every dot as underscore
        # Dicts are ordered sets here: what is decided must not depend on hashing.
        self.in_sync: dict[int, dict[TopicIdPartition, None]] = {}  # broker -> partitions that it could lead
        self.leaderless: dict[TopicIdPartition, None] = {}
        self.reassigning: dict[TopicIdPartition, None] = {}
        self.not_preferred: dict[TopicIdPartition, None] = {}  # led by another replica than their first

    def led_by(self, broker_id: int) -> Iterator[TopicIdPartition]:
        for place in self.in_sync.get(broker_id, ()):
            if self.by_id[place[0]].partitions[place[1]].leader == broker_id:
                yield place

    def leads_any(self, broker_id: int) -> bool:
        return next(self.led_by(broker_id), None) is not None

    # Where topics are kept

    def id_of(self, name: str) -> bytes | None:
        topic = self.by_name.get(name)
        return None if topic is None else topic.id

    def find(self, topic_id: bytes) -> Topic | None:
        return self.by_id.get(topic_id)

    def add_topic(self, name: str, topic_id: bytes) -> None:
        self.by_id[topic_id] = self.by_name[name] = Topic(name, topic_id)
        if _may_collide(name):
            self.with_collisions.setdefault(collision_form(name), {})[name] = None

    def remove_topic(self, topic_id: bytes, topic: Topic) -> None:
        del self.by_id[topic_id]
        del self.by_name[topic.name]
        for index, partition in topic.partitions.items():
            self._unindex((topic_id, index), partition)
        if _may_collide(topic.name):
            form = collision_form(topic.name)
            del self.with_collisions[form][topic.name]
            if not self.with_collisions[form]:
                del self.with_collisions[form]

    def put_partition(self, topic: Topic, index: int, partition: PartitionRegistration) -> None:
        place = (topic.id, index)
        before = topic.partitions.get(index)
        if before is not None:
            self._unindex(place, before)
        topic.partitions[index] = partition
        self._index(place, partition)

    def topic_ids(self) -> list[bytes]:
        return list(self.by_id)

    def partitions_of(self, topic_id: bytes) -> list[tuple[int, PartitionRegistration]]:
        return list(self.by_id[topic_id].partitions.items())

    # Indexes

    def _index(self, place: TopicIdPartition, partition: PartitionRegistration) -> None:
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

    def _unindex(self, place: TopicIdPartition, partition: PartitionRegistration) -> None:
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
            require(self.by_name[topic.name] is topic, f"{topic} is found by its name")
            require(sorted(topic.partitions) == list(range(len(topic.partitions))), f"{topic} has no hole")
            if _may_collide(topic.name):
                require(topic.name in self.with_collisions[collision_form(topic.name)], f"{topic} is told as colliding")
            for index, partition in topic.partitions.items():
                _check(partition)
                fresh._index((topic.id, index), partition)
        require(len(self.by_name) == len(self.by_id), "every name is that of one topic")
        colliding = sum(map(len, self.with_collisions.values()))
        require(colliding == sum(map(_may_collide, self.by_name)), "no name is told as colliding that is gone")
        self._check_indexes(fresh)

    def _check_indexes(self, fresh: "Topics") -> None:
        held = {broker: set(places) for broker, places in self.in_sync.items()}
        derived = {broker: set(places) for broker, places in fresh.in_sync.items()}
        require(held == derived, "the index of who is in sync is that of the partitions")
        require(self.leaderless.keys() == fresh.leaderless.keys(), "who has no leader is in the index of those")
        require(self.reassigning.keys() == fresh.reassigning.keys(), "what moves is in the index of that")
        require(self.not_preferred.keys() == fresh.not_preferred.keys(), "what another replica leads is in its index")


def collision_form(name: str) -> str:
    """Names of metrics turn dots into underscores: two topics of the same form could not be told apart there."""
    return name.replace(".", "_")


def _may_collide(name: str) -> bool:
    return "." in name or "_" in name


def _candidates(partition: PartitionRegistration) -> Iterable[int]:
    if not partition.elr and not partition.last_known_elr:
        return partition.isr
    return {*partition.isr, *partition.elr, *partition.last_known_elr}


def _check(partition: PartitionRegistration) -> None:
    """C10 of the reliability page, and what every partition owes its readers."""
    replicas = set(partition.replicas)
    shown = repr(partition)
    require(len(replicas) == len(partition.replicas), f"no broker has two replicas: {shown}")
    require(len(replicas) == len(partition.directories), f"every replica has a directory: {shown}")
    require(set(partition.isr) <= replicas, f"C10: who is in sync is a replica: {shown}")
    require(set(partition.elr) <= replicas, f"who is eligible is a replica: {shown}")
    require(not set(partition.isr) & set(partition.elr), f"who is in sync is not counted as eligible: {shown}")
    require(partition.leader in (NO_LEADER, *partition.isr), f"C10: the leader is in sync: {shown}")
    require(set(partition.adding) <= replicas, f"who is added is a replica: {shown}")
    require(set(partition.removing) <= replicas, f"who is removed is a replica: {shown}")
