"""What the groups that the coordinator assigns itself ask of the configs: the broker's, over them those of a group."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol


class ConfigValues(Protocol):
    """Parsed configs, or some of them in a test."""

    def get(self, name: str, default: object, /) -> Any:
        """Any: of the type that its line in the table of configs says."""
        ...


class Bounded(NamedTuple):
    """A number that a group may have for itself, within the broker's bounds."""

    name: str
    default: int
    least: int
    most: int

    def of(self, group_configs: Mapping[str, str]) -> int:
        value = group_configs.get(self.name)
        return self.default if value is None else min(max(int(value), self.least), self.most)


class ProtocolConfig:
    """`protocol` is how the names of its configs begin: consumer, share or streams. A 3.3 has none of them."""

    __slots__ = ("_assignment", "_heartbeat", "_protocol", "_session", "members_max")

    def __init__(self, config: ConfigValues, protocol: str) -> None:
        self._protocol = protocol
        self.members_max: int = config.get(f"group.{protocol}.max.size", 0)
        self._session = self._bounded(config, "session.timeout.ms")
        self._heartbeat = self._bounded(config, "heartbeat.interval.ms")
        self.update(config)

    def update(self, config: ConfigValues) -> None:
        """The one that may change while the broker runs."""
        self._assignment = self._bounded(config, "assignment.interval.ms")

    def session_timeout_ms(self, group_configs: Mapping[str, str]) -> int:
        return self._session.of(group_configs)

    def heartbeat_interval_ms(self, group_configs: Mapping[str, str]) -> int:
        return self._heartbeat.of(group_configs)

    def assignment_interval_ms(self, group_configs: Mapping[str, str]) -> int:
        return self._assignment.of(group_configs)

    def _bounded(self, config: ConfigValues, name: str) -> Bounded:
        values = [config.get(f"group.{self._protocol}.{bound}{name}", 0) for bound in ("", "min.", "max.")]
        return Bounded(f"{self._protocol}.{name}", *values)
