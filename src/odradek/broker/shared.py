"""What the broker and the controller of one node have in common: identity, configs, log, metrics, the metadata log."""

from typing import TYPE_CHECKING

from odradek.broker.dynamic_config import DynamicBrokerConfig
from odradek.broker.inter_broker import InterBroker
from odradek.broker.node_dirs import NodeDirs
from odradek.broker.server_log import ServerLog
from odradek.broker.start_waits import StartWaits
from odradek.config.parsed import Config
from odradek.handlers.error_counts import ErrorCounts
from odradek.handlers.faults import Faults
from odradek.handlers.log_levels import LogLevels
from odradek.handlers.services import OnError, Services, Warn
from odradek.metadata.cache import MetadataCache
from odradek.metadata.loader import MetadataLoader
from odradek.metrics.registry import Registry
from odradek.network.listener_security import MakeTlsContext
from odradek.protocol.releases import Release
from odradek.reactor.jobs import JobQueue
from odradek.reactor.loop import Loop

if TYPE_CHECKING:
    from odradek.raft.client import RaftClient


class Shared:
    """Made by KafkaRaftServer, part by part, before any of the two servers starts."""

    __slots__ = (
        "cache",
        "configs",
        "dirs",
        "error_counts",
        "faults",
        "inter_broker",
        "jobs",
        "loader",
        "log",
        "log_levels",
        "loop",
        "metrics",
        "node_id",
        "on_error",
        "poisons",
        "raft",
        "release",
        "tls",
        "waits",
        "warn",
    )

    loader: MetadataLoader
    raft: "RaftClient"

    def __init__(
        self,
        loop: Loop,
        log: ServerLog,
        configs: DynamicBrokerConfig,
        release: Release,
        dirs: NodeDirs,
        waits: StartWaits,
        tls: MakeTlsContext | None,
        poisons: bool,
        faults: Faults | None,
        on_error: OnError,
        warn: Warn,
    ) -> None:
        self.loop = loop
        self.log = log
        self.configs = configs
        self.release = release
        self.dirs = dirs
        self.waits = waits
        self.tls = tls
        self.poisons = poisons  # what was received is overwritten as soon as it is dead
        self.faults = faults
        self.on_error = on_error
        self.warn = warn
        self.node_id: int = configs.config["node.id"]
        self.jobs = JobQueue(loop)
        self.metrics = Registry(loop.ports.clock.mono_ms)
        self.cache = MetadataCache()
        self.inter_broker = InterBroker(loop, self.node_id, release)
        self.error_counts = ErrorCounts()
        self.log_levels = LogLevels()
        self.metrics.before_reading(lambda: self.error_counts.hand_in(self.metrics))
        log.levels = self.log_levels.levels

    def services(self) -> Services:
        """What the handlers of both roles have in common, once the quorum is there."""
        return Services(
            self.loop,
            node_id=self.node_id,
            cluster_id=self.cluster_id,
            release=self.release,
            configs=self.configs,
            metadata=self.cache,
            raft=self.raft,
            error_counts=self.error_counts,
            log_levels=self.log_levels,
            on_error=self.on_error,
            warn=self.warn,
        )

    @property
    def config(self) -> Config:
        return self.configs.config

    @property
    def cluster_id(self) -> str:
        return self.dirs.cluster_id
