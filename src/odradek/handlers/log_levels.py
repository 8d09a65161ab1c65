"""The levels of the broker's loggers, which an admin can read and change while it runs (KIP-412)."""

from odradek.protocol import errors

ROOT = "root"
LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")

# The loggers that exist from the start, under the names that Kafka gives its own.
LOGGERS = (
    "kafka.controller",
    "kafka.log.LogCleaner",
    "kafka.log.LogManager",
    "kafka.log.UnifiedLog",
    "kafka.network.RequestChannel",
    "kafka.network.SocketServer",
    "kafka.request.logger",
    "kafka.server.BrokerLifecycleManager",
    "kafka.server.BrokerServer",
    "kafka.server.ControllerServer",
    "kafka.server.DynamicBrokerConfig",
    "kafka.server.KafkaApis",
    "kafka.server.KafkaConfig",
    "kafka.server.KafkaRaftServer",
    "kafka.server.ReplicaManager",
    "kafka.server.metadata.BrokerMetadataPublisher",
    "org.apache.kafka.controller.QuorumController",
    "org.apache.kafka.image.loader.MetadataLoader",
    "org.apache.kafka.raft.KafkaRaftClient",
    "state.change.logger",
)


class LogLevels:
    """`levels` has the levels that were set, by logger; `root` is always among them. Every log line looks there."""

    __slots__ = ("_loggers", "levels")

    def __init__(self, root: str = "INFO", loggers: tuple[str, ...] = LOGGERS) -> None:
        self._loggers = {ROOT, *loggers}
        self.levels = {ROOT: root}

    def all(self) -> dict[str, str]:
        """The level that each logger has: its own, that of the nearest one above it, or root's."""
        return {name: self.level_of(name) for name in sorted(self._loggers)}

    def level_of(self, name: str) -> str:
        while name:
            if name in self.levels:
                return self.levels[name]
            name = name.rpartition(".")[0]
        return self.levels[ROOT]

    def check_set(self, name: str, level: str) -> None:
        self._check_exists(name)
        if level not in LEVELS:
            raise errors.InvalidConfig(
                f"Cannot set the log level of {name} to {level} as it is not a supported log level. "
                f"Valid log levels are {', '.join(sorted(LEVELS))}"
            )

    def check_unset(self, name: str) -> None:
        if name == ROOT:
            raise errors.InvalidRequest("Removing the log level of the root logger is not allowed")
        self._check_exists(name)

    def set(self, name: str, level: str) -> None:
        self.levels[name] = level

    def unset(self, name: str) -> None:
        self.levels.pop(name, None)

    def _check_exists(self, name: str) -> None:
        if name not in self._loggers:
            raise errors.InvalidConfig(f"Logger {name} does not exist!")
