"""A broker or controller as it has registered: an immutable value."""

from typing import Any, NamedTuple

from odradek.protocol.messages.metadata_brokers import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)

FENCE, UNFENCE = 1, -1  # in a change record; 0 is no change
IN_CONTROLLED_SHUTDOWN = 1


class Endpoint(NamedTuple):
    name: str
    host: str
    port: int
    security_protocol: int


class BrokerRegistration(NamedTuple):
    id: int
    epoch: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    features: dict[str, tuple[int, int]]
    rack: str | None
    is_fenced: bool
    in_controlled_shutdown: bool
    directories: tuple[bytes, ...]  # those that are online
    cordoned: tuple[bytes, ...] | None  # of these: they get no new replicas (KIP-1066)

    @property
    def is_active(self) -> bool:
        """Whether it may lead and join in-sync replicas."""
        return not self.is_fenced and not self.in_controlled_shutdown

    @property
    def takes_new_replicas(self) -> bool:
        """Not when each of its directories is cordoned."""
        return not self.cordoned or not self.directories or set(self.cordoned) < set(self.directories)

    def changed(self, record: BrokerRegistrationChangeRecord) -> "BrokerRegistration":
        return self._replace(
            is_fenced=record.fenced == FENCE if record.fenced else self.is_fenced,
            in_controlled_shutdown=self.in_controlled_shutdown
            or record.in_controlled_shutdown == IN_CONTROLLED_SHUTDOWN,
            directories=tuple(record.log_dirs) if record.log_dirs else self.directories,
            cordoned=self.cordoned if record.cordoned_log_dirs is None else tuple(record.cordoned_log_dirs),
        )


class ControllerRegistration(NamedTuple):
    id: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    features: dict[str, tuple[int, int]]


def broker_from_record(record: RegisterBrokerRecord) -> BrokerRegistration:
    return BrokerRegistration(
        record.broker_id,
        record.broker_epoch,
        record.incarnation_id,
        _endpoints(record.end_points),
        _features(record.features),
        record.rack,
        record.fenced,
        record.in_controlled_shutdown,
        tuple(record.log_dirs),
        None if record.cordoned_log_dirs is None else tuple(record.cordoned_log_dirs),
    )


def controller_from_record(record: RegisterControllerRecord) -> ControllerRegistration:
    return ControllerRegistration(
        record.controller_id, record.incarnation_id, _endpoints(record.end_points), _features(record.features)
    )


def _endpoints(declared: list[Any]) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(point.name, point.host, point.port, point.security_protocol) for point in declared)


def _features(declared: list[Any]) -> dict[str, tuple[int, int]]:
    return {item.name: (item.min_supported_version, item.max_supported_version) for item in declared}
