"""Topics by id and by name, and the state of their partitions.

The id is what a topic is; a name may be used again by another one.
"""

from collections.abc import Generator, Iterable, Iterator
from typing import Generic, NamedTuple, Protocol, TypeVar

from odradek.metadata.partition import PartitionRegistration
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


class TopicInReplay(Protocol):
    """A topic while records change it."""

    @property
    def name(self) -> str: ...
    def partition(self, index: int) -> PartitionRegistration | None: ...


T = TypeVar("T", bound=TopicInReplay)


class TopicsReplay(Generic[T]):
    """What records do to topics, wherever these are kept: in the delta of an image, and in the controller."""

    __slots__ = ()

    # Where topics are kept

    def id_of(self, name: str) -> bytes | None:
        raise NotImplementedError

    def find(self, topic_id: bytes) -> T | None:
        """The topic, ready to be changed."""
        raise NotImplementedError

    def add_topic(self, name: str, topic_id: bytes) -> None:
        raise NotImplementedError

    def remove_topic(self, topic_id: bytes, topic: T) -> None:
        raise NotImplementedError

    def put_partition(self, topic: T, index: int, partition: PartitionRegistration) -> None:
        raise NotImplementedError

    def topic_ids(self) -> Iterable[bytes]:
        """The ids of all topics. Topics may be changed while the answer is gone through."""
        raise NotImplementedError

    def partitions_of(self, topic_id: bytes) -> Iterable[tuple[int, PartitionRegistration]]:
        """All partitions of a topic that is there. They may be changed while the answer is gone through."""
        raise NotImplementedError

    # Records

    def replay_topic(self, record: TopicRecord) -> None:
        if self.id_of(record.name) is not None:
            raise ReplayError(f"there is a topic named {record.name!r} already")
        if self.find(record.topic_id) is not None:
            raise ReplayError(f"there is a topic with the id {format_uuid(record.topic_id)} already")
        self.add_topic(record.name, bytes(record.topic_id))

    def replay_partition(self, record: PartitionRecord) -> None:
        topic = self.find(record.topic_id)
        if topic is None:
            raise _unknown(record.topic_id)
        self.put_partition(topic, record.partition_id, PartitionRegistration.from_record(record))

    def replay_partition_change(self, record: PartitionChangeRecord) -> None:
        topic = self.find(record.topic_id)
        if topic is None:
            raise _unknown(record.topic_id)
        partition = topic.partition(record.partition_id)
        if partition is None:
            raise ReplayError(f"topic {topic.name!r} has no partition {record.partition_id}")
        self.put_partition(topic, record.partition_id, partition.changed(record))

    def replay_remove(self, record: RemoveTopicRecord) -> str:
        """The name of the topic that is gone."""
        topic_id = bytes(record.topic_id)
        topic = self.find(topic_id)
        if topic is None:
            raise _unknown(topic_id)
        self.remove_topic(topic_id, topic)
        return topic.name

    def replay_clear_elr(self, record: ClearElrRecord) -> None:
        """The eligible leader replicas of one topic, or of all if it names none, are forgotten."""
        ids = [self._id_of_known(record.topic_name)] if record.topic_name else self.topic_ids()
        for topic_id in ids:
            for index, partition in self.partitions_of(topic_id):
                if partition.elr or partition.last_known_elr:
                    topic = self.find(topic_id)
                    if topic is None:
                        raise _unknown(topic_id)
                    self.put_partition(topic, index, partition.without_elr())

    def _id_of_known(self, name: str) -> bytes:
        topic_id = self.id_of(name)
        if topic_id is None:
            raise ReplayError(f"there is no topic named {name!r}")
        return topic_id


def _unknown(topic_id: bytes) -> ReplayError:
    return ReplayError(f"there is no topic with the id {format_uuid(topic_id)}")


