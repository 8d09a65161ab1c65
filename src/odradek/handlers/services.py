"""What handlers work with: the parts of a running node, put together by `broker/`.

A field is None while its part does not exist, or on a node that has none: a broker that is no controller has no
`controller`, a lone controller no `replicas`. Handlers never import `broker/`; they find it here.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from odradek.handlers.error_counts import ErrorCounts
from odradek.handlers.log_levels import LogLevels
from odradek.protocol import releases

if TYPE_CHECKING:
    from odradek.handlers.faults import Faults
    from odradek.handlers.topic_creation import TopicCreation
    from odradek.reactor.loop import Loop
    from odradek.reactor.ports import Clock, Rng
    from odradek.security.authorizer import Authorizer

OnError = Callable[[Any, BaseException], None]  # takes the call and what its handler raised


def _ignored(call: Any, error: BaseException) -> None:
    """Without a server log there is nobody to tell: the peer gets UNKNOWN_SERVER_ERROR all the same."""


def _unheard(line: str) -> None:
    """The same."""


class Services:
    __slots__ = (
        "authorizer",
        "broker_epoch",
        "clock",
        "cluster_id",
        "controller",
        "error_counts",
        "faults",
        "forwarder",
        "groups",
        "has_telemetry",
        "inter_broker",
        "layers",
        "lifecycle",
        "log_levels",
        "logs",
        "loop",
        "metadata",
        "metrics",
        "node_id",
        "on_error",
        "producer_ids",
        "quotas",
        "raft",
        "release",
        "replicas",
        "rng",
        "shares",
        "socket_server",
        "streams_topics",
        "told_versions",
        "topic_creation",
        "transactions",
        "warn",
    )

    def __init__(self, loop: "Loop", *, node_id: int, cluster_id: str, **parts: Any) -> None:
        self.loop = loop
        self.clock: Clock = loop.ports.clock
        self.rng: Rng = loop.ports.rng
        self.node_id = node_id
        self.cluster_id = cluster_id
        self.release: releases.Release = releases.DEFAULT
        self.layers: Any = None  # the broker's configs: `.current` is a config.sources.BrokerLayers
        self.metadata: Any = None  # metadata.loader.MetadataCache
        self.replicas: Any = None  # replica.ReplicaManager
        self.groups: Any = None  # coordinator.group.GroupCoordinator
        self.shares: Any = None  # broker.shares.Shares
        self.transactions: Any = None  # coordinator.transaction.TransactionCoordinator
        self.logs: Any = None  # log.manager.LogManager
        self.inter_broker: Any = None  # send(node, request, ...) -> Pending[Response]
        self.forwarder: Any = None
        self.controller: Any = None
        self.raft: Any = None
        self.authorizer: Authorizer | None = None
        self.quotas: Any = None
        self.metrics: Any = None
        self.faults: Faults | None = None
        self.producer_ids: Any = None  # next() -> Pending[int]
        self.broker_epoch: Callable[[], int] = _no_epoch
        self.lifecycle: Any = None
        self.socket_server: Any = None
        self.error_counts = ErrorCounts()
        self.log_levels = LogLevels()
        self.topic_creation: TopicCreation | None = None  # made when it is first needed
        self.streams_topics: Any = None  # handlers.streams_topics.StreamsTopics, the same
        self.told_versions: dict[tuple[str, int], Any] = {}  # what ApiVersions tells: from which state, and that
        self.has_telemetry = False  # whether somebody receives what clients push
        self.on_error: OnError = _ignored
        self.warn: Callable[[str], None] = _unheard  # a line of the server log
        for name, part in parts.items():
            setattr(self, name, part)


def _no_epoch() -> int:
    return -1
