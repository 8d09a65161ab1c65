"""What the membership of share groups asks of the configs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from odradek.coordinator.group.protocol_config import ProtocolConfig

if TYPE_CHECKING:
    from odradek.config.parsed import Config

ASSIGNOR = "simple"


class ShareConfig(ProtocolConfig):
    __slots__ = ("retry_interval_ms",)

    def __init__(self, config: "Config | Mapping[str, Any]") -> None:
        super().__init__(config, "share")
        self.retry_interval_ms: int = config.get("group.share.initialize.retry.interval.ms", 0)
