"""What handlers ask about the cluster: the current image, and the lookups that many of them need.

A broker is alive for clients unless it is fenced. What an answer needs per listener (who is alive, where) is worked out
once per change of the cluster and not per request.
"""

from collections.abc import Mapping
from typing import NamedTuple

from odradek.metadata.delta import MetadataDelta
from odradek.metadata.image import EMPTY, MetadataImage
from odradek.metadata.partition import NO_LEADER, PartitionRegistration
from odradek.metadata.registration import BrokerRegistration, Endpoint
from odradek.metadata.topics import TopicImage


class BrokerNode(NamedTuple):
    """A broker as a client on one listener sees it."""

    id: int
    host: str
    port: int
    rack: str | None


class MetadataCache:
    """A publisher that keeps the newest image."""

    __slots__ = ("_alive", "_nodes", "image")

    def __init__(self, image: MetadataImage = EMPTY) -> None:
        self.image = image
        self._alive: list[BrokerRegistration] | None = None
        self._nodes: dict[str, dict[int, BrokerNode]] = {}

    def publish(self, delta: MetadataDelta, image: MetadataImage) -> None:
        self.set_image(image)

    def set_image(self, image: MetadataImage) -> None:
        if image.cluster is not self.image.cluster:
            self._alive = None
            self._nodes = {}
        self.image = image

    # Topics

    def topic(self, name: str) -> TopicImage | None:
        return self.image.topics.by_name.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        return self.image.topics.by_id.get(topic_id)

    def topic_id(self, name: str) -> bytes | None:
        topic = self.topic(name)
        return None if topic is None else topic.id

    def topic_name(self, topic_id: bytes) -> str | None:
        topic = self.topic_by_id(topic_id)
        return None if topic is None else topic.name

    def partition(self, topic: str, index: int) -> PartitionRegistration | None:
        found = self.topic(topic)
        return None if found is None else found.partitions.get(index)

    # Brokers

    def broker(self, broker_id: int) -> BrokerRegistration | None:
        """Fenced ones as well."""
        return self.image.cluster.brokers.get(broker_id)

    def is_alive(self, broker_id: int) -> bool:
        broker = self.broker(broker_id)
        return broker is not None and not broker.fenced

    def alive_brokers(self) -> list[BrokerRegistration]:
        """By id. The list is the cache's own."""
        if self._alive is None:
            self._alive = [broker for broker in self.image.cluster.brokers.values() if not broker.fenced]
        return self._alive

    def alive_nodes(self, listener: str) -> Mapping[int, BrokerNode]:
        """Who can be reached on this listener, by id: brokers without it are not there for its clients."""
        nodes = self._nodes.get(listener)
        if nodes is None:
            nodes = {}
            for broker in self.alive_brokers():
                endpoint = broker.endpoint(listener)
                if endpoint is not None:
                    nodes[broker.id] = BrokerNode(broker.id, endpoint.host, endpoint.port, broker.rack)
            if len(self._nodes) < _LISTENERS_MAX:
                self._nodes[listener] = nodes
        return nodes

    def endpoint(self, broker_id: int, listener: str) -> Endpoint | None:
        """Where an alive broker listens."""
        broker = self.broker(broker_id)
        return None if broker is None or broker.fenced else broker.endpoint(listener)

    def leader(self, topic: str, index: int, listener: str) -> BrokerNode | None:
        """The leader of a partition, if there is one that this listener's clients can reach."""
        partition = self.partition(topic, index)
        if partition is None or partition.leader == NO_LEADER:
            return None
        return self.alive_nodes(listener).get(partition.leader)

    # The cluster

    @property
    def metadata_version(self) -> int:
        return self.image.features.metadata_version

    @property
    def finalized_features(self) -> Mapping[str, int]:
        return self.image.features.finalized

    @property
    def finalized_features_epoch(self) -> int:
        """ApiVersions orders two answers by it: the offset up to which the features are known."""
        return self.image.offset

    def configs(self, resource_type: int, name: str) -> Mapping[str, str]:
        return self.image.configs.of(resource_type, name)


_LISTENERS_MAX = 64  # a broker has a handful; the number is not up to a peer
