"""What the membership of share groups asks of the configs: the broker's, and over them those of a single group."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from odradek.coordinator.group.consumer.config import Bounded

if TYPE_CHECKING:
    from odradek.config.parsed import Config

ASSIGNOR = "simple"


class ShareConfig:
    """A 3.3 has none of these configs, and serves no share groups."""

    __slots__ = ("_assignment", "_heartbeat", "_session", "members_max", "retry_interval_ms")

    def __init__(self, config: "Config | Mapping[str, Any]") -> None:
        self.members_max: int = config.get("group.share.max.size", 0)
        self.retry_interval_ms: int = config.get("group.share.initialize.retry.interval.ms", 0)
        self._session = _bounded(config, "session.timeout.ms")
        self._heartbeat = _bounded(config, "heartbeat.interval.ms")
        self.update(config)

    def update(self, config: "Config | Mapping[str, Any]") -> None:
        """The one that may change while the broker runs."""
        self._assignment = _bounded(config, "assignment.interval.ms")

    def session_timeout_ms(self, group_configs: Mapping[str, str]) -> int:
        return self._session.of(group_configs)

    def heartbeat_interval_ms(self, group_configs: Mapping[str, str]) -> int:
        return self._heartbeat.of(group_configs)

    def assignment_interval_ms(self, group_configs: Mapping[str, str]) -> int:
        return self._assignment.of(group_configs)


def _bounded(config: "Config | Mapping[str, Any]", name: str) -> Bounded:
    return Bounded(
        f"share.{name}",
        config.get(f"group.share.{name}", 0),
        config.get(f"group.share.min.{name}", 0),
        config.get(f"group.share.max.{name}", 0),
    )
