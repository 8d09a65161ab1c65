"""What handlers work with: the parts of a running node, typed by the listener that a request came in on.

    Services             what every node has, whatever its roles
    BrokerServices       and what a broker has: handlers on a broker's listener get these
    ControllerServices   and what a controller has: handlers on a controller's listener get these

A node with both roles has one of each, made of the same common parts. They are made when everything in them is there,
and the listeners accept nobody before, so that no handler meets a part that is not there yet.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from odradek.protocol import releases

if TYPE_CHECKING:
    from odradek.controller.quorum_controller import QuorumController
    from odradek.coordinator.group.coordinator import GroupCoordinator
    from odradek.coordinator.transaction.coordinator import TransactionCoordinator
    from odradek.handlers.auto_creation import AutoCreation
    from odradek.handlers.broker_parts import Configs, InterBroker, ProducerIds, Quotas, Shares
    from odradek.handlers.error_counts import ErrorCounts
    from odradek.handlers.log_levels import LogLevels
    from odradek.handlers.streams_topics import StreamsTopics
    from odradek.log.manager.manager import LogManager
    from odradek.metadata.cache import MetadataCache
    from odradek.protocol.messages.k18_api_versions import ApiVersionsResponse
    from odradek.raft.client import RaftClient
    from odradek.reactor.loop import Loop
    from odradek.reactor.ports import Clock, Rng
    from odradek.replica.manager import ReplicaManager
    from odradek.security.authorizer import Authorizer

OnError = Callable[[object, BaseException], None]  # takes the call, for its repr, and what its handler raised
Warn = Callable[[str], None]  # writes a line of the server log


class Services:
    """What every node has."""

    __slots__ = (
        "authorizer",
        "clock",
        "cluster_id",
        "configs",
        "error_counts",
        "log_levels",
        "loop",
        "metadata",
        "node_id",
        "on_error",
        "quotas",
        "raft",
        "release",
        "rng",
        "told_versions",
        "warn",
    )

    kind: ClassVar[str]  # of the listeners whose requests they serve: `releases.BROKER` or `releases.CONTROLLER`

    def __init__(
        self,
        loop: "Loop",
        *,
        node_id: int,
        cluster_id: str,
        release: releases.Release,
        configs: "Configs",
        metadata: "MetadataCache",
        raft: "RaftClient",
        error_counts: "ErrorCounts",
        log_levels: "LogLevels",
        on_error: OnError,
        warn: Warn,
    ) -> None:
        self.loop = loop
        self.clock: Clock = loop.ports.clock
        self.rng: Rng = loop.ports.rng
        self.node_id = node_id
        self.cluster_id = cluster_id
        self.release = release
        self.configs = configs
        self.metadata = metadata
        self.raft = raft
        self.error_counts = error_counts
        self.log_levels = log_levels
        self.on_error = on_error
        self.warn = warn
        self.authorizer: Authorizer | None = None  # None: everything is allowed
        self.quotas: Quotas | None = None  # None: nobody is slowed down
        # What ApiVersions tells in each of its versions, with the image and the kraft.version that it was made from.
        self.told_versions: dict[int, tuple[tuple[object, int], ApiVersionsResponse]] = {}

    def _share(self, common: "Services") -> None:
        """Sets what every node has to the common parts of the node that this is a role of."""
        Services.__init__(
            self,
            common.loop,
            node_id=common.node_id,
            cluster_id=common.cluster_id,
            release=common.release,
            configs=common.configs,
            metadata=common.metadata,
            raft=common.raft,
            error_counts=common.error_counts,
            log_levels=common.log_levels,
            on_error=common.on_error,
            warn=common.warn,
        )


class BrokerServices(Services):
    """What a broker has."""

    __slots__ = (
        "_auto_creation",
        "_streams_topics",
        "groups",
        "inter_broker",
        "logs",
        "producer_ids",
        "replicas",
        "shares",
        "transactions",
    )

    kind = releases.BROKER

    def __init__(
        self,
        common: Services,
        *,
        logs: "LogManager",
        replicas: "ReplicaManager",
        groups: "GroupCoordinator",
        transactions: "TransactionCoordinator",
        shares: "Shares | None",
        inter_broker: "InterBroker",
        producer_ids: "ProducerIds",
    ) -> None:
        """`shares` is None in a release that has no share groups."""
        self._share(common)
        self.logs = logs
        self.replicas = replicas
        self.groups = groups
        self.transactions = transactions
        self.shares = shares
        self.inter_broker = inter_broker
        self.producer_ids = producer_ids
        self._auto_creation: AutoCreation | None = None
        self._streams_topics: StreamsTopics | None = None

    # Made when they are first needed: most brokers never are asked for a topic that is not there.

    @property
    def auto_creation(self) -> "AutoCreation":
        if self._auto_creation is None:
            from odradek.handlers.auto_creation import AutoCreation

            self._auto_creation = AutoCreation(
                self.loop, self.inter_broker, self.configs, self.metadata, warn=self.warn
            )
        return self._auto_creation

    @property
    def streams_topics(self) -> "StreamsTopics":
        if self._streams_topics is None:
            from odradek.handlers.streams_topics import StreamsTopics

            self._streams_topics = StreamsTopics(self.loop, self.inter_broker, self.configs)
        return self._streams_topics


class ControllerServices(Services):
    """What a controller has."""

    __slots__ = ("controller",)

    kind = releases.CONTROLLER

    def __init__(self, common: Services, *, controller: "QuorumController") -> None:
        self._share(common)
        self.controller = controller
