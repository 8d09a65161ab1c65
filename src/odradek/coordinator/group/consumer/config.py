"""What consumer groups ask of the configs."""

from odradek.coordinator.group.protocol_config import ConfigValues, ProtocolConfig

CONSUMER_PROTOCOL = "consumer"  # in group.coordinator.rebalance.protocols


class ConsumerConfig(ProtocolConfig):
    __slots__ = ("allows_downgrade", "allows_upgrade", "assignors", "is_served", "regex_refresh_interval_ms")

    def __init__(self, config: ConfigValues) -> None:
        super().__init__(config, "consumer")
        policy = config.get("group.consumer.migration.policy", "disabled").lower()
        self.is_served = CONSUMER_PROTOCOL in config.get("group.coordinator.rebalance.protocols", ())
        self.assignors: tuple[str, ...] = tuple(config.get("group.consumer.assignors", ("uniform",)))
        self.allows_upgrade = policy in ("upgrade", "bidirectional")
        self.allows_downgrade = policy in ("downgrade", "bidirectional")
        self.regex_refresh_interval_ms: int = config.get("group.consumer.regex.refresh.interval.ms", 0)
