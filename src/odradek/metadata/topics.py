"""Topics by id and by name, and the state of their partitions.

The id is what a topic is; a name may be used again by another one. A change of a partition carries only what is new
and raises its partition epoch by one; one that names a leader, the same one even, raises the leader epoch as well.
"""

from collections.abc import Generator, Iterator
from typing import NamedTuple

from odradek.metadata import record_versions
from odradek.metadata.persistent_map import Map
from odradek.metadata.replay_error import ReplayError
from odradek.metadata.steps import finished
from odradek.protocol.declare import Message, Uuid
from odradek.protocol.messages.metadata_topics import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from odradek.protocol.uuids import format_uuid

TOPICS_PER_STEP = 256

NO_LEADER = -1
NO_LEADER_CHANGE = -2
RECOVERED, RECOVERING = 0, 1  # leader_recovery_state
NO_RECOVERY_CHANGE = -1

# Ids of directories that are none (KIP-858).
DIRECTORY_MIGRATING = bytes(16)  # written before directories were assigned
DIRECTORY_UNASSIGNED = bytes(15) + b"\x01"
DIRECTORY_LOST = bytes(15) + b"\x02"

Ids = tuple[int, ...]


class PartitionImage(NamedTuple):
    replicas: Ids
    isr: Ids
    removing: Ids
    adding: Ids
    leader: int
    leader_epoch: int
    partition_epoch: int
    leader_recovery_state: int
    directories: tuple[bytes, ...]  # one per replica
    elr: Ids = ()
    last_known_elr: Ids = ()

    @classmethod
    def of(cls, record: PartitionRecord) -> "PartitionImage":
        return cls(
            tuple(record.replicas),
            tuple(record.isr),
            tuple(record.removing_replicas),
            tuple(record.adding_replicas),
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
            record.leader_recovery_state,
            _directories(record.directories, len(record.replicas)),
            tuple(record.eligible_leader_replicas or ()),
            tuple(record.last_known_elr or ()),
        )

    def merged(self, change: PartitionChangeRecord) -> "PartitionImage":
        names_leader = change.leader != NO_LEADER_CHANGE
        keeps_state = change.leader_recovery_state == NO_RECOVERY_CHANGE
        replicas = _new(change.replicas, self.replicas)
        directories = self.directories
        if change.directories is not None or len(replicas) != len(directories):
            directories = _directories(change.directories or [], len(replicas))
        return PartitionImage(
            replicas,
            _new(change.isr, self.isr),
            _new(change.removing_replicas, self.removing),
            _new(change.adding_replicas, self.adding),
            change.leader if names_leader else self.leader,
            self.leader_epoch + names_leader,
            self.partition_epoch + 1,
            self.leader_recovery_state if keeps_state else change.leader_recovery_state,
            directories,
            _new(change.eligible_leader_replicas, self.elr),
            _new(change.last_known_elr, self.last_known_elr),
        )

    def directory_of(self, replica: int) -> bytes:
        return self.directories[self.replicas.index(replica)]

    def record(self, topic_id: bytes, partition: int, metadata_version: int, *, has_elr: bool) -> PartitionRecord:
        version = record_versions.partition(metadata_version)
        record = PartitionRecord(
            partition_id=partition,
            topic_id=Uuid(topic_id),
            replicas=list(self.replicas),
            isr=list(self.isr),
            removing_replicas=list(self.removing),
            adding_replicas=list(self.adding),
            leader=self.leader,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            leader_recovery_state=self.leader_recovery_state,
        )
        if version >= 1:
            record.directories = [Uuid(directory) for directory in self.directories]
        if version >= 2 and has_elr:
            record.eligible_leader_replicas = list(self.elr) or None
            record.last_known_elr = list(self.last_known_elr) or None
        return record


class TopicImage(NamedTuple):
    name: str
    id: bytes
    partitions: Map[int, PartitionImage]

    def records(self, metadata_version: int, *, has_elr: bool) -> Iterator[Message]:
        yield TopicRecord(name=self.name, topic_id=Uuid(self.id))
        for index, partition in self.partitions.items():
            yield partition.record(self.id, index, metadata_version, has_elr=has_elr)


class TopicsImage(NamedTuple):
    by_id: Map[bytes, TopicImage]
    by_name: Map[str, TopicImage]

    def partition(self, topic_id: bytes, index: int) -> PartitionImage | None:
        topic: TopicImage | None = self.by_id.get(topic_id)
        return None if topic is None else topic.partitions.get(index)

    def records(self, metadata_version: int, *, has_elr: bool) -> Iterator[Message]:
        for topic in self.by_name.values():
            yield from topic.records(metadata_version, has_elr=has_elr)


EMPTY = TopicsImage(Map(), Map())


