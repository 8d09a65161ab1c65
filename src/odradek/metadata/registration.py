"""A broker or a controller as it has registered: immutable values, which the controller and every image share."""

from typing import NamedTuple, TypedDict

from odradek.metadata import record_versions
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.metadata_brokers import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)

Levels = tuple[tuple[str, int, int], ...]  # name, lowest and highest supported level of each feature

FENCE, UNFENCE = 1, -1  # in a BrokerRegistrationChangeRecord; 0 is no change
IN_CONTROLLED_SHUTDOWN = 1


class Endpoint(NamedTuple):
    """`protocol` is the number of the security protocol: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""

    listener: str
    host: str
    port: int
    protocol: int


class BrokerRegistration(NamedTuple):
    id: int
    epoch: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    features: Levels = ()
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    directories: tuple[bytes, ...] = ()  # the log directories that are online
    cordoned_directories: tuple[bytes, ...] | None = None  # those that get no new replicas (KIP-1066)
    is_migrating_zk_broker: bool = False

    @classmethod
    def from_record(cls, record: RegisterBrokerRecord) -> "BrokerRegistration":
        cordoned = record.cordoned_log_dirs
        return cls(
            record.broker_id,
            record.broker_epoch,
            record.incarnation_id,
            tuple(Endpoint(point.name, point.host, point.port, point.security_protocol) for point in record.end_points),
            tuple((item.name, item.min_supported_version, item.max_supported_version) for item in record.features),
            record.rack,
            record.fenced,
            record.in_controlled_shutdown,
            tuple(record.log_dirs),
            None if cordoned is None else tuple(cordoned),
            record.is_migrating_zk_broker,
        )

    def changed(self, record: BrokerRegistrationChangeRecord) -> "BrokerRegistration":
        """What the record does not name stays. Nobody comes back from a controlled shutdown but by a registration."""
        cordoned = record.cordoned_log_dirs
        return self._replace(
            fenced=record.fenced == FENCE if record.fenced else self.fenced,
            in_controlled_shutdown=self.in_controlled_shutdown
            or record.in_controlled_shutdown == IN_CONTROLLED_SHUTDOWN,
            directories=tuple(record.log_dirs) if record.log_dirs else self.directories,
            cordoned_directories=self.cordoned_directories if cordoned is None else tuple(cordoned),
        )

    def record(self, metadata_version: int) -> RegisterBrokerRecord:
        """The record that makes this value; what nodes at this level cannot read is left out."""
        version = record_versions.register_broker(metadata_version)
        record = RegisterBrokerRecord(
            broker_id=self.id,
            incarnation_id=Uuid(self.incarnation_id),
            broker_epoch=self.epoch,
            end_points=[BrokerEndpoint(**_endpoint_fields(endpoint)) for endpoint in self.endpoints],
            features=[BrokerFeature(**_levels_fields(*levels)) for levels in self.features],
            rack=self.rack,
            fenced=self.fenced,
        )
        if version >= 1:
            record.in_controlled_shutdown = self.in_controlled_shutdown
        if version >= 2:
            record.is_migrating_zk_broker = self.is_migrating_zk_broker
        if version >= 3:
            record.log_dirs = [Uuid(directory) for directory in self.directories]
        if version >= 4 and self.cordoned_directories is not None:
            record.cordoned_log_dirs = [Uuid(directory) for directory in self.cordoned_directories]
        return record

    @property
    def is_active(self) -> bool:
        """Whether it may lead and join in-sync replicas."""
        return not self.fenced and not self.in_controlled_shutdown

    @property
    def takes_new_replicas(self) -> bool:
        """Whether new replicas may be placed on it: not if each of its directories is cordoned."""
        cordoned = self.cordoned_directories
        return not cordoned or not self.directories or set(cordoned) < set(self.directories)

    def endpoint(self, listener: str) -> Endpoint | None:
        for endpoint in self.endpoints:
            if endpoint.listener == listener:
                return endpoint
        return None


class ControllerRegistration(NamedTuple):
    id: int
    incarnation_id: bytes
    zk_migration_ready: bool
    endpoints: tuple[Endpoint, ...]
    features: Levels = ()

    @classmethod
    def from_record(cls, record: RegisterControllerRecord) -> "ControllerRegistration":
        return cls(
            record.controller_id,
            record.incarnation_id,
            record.zk_migration_ready,
            tuple(Endpoint(point.name, point.host, point.port, point.security_protocol) for point in record.end_points),
            tuple((item.name, item.min_supported_version, item.max_supported_version) for item in record.features),
        )

    def record(self) -> RegisterControllerRecord:
        """The record that makes this value."""
        return RegisterControllerRecord(
            controller_id=self.id,
            incarnation_id=Uuid(self.incarnation_id),
            zk_migration_ready=self.zk_migration_ready,
            end_points=[ControllerEndpoint(**_endpoint_fields(endpoint)) for endpoint in self.endpoints],
            features=[ControllerFeature(**_levels_fields(*levels)) for levels in self.features],
        )


def supported_levels(features: Levels, name: str) -> tuple[int, int] | None:
    """The lowest and the highest level of a feature that a node has registered with; None if it does not know it."""
    for known, low, high in features:
        if known == name:
            return low, high
    return None


class _EndpointFields(TypedDict):
    name: str
    host: str
    port: int
    security_protocol: int


class _LevelsFields(TypedDict):
    name: str
    min_supported_version: int
    max_supported_version: int


def _endpoint_fields(endpoint: Endpoint) -> _EndpointFields:
    listener, host, port, protocol = endpoint
    return {"name": listener, "host": host, "port": port, "security_protocol": protocol}


def _levels_fields(name: str, low: int, high: int) -> _LevelsFields:
    return {"name": name, "min_supported_version": low, "max_supported_version": high}
