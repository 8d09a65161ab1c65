"""What the log manager asks of the broker's configs, and what each topic's logs get from them."""

from collections.abc import Mapping

from odradek.config.broker import TABLE
from odradek.config.snapshot import Snapshot, field, optional, optional_strings
from odradek.config.sources import BrokerLayers, topic_config
from odradek.log.config import LogConfig
from odradek.log.producers.producer_state import PRODUCER_ID_EXPIRATION_MS

INITIAL_TASK_DELAY_MS = 30_000
PRODUCER_ID_EXPIRATION_CHECK_MS = 600_000


class LogManagerConfig(Snapshot, of=TABLE):
    flush_scheduler_interval_ms = field("log.flush.scheduler.interval.ms", int)
    recovery_point_checkpoint_ms = field("log.flush.offset.checkpoint.interval.ms", int)
    log_start_checkpoint_ms = field("log.flush.start.offset.checkpoint.interval.ms", int)
    high_watermark_checkpoint_ms = field("replica.high.watermark.checkpoint.interval.ms", int)
    retention_check_interval_ms = field("log.retention.check.interval.ms", int)
    recovery_threads_per_dir = field("num.recovery.threads.per.data.dir", int)
    cordoned_log_dirs = optional_strings("cordoned.log.dirs")
    initial_delay_ms = optional("log.initial.task.delay.ms", int)
    producer_expiration_ms = optional("producer.id.expiration.ms", int)
    producer_expiration_check_ms = optional("producer.id.expiration.check.interval.ms", int)

    @property
    def initial_task_delay_ms(self) -> int:
        """3.3 has no config for it and waits as long; the same goes for the next two."""
        return INITIAL_TASK_DELAY_MS if self.initial_delay_ms is None else self.initial_delay_ms

    @property
    def producer_id_expiration_ms(self) -> int:
        return self.producer_expiration_ms or PRODUCER_ID_EXPIRATION_MS

    @property
    def producer_id_expiration_check_ms(self) -> int:
        return self.producer_expiration_check_ms or PRODUCER_ID_EXPIRATION_CHECK_MS


class TopicConfigs:
    """A LogConfig per topic that has configs of its own; all others share one."""

    __slots__ = ("_configs", "_overrides", "_shared", "layers")

    def __init__(self, layers: BrokerLayers, overrides: Mapping[str, Mapping[str, object]]) -> None:
        self._overrides = {topic: dict(own) for topic, own in overrides.items() if own}
        self.update_layers(layers)

    def of(self, topic: str) -> LogConfig:
        return self._configs.get(topic, self._shared)

    def update(self, topic: str, overrides: Mapping[str, object]) -> LogConfig:
        """ConfigError for a bad one; nothing has changed then."""
        config = LogConfig.from_config(topic_config(self.layers, overrides))
        if overrides:
            self._overrides[topic] = dict(overrides)
            self._configs[topic] = config
        else:
            self._overrides.pop(topic, None)
            self._configs.pop(topic, None)
        return self.of(topic)

    def update_layers(self, layers: BrokerLayers) -> None:
        configs = {topic: LogConfig.from_config(topic_config(layers, own)) for topic, own in self._overrides.items()}
        self._shared = LogConfig.from_config(topic_config(layers, {}))
        self._configs = configs
        self.layers = layers
