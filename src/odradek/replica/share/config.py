"""What share-partitions ask of the configs: the broker's, and over them those of their group."""

from collections.abc import Mapping
from typing import Any

GROUP_RESOURCE = 32  # as in DescribeConfigs
READ_COMMITTED = "read_committed"
EARLIEST, LATEST, BY_DURATION = "earliest", "latest", "by_duration:"


class ShareGroupConfig:
    """What holds for one group at the moment it is asked for. `broker` has the broker's configs by name. Any: each of
    the type that its definition gives it."""

    __slots__ = ("_broker", "_group")

    def __init__(self, broker: Mapping[str, Any], group: Mapping[str, str]) -> None:
        self._broker = broker
        self._group = group

    def _bounded(self, name: str) -> int:
        own = self._group.get(f"share.{name}")
        broker = self._broker
        if own is None:
            default: int = broker[f"group.share.{name}"]
            return default
        low: int = broker[f"group.share.min.{name}"]
        high: int = broker[f"group.share.max.{name}"]
        return min(max(int(own), low), high)

    @property
    def lock_duration_ms(self) -> int:
        return self._bounded("record.lock.duration.ms")

    @property
    def delivery_limit(self) -> int:
        return self._bounded("delivery.count.limit")

    @property
    def locks_max(self) -> int:
        return self._bounded("partition.max.record.locks")

    @property
    def reads_committed(self) -> bool:
        return self._group.get("share.isolation.level") == READ_COMMITTED

    @property
    def offset_reset(self) -> str:
        return self._group.get("share.auto.offset.reset", LATEST)

    @property
    def may_renew(self) -> bool:
        return self._group.get("share.renew.acknowledge.enable", "true").lower() == "true"
