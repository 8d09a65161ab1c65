"""A topic as this broker hosts it: the partitions by number, its counters, what its configs say to replicas."""

from typing import Protocol

from odradek.log.config import LogConfig
from odradek.log.manager.manager import LogManager
from odradek.metrics.meter import Counter
from odradek.protocol.internal_topics import INTERNAL_TOPICS
from odradek.reactor.loop import Loop
from odradek.replica.config import ReplicaConfig
from odradek.replica.isr import IsrProposal
from odradek.replica.metrics import ReplicaMetrics
from odradek.replica.partition import Partition


class Host(Protocol):
    """What topics and their partitions need of the broker that hosts them: of a manager.ReplicaManager."""

    config: ReplicaConfig
    is_min_in_sync_capped: bool
    logs: LogManager
    loop: Loop
    metrics: ReplicaMetrics

    def mono_ms(self) -> int: ...
    def propose(self, partition: Partition, proposal: IsrProposal) -> None: ...


class HostedTopic:
    __slots__ = (
        "bytes_in",
        "config",
        "counters",
        "id",
        "is_internal",
        "manager",
        "messages_in",
        "name",
        "partitions",
        "produces",
    )

    def __init__(self, manager: Host, name: str, topic_id: bytes) -> None:
        self.manager = manager
        self.name = name
        self.id = topic_id
        self.config: LogConfig = manager.logs.topic_configs.of(name)
        self.is_internal = name in INTERNAL_TOPICS
        self.partitions: dict[int, Partition] = {}
        self.counters = manager.metrics.topic(name)
        self.messages_in: Counter = self.counters.messages_in  # one step less for every append
        self.bytes_in: Counter = self.counters.bytes_in
        self.produces: Counter = self.counters.produces

    def __repr__(self) -> str:
        return f"HostedTopic({self.name}, {len(self.partitions)} partitions)"

    def effective_min_in_sync(self, replicas: int) -> int:
        """A 4.3 asks for no more in-sync replicas than the partition has replicas."""
        asked = self.config.min_insync_replicas
        return min(asked, replicas) if self.manager.is_min_in_sync_capped else asked