class TopicDelta:
    """One topic that was made or changed: `changed` has the new image of every partition that a record has named."""

    __slots__ = ("changed", "image")

    def __init__(self, image: TopicImage) -> None:
        self.image = image  # before the delta
        self.changed: dict[int, PartitionImage] = {}

    def partition(self, index: int) -> PartitionImage | None:
        return self.changed.get(index) or self.image.partitions.get(index)

    def clear_elr(self) -> None:
        for index in (*self.image.partitions, *self.changed):
            partition = self.partition(index)
            if partition is not None and (partition.elr or partition.last_known_elr):
                self.changed[index] = partition._replace(
                    elr=(), last_known_elr=(), partition_epoch=partition.partition_epoch + 1
                )

    def apply(self) -> TopicImage:
        return self.image._replace(partitions=self.image.partitions.changed(self.changed))


class TopicsDelta:
    """`changed` has a TopicDelta by the id of each topic that is new or has new partition states, `created` the ids of
    the new ones, `deleted` the last image of each one that was there before and is gone."""

    __slots__ = ("_image", "_named", "changed", "created", "deleted")

    def __init__(self, image: TopicsImage) -> None:
        self._image = image
        self._named: dict[str, bytes | None] = {}  # which topic a name stands for now, where that is new
        self.changed: dict[bytes, TopicDelta] = {}
        self.created: set[bytes] = set()
        self.deleted: dict[bytes, TopicImage] = {}

    def replay_topic(self, record: TopicRecord) -> None:
        if self._id_of(record.name) is not None:
            raise ReplayError(f"there is a topic named {record.name!r} already")
        topic_id = bytes(record.topic_id)
        self.changed[topic_id] = TopicDelta(TopicImage(record.name, topic_id, Map()))
        self.created.add(topic_id)
        self._named[record.name] = topic_id

    def replay_partition(self, record: PartitionRecord) -> None:
        self._topic(record.topic_id).changed[record.partition_id] = PartitionImage.of(record)

    def replay_partition_change(self, record: PartitionChangeRecord) -> None:
        topic = self._topic(record.topic_id)
        partition = topic.partition(record.partition_id)
        if partition is None:
            raise ReplayError(f"topic {topic.image.name!r} has no partition {record.partition_id}")
        topic.changed[record.partition_id] = partition.merged(record)

    def replay_remove(self, record: RemoveTopicRecord) -> str:
        """The name of the topic that is gone."""
        topic_id = bytes(record.topic_id)
        topic = self._topic(topic_id).image
        del self.changed[topic_id]
        if topic_id in self.created:
            self.created.discard(topic_id)
        else:
            self.deleted[topic_id] = topic
        self._named[topic.name] = None
        return topic.name

    def replay_clear_elr(self, record: ClearElrRecord) -> None:
        """Of one topic, or of all if it names none."""
        if record.topic_name:
            topic_id = self._id_of(record.topic_name)
            if topic_id is None:
                raise ReplayError(f"there is no topic named {record.topic_name!r}")
            self._topic(topic_id).clear_elr()
            return
        for topic_id in (*self._image.by_id, *self.created):
            if topic_id not in self.deleted:
                self._clear_elr_of(topic_id)

    def apply(self) -> TopicsImage:
        return finished(self.apply_in_steps())

    def apply_in_steps(self) -> Generator[None, None, TopicsImage]:
        """The same in steps of some hundred topics: a large cluster's first image is not made in one go."""
        if not self.changed and not self.deleted:
            return self._image
        by_id, by_name = self._image.by_id.draft(), self._image.by_name.draft()
        for topic_id, topic in self.deleted.items():
            by_id.set(topic_id, None)
            by_name.set(topic.name, None)
        for count, (topic_id, delta) in enumerate(self.changed.items(), 1):
            image = delta.apply()
            by_id.set(topic_id, image)
            by_name.set(image.name, image)
            if count % TOPICS_PER_STEP == 0:
                yield
        return TopicsImage(by_id.finish(), by_name.finish())

    def _id_of(self, name: str) -> bytes | None:
        if name in self._named:
            return self._named[name]
        topic: TopicImage | None = self._image.by_name.get(name)
        return None if topic is None else topic.id

    def _topic(self, topic_id: bytes) -> TopicDelta:
        topic = self.changed.get(topic_id)
        if topic is None:
            image = None if topic_id in self.deleted else self._image.by_id.get(topic_id)
            if image is None:
                raise ReplayError(f"there is no topic with the id {format_uuid(topic_id)}")
            topic = self.changed[bytes(topic_id)] = TopicDelta(image)
        return topic

    def _clear_elr_of(self, topic_id: bytes) -> None:
        """A topic that has none to forget has not changed."""
        was_changed = topic_id in self.changed
        topic = self._topic(topic_id)
        topic.clear_elr()
        if not topic.changed and not was_changed:
            del self.changed[topic_id]


def _new(given: list[int] | None, old: Ids) -> Ids:
    return old if given is None else tuple(given)


def _directories(given: list[Uuid], replicas: int) -> tuple[bytes, ...]:
    """Records from before directories were assigned name none; the replicas are wherever they are."""
    if not given:
        return (DIRECTORY_MIGRATING,) * replicas
    if len(given) != replicas:
        raise ReplayError(f"{len(given)} directories are named for {replicas} replicas")
    return tuple(given)
