"""What consumer groups ask of the configs: the broker's, and over them those of a single group."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from odradek.config.parsed import Config

CONSUMER_PROTOCOL = "consumer"  # in group.coordinator.rebalance.protocols


class Bounded(NamedTuple):
    """A time that a group may have for itself, within the broker's bounds."""

    name: str
    default_ms: int
    min_ms: int
    max_ms: int

    def of(self, group_configs: Mapping[str, str]) -> int:
        value = group_configs.get(self.name)
        return self.default_ms if value is None else min(max(int(value), self.min_ms), self.max_ms)


class ConsumerConfig:
    """A 3.3 has none of these configs, and serves no consumer groups."""

    __slots__ = (
        "_assignment",
        "_heartbeat",
        "_session",
        "allows_downgrade",
        "allows_upgrade",
        "assignors",
        "is_served",
        "members_max",
        "regex_refresh_interval_ms",
    )

    def __init__(self, config: "Config | Mapping[str, Any]") -> None:
        policy = config.get("group.consumer.migration.policy", "disabled").lower()
        self.is_served = CONSUMER_PROTOCOL in config.get("group.coordinator.rebalance.protocols", ())
        self.members_max: int = config.get("group.consumer.max.size", 0)
        self.assignors: tuple[str, ...] = tuple(config.get("group.consumer.assignors", ("uniform",)))
        self.allows_upgrade = policy in ("upgrade", "bidirectional")
        self.allows_downgrade = policy in ("downgrade", "bidirectional")
        self.regex_refresh_interval_ms: int = config.get("group.consumer.regex.refresh.interval.ms", 0)
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
        f"consumer.{name}",
        config.get(f"group.consumer.{name}", 0),
        config.get(f"group.consumer.min.{name}", 0),
        config.get(f"group.consumer.max.{name}", 0),
    )
