"""What streams groups ask of the configs: the broker's, and over them those of a single group."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from odradek.coordinator.group.consumer.config import Bounded

if TYPE_CHECKING:
    from odradek.config.parsed import Config

STREAMS_PROTOCOL = "streams"  # in group.coordinator.rebalance.protocols
STANDBY_REPLICAS = "num.standby.replicas"  # as the group's record names it

_INT_MAX = 2**31 - 1


class StreamsConfig:
    """A 3.3 has none of these configs, and serves no streams groups."""

    __slots__ = ("_assignment", "_delay", "_heartbeat", "_session", "_standby_replicas", "is_served", "members_max")

    def __init__(self, config: "Config | Mapping[str, Any]") -> None:
        self.is_served = STREAMS_PROTOCOL in config.get("group.coordinator.rebalance.protocols", ())
        self.members_max: int = config.get("group.streams.max.size", 0)
        self._session = _bounded(config, "session.timeout.ms")
        self._heartbeat = _bounded(config, "heartbeat.interval.ms")
        delay_ms = config.get("group.streams.initial.rebalance.delay.ms", 0)
        self._delay = Bounded("streams.initial.rebalance.delay.ms", delay_ms, 0, _INT_MAX)
        self._standby_replicas = Bounded(
            "streams.num.standby.replicas",
            config.get("group.streams.num.standby.replicas", 0),
            0,
            config.get("group.streams.max.standby.replicas", 0),
        )
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

    def initial_rebalance_delay_ms(self, group_configs: Mapping[str, str]) -> int:
        return self._delay.of(group_configs)

    def assignment_configs(self, group_configs: Mapping[str, str]) -> dict[str, str]:
        """What an assignment depends upon: another value, and it is made anew."""
        return {STANDBY_REPLICAS: str(self._standby_replicas.of(group_configs))}


def _bounded(config: "Config | Mapping[str, Any]", name: str) -> Bounded:
    return Bounded(
        f"streams.{name}",
        config.get(f"group.streams.{name}", 0),
        config.get(f"group.streams.min.{name}", 0),
        config.get(f"group.streams.max.{name}", 0),
    )
