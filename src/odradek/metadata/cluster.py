"""The brokers and controllers that have registered, fenced ones included."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from odradek.metadata import record_versions, versions
from odradek.metadata.persistent_map import Map
from odradek.metadata.replay_error import ReplayError
from odradek.protocol.declare import Message, Uuid
from odradek.protocol.messages.metadata_brokers import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)

Levels = tuple[tuple[str, int, int], ...]  # name, lowest and highest supported level

FENCE, UNFENCE = 1, -1  # in a BrokerRegistrationChangeRecord; 0 is no change


class Endpoint(NamedTuple):
    """`protocol` is the number of the security protocol: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""

    listener: str
    host: str
    port: int
    protocol: int


class BrokerImage(NamedTuple):
    id: int
    epoch: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    features: Levels = ()
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    directories: tuple[bytes, ...] = ()
    cordoned_directories: tuple[bytes, ...] | None = None
    is_migrating_zk_broker: bool = False

    def endpoint(self, listener: str) -> Endpoint | None:
        for endpoint in self.endpoints:
            if endpoint.listener == listener:
                return endpoint
        return None

    def record(self, metadata_version: int) -> RegisterBrokerRecord:
        version = record_versions.register_broker(metadata_version)
        record = RegisterBrokerRecord(
            broker_id=self.id,
            incarnation_id=Uuid(self.incarnation_id),
            broker_epoch=self.epoch,
            end_points=[
                BrokerEndpoint(name=e[0], host=e[1], port=e[2], security_protocol=e[3]) for e in self.endpoints
            ],
            features=[BrokerFeature(**_levels_fields(levels)) for levels in self.features],
            rack=self.rack,
            fenced=self.fenced,
        )
        # What the level cannot say is left out, as a downgrade of metadata.version has it.
        if version >= 1:
            record.in_controlled_shutdown = self.in_controlled_shutdown
        if version >= 2:
            record.is_migrating_zk_broker = self.is_migrating_zk_broker
        if version >= 3:
            record.log_dirs = [Uuid(directory) for directory in self.directories]
        if version >= 4 and self.cordoned_directories is not None:
            record.cordoned_log_dirs = [Uuid(directory) for directory in self.cordoned_directories]
        return record


class ControllerImage(NamedTuple):
    id: int
    incarnation_id: bytes
    zk_migration_ready: bool
    endpoints: tuple[Endpoint, ...]
    features: Levels = ()

    def record(self) -> RegisterControllerRecord:
        return RegisterControllerRecord(
            controller_id=self.id,
            incarnation_id=Uuid(self.incarnation_id),
            zk_migration_ready=self.zk_migration_ready,
            end_points=[
                ControllerEndpoint(name=e[0], host=e[1], port=e[2], security_protocol=e[3]) for e in self.endpoints
            ],
            features=[ControllerFeature(**_levels_fields(levels)) for levels in self.features],
        )


class ClusterImage(NamedTuple):
    brokers: Map[int, BrokerImage]
    controllers: Map[int, ControllerImage]

    def records(self, metadata_version: int) -> Iterator[Message]:
        for broker in self.brokers.values():
            yield broker.record(metadata_version)
        if metadata_version >= versions.CONTROLLER_REGISTRATIONS:
            for controller in self.controllers.values():
                yield controller.record()


EMPTY = ClusterImage(Map(), Map())


class ClusterDelta:
    """`changed` has the new image of each broker that a record has named, None for one that is gone."""

    __slots__ = ("_image", "changed", "changed_controllers")

    def __init__(self, image: ClusterImage) -> None:
        self._image = image
        self.changed: dict[int, BrokerImage | None] = {}
        self.changed_controllers: dict[int, ControllerImage | None] = {}

    def broker(self, broker_id: int) -> BrokerImage | None:
        """As it is after the records that were replayed so far."""
        return self.changed[broker_id] if broker_id in self.changed else self._image.brokers.get(broker_id)

    def replay_register(self, record: RegisterBrokerRecord) -> None:
        cordoned = record.cordoned_log_dirs
        self.changed[record.broker_id] = BrokerImage(
            record.broker_id,
            record.broker_epoch,
            record.incarnation_id,
            _endpoints(record.end_points),
            _levels(record.features),
            record.rack,
            record.fenced,
            record.in_controlled_shutdown,
            tuple(record.log_dirs),
            None if cordoned is None else tuple(cordoned),
            record.is_migrating_zk_broker,
        )

    def replay_unregister(self, record: UnregisterBrokerRecord) -> None:
        """One that is not there is gone already."""
        self.changed[record.broker_id] = None

    def replay_fence(self, record: FenceBrokerRecord) -> None:
        self.changed[record.id] = self._known(record.id, record.epoch)._replace(fenced=True)

    def replay_unfence(self, record: UnfenceBrokerRecord) -> None:
        self.changed[record.id] = self._known(record.id, record.epoch)._replace(fenced=False)

    def replay_change(self, record: BrokerRegistrationChangeRecord) -> None:
        broker = self._known(record.broker_id, record.broker_epoch)
        if record.fenced:
            broker = broker._replace(fenced=record.fenced == FENCE)
        if record.in_controlled_shutdown:
            broker = broker._replace(in_controlled_shutdown=True)
        if record.log_dirs:
            broker = broker._replace(directories=tuple(record.log_dirs))
        if record.cordoned_log_dirs is not None:
            broker = broker._replace(cordoned_directories=tuple(record.cordoned_log_dirs))
        self.changed[record.broker_id] = broker

    def replay_controller(self, record: RegisterControllerRecord) -> None:
        self.changed_controllers[record.controller_id] = ControllerImage(
            record.controller_id,
            record.incarnation_id,
            record.zk_migration_ready,
            _endpoints(record.end_points),
            _levels(record.features),
        )

    def apply(self) -> ClusterImage:
        if not self.changed and not self.changed_controllers:
            return self._image
        return ClusterImage(
            self._image.brokers.changed(self.changed), self._image.controllers.changed(self.changed_controllers)
        )

    def _known(self, broker_id: int, epoch: int) -> BrokerImage:
        """An epoch is given out once: a record with another one speaks of another life of the broker."""
        broker = self.broker(broker_id)
        if broker is None:
            raise ReplayError(f"broker {broker_id} is not registered")
        if broker.epoch != epoch:
            raise ReplayError(f"broker {broker_id} is registered with epoch {broker.epoch}, not {epoch}")
        return broker


def _endpoints(points: list[BrokerEndpoint] | list[ControllerEndpoint]) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(point.name, point.host, point.port, point.security_protocol) for point in points)


def _levels(features: list[BrokerFeature] | list[ControllerFeature]) -> Levels:
    return tuple((f.name, f.min_supported_version, f.max_supported_version) for f in features)


def _levels_fields(levels: tuple[str, int, int]) -> dict[str, Any]:
    return dict(zip(("name", "min_supported_version", "max_supported_version"), levels, strict=True))
