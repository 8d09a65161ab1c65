"""What groups with epochs see of the cluster: topics by name and by id, and the configs of groups.

One object serves all shards of a broker. It is told of every image; `version` counts the images that brought or took
topics or partitions. A group that has seen an older version looks at its topics again with the next heartbeat, so
that a change costs nothing for groups that nobody heartbeats in.
"""

from collections.abc import Iterable, Mapping
from struct import pack
from typing import TYPE_CHECKING

from odradek.coordinator.group.xxh3 import xxh3_64

if TYPE_CHECKING:
    from odradek.metadata.cluster import ClusterImage
    from odradek.metadata.configs import ConfigsImage
    from odradek.metadata.delta import MetadataDelta
    from odradek.metadata.image import MetadataImage
    from odradek.metadata.topics import TopicImage, TopicsImage

_GROUP_RESOURCE = 32  # as in DescribeConfigs
_NOTHING: Mapping[str, str] = {}


class GroupTopics:
    __slots__ = ("_cluster", "_configs", "_hashes", "_topics", "offset", "version")

    def __init__(self) -> None:
        self.version = 0
        self.offset = -1  # of the image
        self._topics: TopicsImage | None = None
        self._configs: ConfigsImage | None = None
        self._cluster: ClusterImage | None = None
        self._hashes: dict[bytes, int] = {}  # of topics in this image

    def applied(self, delta: "MetadataDelta", image: "MetadataImage") -> None:
        if self._topics is not image.topics or self._cluster is not image.cluster:
            self._hashes.clear()
        before, self._topics, self._configs = self._topics, image.topics, image.configs
        self._cluster = image.cluster
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

        The same that Kafka 4.3 finds: a group that it wrote down need not be assigned once more because it is ours now.
        """
        topics = (self.by_name(name) for name in sorted(names))
        hashes = [self._hash(topic) for topic in topics if topic is not None]
        return xxh3_64(pack(f"<{len(hashes)}q", *hashes)) if hashes else 0

    def _hash(self, topic: "TopicImage") -> int:
        found = self._hashes.get(topic.id)
        if found is None:
            found = self._hashes[topic.id] = self._hash_anew(topic)
        return found

    def _hash_anew(self, topic: "TopicImage") -> int:
        """A version, the id, the name; for each partition its number and the racks of its replicas."""
        parts = [b"\0", topic.id[7::-1], topic.id[:7:-1], _string(topic.name), pack("<i", len(topic.partitions))]
        for index in range(len(topic.partitions)):
            parts.append(pack("<i", index))
            for rack in self._racks(topic, index):
                parts += [pack("<i", len(rack)), _string(rack)]
        return xxh3_64(b"".join(parts))

    def _racks(self, topic: "TopicImage", index: int) -> list[str]:
        partition = topic.partitions.get(index)
        if partition is None or self._cluster is None:
            return []
        brokers = (self._cluster.brokers.get(replica) for replica in partition.replicas)
        return sorted(broker.rack for broker in brokers if broker is not None and broker.rack is not None)


def _string(text: str) -> bytes:
    """A string as Java's hash streams take it in: its UTF-16 units, and how many they are."""
    units = text.encode("utf-16-le", "surrogatepass")
    return units + pack("<i", len(units) // 2)
