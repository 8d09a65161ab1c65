"""What consumer groups see of the cluster: topics by name and by id, and the configs of groups.

One object serves all shards of a broker. It is told of every image; `version` counts the images that brought or took
topics or partitions. A group that has seen an older version looks at its topics again with the next heartbeat, so
that a change costs nothing for groups that nobody heartbeats in.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.metadata.configs import ConfigsImage
    from odradek.metadata.delta import MetadataDelta
    from odradek.metadata.image import MetadataImage
    from odradek.metadata.topics import TopicImage, TopicsImage

_GROUP_RESOURCE = 32  # as in DescribeConfigs
_NOTHING: Mapping[str, str] = {}


class GroupTopics:
    __slots__ = ("_configs", "_topics", "offset", "version")

    def __init__(self) -> None:
        self.version = 0
        self.offset = -1  # of the image
        self._topics: TopicsImage | None = None
        self._configs: ConfigsImage | None = None

    def applied(self, delta: "MetadataDelta", image: "MetadataImage") -> None:
        before, self._topics, self._configs = self._topics, image.topics, image.configs
        self.offset = image.offset
        if delta.topics is None:
            return
        if before is None or delta.topics.deleted or self._has_grown(before, delta.topics.changed):
            self.version += 1

    def _has_grown(self, before: "TopicsImage", changed: Iterable[bytes]) -> bool:
        for topic_id in changed:
            old, new = before.by_id.get(topic_id), self.by_id(topic_id)
            if old is None or new is None or len(old.partitions) != len(new.partitions):
                return True
        return False

    def by_name(self, name: str) -> "TopicImage | None":
        topic: TopicImage | None = None if self._topics is None else self._topics.by_name.get(name)
        return topic

    def by_id(self, topic_id: bytes) -> "TopicImage | None":
        topic: TopicImage | None = None if self._topics is None else self._topics.by_id.get(topic_id)
        return topic

    def names(self) -> list[str]:
        return [] if self._topics is None else list(self._topics.by_name)

    def counts(self, names: Iterable[str]) -> dict[bytes, int]:
        """The partitions of each of these topics that there is, by id."""
        topics = (self.by_name(name) for name in names)
        return {topic.id: len(topic.partitions) for topic in topics if topic is not None}

    def configs_of(self, group_id: str) -> Mapping[str, str]:
        return _NOTHING if self._configs is None else self._configs.of(_GROUP_RESOURCE, group_id)

    def hash_of(self, names: Iterable[str]) -> int:
        """Another number whenever one of these topics has come, gone, been made anew or grown; 0 if there is none.

        Only compared with itself: a coordinator of Kafka finds another number, and assigns once more.
        """
        digest = blake2b(digest_size=8)
        found = False
        for name in sorted(names):
            topic = self.by_name(name)
            if topic is not None:
                found = True
                digest.update(topic.id + len(topic.partitions).to_bytes(4, "big"))
        return int.from_bytes(digest.digest(), "big", signed=True) if found else 0
