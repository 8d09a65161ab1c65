"""What streams groups ask of the configs."""

from collections.abc import Mapping

from odradek.coordinator.group.protocol_config import Bounded, ConfigValues, ProtocolConfig

STREAMS_PROTOCOL = "streams"  # in group.coordinator.rebalance.protocols
STANDBY_REPLICAS = "num.standby.replicas"  # as the group's record names it

_INT_MAX = 2**31 - 1


class StreamsConfig(ProtocolConfig):
    __slots__ = ("_delay", "_standby_replicas", "is_served")

    def __init__(self, config: ConfigValues) -> None:
        super().__init__(config, "streams")
        self.is_served = STREAMS_PROTOCOL in config.get("group.coordinator.rebalance.protocols", ())
        delay_ms = config.get("group.streams.initial.rebalance.delay.ms", 0)
        self._delay = Bounded("streams.initial.rebalance.delay.ms", delay_ms, 0, _INT_MAX)
        replicas = config.get("group.streams.num.standby.replicas", 0)
        replicas_max = config.get("group.streams.max.standby.replicas", 0)
        self._standby_replicas = Bounded("streams.num.standby.replicas", replicas, 0, replicas_max)

    def initial_rebalance_delay_ms(self, group_configs: Mapping[str, str]) -> int:
        return self._delay.of(group_configs)

    def assignment_configs(self, group_configs: Mapping[str, str]) -> dict[str, str]:
        """What an assignment depends upon: another value, and it is made anew."""
        return {STANDBY_REPLICAS: str(self._standby_replicas.of(group_configs))}
