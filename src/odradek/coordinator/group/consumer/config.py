"""What consumer groups ask of the configs: the broker's, and over them those of a single group."""

from collections.abc import Mapping
from typing import NamedTuple

from odradek.config.broker import TABLE
from odradek.config.parsed import Config
from odradek.config.snapshot import Snapshot, optional

CONSUMER_PROTOCOL = "consumer"  # in group.coordinator.rebalance.protocols

_SESSION, _HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
_ASSIGNMENT = "consumer.assignment.interval.ms"


class _BrokerConfig(Snapshot, of=TABLE):
    """A 3.3 has none of them."""

    protocols = optional("group.coordinator.rebalance.protocols", tuple)
    session_timeout_ms = optional("group.consumer.session.timeout.ms", int)
    session_timeout_ms_min = optional("group.consumer.min.session.timeout.ms", int)
    session_timeout_ms_max = optional("group.consumer.max.session.timeout.ms", int)
    heartbeat_interval_ms = optional("group.consumer.heartbeat.interval.ms", int)
    heartbeat_interval_ms_min = optional("group.consumer.min.heartbeat.interval.ms", int)
    heartbeat_interval_ms_max = optional("group.consumer.max.heartbeat.interval.ms", int)
    assignment_interval_ms = optional("group.consumer.assignment.interval.ms", int)
    assignment_interval_ms_min = optional("group.consumer.min.assignment.interval.ms", int)
    assignment_interval_ms_max = optional("group.consumer.max.assignment.interval.ms", int)
    members_max = optional("group.consumer.max.size", int)
    assignors = optional("group.consumer.assignors", tuple)
    migration_policy = optional("group.consumer.migration.policy", str)
    regex_refresh_interval_ms = optional("group.consumer.regex.refresh.interval.ms", int)


class Bounded(NamedTuple):
    """A time that a group may have for itself, within the broker's bounds."""

    default_ms: int
    min_ms: int
    max_ms: int

    def of(self, group_configs: Mapping[str, str], name: str) -> int:
        value = group_configs.get(name)
        if value is None:
            return self.default_ms
        return min(max(int(value), self.min_ms), self.max_ms)


class ConsumerConfig:
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

    def __init__(self, config: Config) -> None:
        """Of a 3.3 too, which serves no consumer groups."""
        broker = _BrokerConfig.from_config(config)
        policy = (broker.migration_policy or "disabled").lower()
        self.is_served = CONSUMER_PROTOCOL in (broker.protocols or ())
        self.members_max = broker.members_max or 0
        self.assignors: tuple[str, ...] = tuple(broker.assignors or ("uniform",))
        self.allows_upgrade = policy in ("upgrade", "bidirectional")
        self.allows_downgrade = policy in ("downgrade", "bidirectional")
        self.regex_refresh_interval_ms = broker.regex_refresh_interval_ms or 600_000
        self._session = Bounded(
            broker.session_timeout_ms or 0, broker.session_timeout_ms_min or 0, broker.session_timeout_ms_max or 0
        )
        self._heartbeat = Bounded(
            broker.heartbeat_interval_ms or 0,
            broker.heartbeat_interval_ms_min or 0,
            broker.heartbeat_interval_ms_max or 0,
        )
        self._assignment = Bounded(
            broker.assignment_interval_ms or 0,
            broker.assignment_interval_ms_min or 0,
            broker.assignment_interval_ms_max or 0,
        )

    def session_timeout_ms(self, group_configs: Mapping[str, str]) -> int:
        return self._session.of(group_configs, _SESSION)

    def heartbeat_interval_ms(self, group_configs: Mapping[str, str]) -> int:
        return self._heartbeat.of(group_configs, _HEARTBEAT)

    def assignment_interval_ms(self, group_configs: Mapping[str, str]) -> int:
        return self._assignment.of(group_configs, _ASSIGNMENT)
