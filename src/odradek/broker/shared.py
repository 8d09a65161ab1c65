"""What the broker and the controller of one node have in common: identity, configs, log, metrics, the metadata log."""

from typing import TYPE_CHECKING

from odradek.broker.dynamic_config import DynamicBrokerConfig
from odradek.broker.inter_broker import InterBroker
from odradek.broker.node_dirs import NodeDirs
from odradek.broker.server_log import ServerLog
from odradek.broker.start_waits import StartWaits
from odradek.config.parsed import Config
from odradek.handlers.log_levels import LogLevels
from odradek.handlers.services import Services
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
        "inter_broker",
        "jobs",
        "loader",
        "log",
        "loop",
        "metrics",
        "node_id",
        "poisons",
        "raft",
        "release",
        "services",
        "tls",
        "waits",
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
        poisons: bool = False,
    ) -> None:
        self.loop = loop
        self.log = log
        self.configs = configs
        self.release = release
        self.dirs = dirs
        self.waits = waits
        self.tls = tls
        self.poisons = poisons  # what was received is overwritten as soon as it is dead
        self.node_id: int = configs.config["node.id"]
        self.jobs = JobQueue(loop)
        self.metrics = Registry(loop.ports.clock.mono_ms)
        self.cache = MetadataCache()
        self.inter_broker = InterBroker(loop, self.node_id, release)
        self.services = Services(
            loop,
            node_id=self.node_id,
            cluster_id=dirs.cluster_id,
            release=release,
            layers=configs,
            metadata=self.cache,
            inter_broker=self.inter_broker,
            metrics=self.metrics,
            log_levels=LogLevels(),
        )
        self.metrics.before_reading(lambda: self.services.error_counts.hand_in(self.metrics))
        log.levels = self.services.log_levels.levels

    @property
    def config(self) -> Config:
        return self.configs.config

    @property
    def cluster_id(self) -> str:
        return self.dirs.cluster_id