class TopicImage(NamedTuple):
    name: str
    id: bytes
    partitions: Map[int, PartitionRegistration]

    def records(self, metadata_version: int, *, has_elr: bool) -> Iterator[Message]:
        yield TopicRecord(name=self.name, topic_id=Uuid(self.id))
        for index, partition in self.partitions.items():
            yield partition.record(self.id, index, metadata_version, has_elr=has_elr)


class TopicsImage(NamedTuple):
    by_id: Map[bytes, TopicImage]
    by_name: Map[str, TopicImage]

    def partition(self, topic_id: bytes, index: int) -> PartitionRegistration | None:
        topic = self.by_id.get(topic_id)
        return None if topic is None else topic.partitions.get(index)

    def records(self, metadata_version: int, *, has_elr: bool) -> Iterator[Message]:
        for topic in self.by_name.values():
            yield from topic.records(metadata_version, has_elr=has_elr)


EMPTY = TopicsImage(Map(), Map())


class TopicDelta:
    """One topic that was made or changed: `changed` has the new state of every partition that a record has named."""

    __slots__ = ("changed", "image")

    def __init__(self, image: TopicImage) -> None:
        self.image = image  # before the delta
        self.changed: dict[int, PartitionRegistration] = {}

    @property
    def name(self) -> str:
        return self.image.name

    def partition(self, index: int) -> PartitionRegistration | None:
        return self.changed.get(index) or self.image.partitions.get(index)

    def apply(self) -> TopicImage:
        return self.image._replace(partitions=self.image.partitions.changed(self.changed))


class TopicsDelta(TopicsReplay[TopicDelta]):
    """`changed` has a TopicDelta by the id of each topic that is new or has new partition states, `created` the ids of
    the new ones, `deleted` the last image of each one that was there before and is gone."""

    __slots__ = ("_image", "_named", "changed", "created", "deleted")

    def __init__(self, image: TopicsImage) -> None:
        self._image = image
        self._named: dict[str, bytes | None] = {}  # which topic a name stands for now, where that is new
        self.changed: dict[bytes, TopicDelta] = {}
        self.created: set[bytes] = set()
        self.deleted: dict[bytes, TopicImage] = {}

    def id_of(self, name: str) -> bytes | None:
        if name in self._named:
            return self._named[name]
        topic = self._image.by_name.get(name)
        return None if topic is None else topic.id

    def find(self, topic_id: bytes) -> TopicDelta | None:
        topic = self.changed.get(topic_id)
        if topic is None:
            image = None if topic_id in self.deleted else self._image.by_id.get(topic_id)
            if image is None:
                return None
            topic = self.changed[bytes(topic_id)] = TopicDelta(image)
        return topic

    def add_topic(self, name: str, topic_id: bytes) -> None:
        self.changed[topic_id] = TopicDelta(TopicImage(name, topic_id, Map()))
        self.created.add(topic_id)
        self._named[name] = topic_id

    def remove_topic(self, topic_id: bytes, topic: TopicDelta) -> None:
        del self.changed[topic_id]
        if topic_id in self.created:
            self.created.discard(topic_id)
        else:
            self.deleted[topic_id] = topic.image
        self._named[topic.name] = None

    def put_partition(self, topic: TopicDelta, index: int, partition: PartitionRegistration) -> None:
        topic.changed[index] = partition

    def topic_ids(self) -> list[bytes]:
        return [*(topic_id for topic_id in self._image.by_id if topic_id not in self.deleted), *self.created]

    def partitions_of(self, topic_id: bytes) -> Iterable[tuple[int, PartitionRegistration]]:
        """A topic of which nothing is changed has no TopicDelta afterwards either."""
        topic = self.changed.get(topic_id)
        if topic is None:
            return self._image.by_id[topic_id].partitions.items()
        return list({**topic.image.partitions, **topic.changed}.items())

    def apply(self) -> TopicsImage:
        return finished(self.apply_in_steps())

    def apply_in_steps(self) -> Generator[None, None, TopicsImage]:
        """Makes the image in steps of some hundred topics: a large cluster's first one is not made in one go."""
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
