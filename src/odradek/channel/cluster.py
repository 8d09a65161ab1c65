"""What a client knows of the cluster at one moment: an immutable snapshot, so that whoever looks several things up gets
answers that belong together.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.channel.node import NO_NODE, Node
from odradek.protocol.topic_partition import TopicPartition

NO_EPOCH = -1


class PartitionInfo(NamedTuple):
    topic: str
    partition: int
    leader_id: int  # -1: there is none
    leader_epoch: int = NO_EPOCH
    replica_ids: tuple[int, ...] = ()
    in_sync_replica_ids: tuple[int, ...] = ()
    offline_replica_ids: tuple[int, ...] = ()

    @property
    def place(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class Cluster:
    __slots__ = (
        "_by_topic",
        "_nodes",
        "_partitions",
        "cluster_id",
        "controller",
        "internal_topics",
        "invalid_topics",
        "is_bootstrap",
        "topic_ids",
        "topic_names",
        "unauthorized_topics",
    )

    def __init__(
        self,
        cluster_id: str | None = None,
        nodes: Iterable[Node] = (),
        partitions: Iterable[PartitionInfo] = (),
        *,
        controller_id: int = -1,
        topic_ids: Mapping[str, bytes] | None = None,
        internal_topics: Iterable[str] = (),
        unauthorized_topics: Iterable[str] = (),
        invalid_topics: Iterable[str] = (),
        is_bootstrap: bool = False,
    ) -> None:
        self.cluster_id = cluster_id
        self._nodes = {node.id: node for node in nodes}
        self.controller = self._nodes.get(controller_id, NO_NODE)
        self._partitions = {info.place: info for info in partitions}
        self._by_topic: dict[str, list[PartitionInfo]] = {}
        for info in sorted(self._partitions.values(), key=lambda one: one.partition):
            self._by_topic.setdefault(info.topic, []).append(info)
        self.topic_ids = dict(topic_ids or {})
        self.topic_names = {topic_id: name for name, topic_id in self.topic_ids.items()}
        self.internal_topics = frozenset(internal_topics)
        self.unauthorized_topics = frozenset(unauthorized_topics)
        self.invalid_topics = frozenset(invalid_topics)
        self.is_bootstrap = is_bootstrap

    @classmethod
    def bootstrap(cls, addresses: Iterable[tuple[str, int]]) -> "Cluster":
        """The view before any broker has answered: addresses with numbers that no broker has, -1, -2, ..."""
        nodes = [Node(-1 - index, host, port) for index, (host, port) in enumerate(addresses)]
        return cls(nodes=nodes, is_bootstrap=True)

    @property
    def nodes(self) -> list[Node]:
        return list(self._nodes.values())

    @property
    def topics(self) -> list[str]:
        return list(self._by_topic)

    def node(self, node_id: int) -> Node | None:
        return self._nodes.get(node_id)

    def partition(self, topic: str, partition: int) -> PartitionInfo | None:
        return self._partitions.get(TopicPartition(topic, partition))

    def partitions(self, topic: str) -> list[PartitionInfo]:
        """In the order of their numbers; none of a topic that is not known."""
        return list(self._by_topic.get(topic, ()))

    def available_partitions(self, topic: str) -> list[PartitionInfo]:
        """Those that have a leader which is known."""
        return [info for info in self._by_topic.get(topic, ()) if info.leader_id in self._nodes]

    def leader(self, topic: str, partition: int) -> Node | None:
        info = self._partitions.get(TopicPartition(topic, partition))
        return None if info is None else self._nodes.get(info.leader_id)
