"""What share groups ask of the configs."""

from odradek.coordinator.group.protocol_config import ConfigValues, ProtocolConfig

ASSIGNOR = "simple"


class ShareConfig(ProtocolConfig):
    __slots__ = ("retry_interval_ms",)

    def __init__(self, config: ConfigValues) -> None:
        super().__init__(config, "share")
        self.retry_interval_ms: int = config.get("group.share.initialize.retry.interval.ms", 0)
