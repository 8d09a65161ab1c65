"""The brokers and controllers that have registered, fenced ones included."""

from collections.abc import Iterator
from typing import NamedTuple

from odradek.metadata import versions
from odradek.metadata.persistent_map import Map
from odradek.metadata.registration import BrokerRegistration, ControllerRegistration
from odradek.metadata.replay_error import ReplayError
from odradek.protocol.declare import Message
from odradek.protocol.messages.metadata_brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)


class ClusterReplay:
    """What records do to registrations, wherever these are kept: in the delta of an image, and in the controller."""

    __slots__ = ()

    def broker(self, broker_id: int) -> BrokerRegistration | None:
        """The broker as it is after the records that were replayed so far; None if it is not registered."""
        raise NotImplementedError

    def put_broker(self, broker_id: int, broker: BrokerRegistration | None) -> None:
        """None removes it."""
        raise NotImplementedError

    def put_controller(self, controller: ControllerRegistration) -> None:
        raise NotImplementedError

    def replay_register(self, record: RegisterBrokerRecord) -> None:
        self.put_broker(record.broker_id, BrokerRegistration.from_record(record))

    def replay_unregister(self, record: UnregisterBrokerRecord) -> None:
        self._known(record.broker_id, record.broker_epoch)
        self.put_broker(record.broker_id, None)

    def replay_fence(self, record: FenceBrokerRecord) -> None:
        self.put_broker(record.id, self._known(record.id, record.epoch)._replace(fenced=True))

    def replay_unfence(self, record: UnfenceBrokerRecord) -> None:
        self.put_broker(record.id, self._known(record.id, record.epoch)._replace(fenced=False))

    def replay_change(self, record: BrokerRegistrationChangeRecord) -> None:
        self.put_broker(record.broker_id, self._known(record.broker_id, record.broker_epoch).changed(record))

    def replay_controller(self, record: RegisterControllerRecord) -> None:
        self.put_controller(ControllerRegistration.from_record(record))

    def _known(self, broker_id: int, epoch: int) -> BrokerRegistration:
        """An epoch is given out once: a record with another one speaks of another life of the broker."""
        broker = self.broker(broker_id)
        if broker is None:
            raise ReplayError(f"broker {broker_id} is not registered")
        if broker.epoch != epoch:
            raise ReplayError(f"broker {broker_id} is registered with epoch {broker.epoch}, not {epoch}")
        return broker


class ClusterImage(NamedTuple):
    brokers: Map[int, BrokerRegistration]
    controllers: Map[int, ControllerRegistration]

    def records(self, metadata_version: int) -> Iterator[Message]:
        for broker in self.brokers.values():
            yield broker.record(metadata_version)
        if metadata_version >= versions.CONTROLLER_REGISTRATIONS:
            for controller in self.controllers.values():
                yield controller.record()


EMPTY = ClusterImage(Map(), Map())


class ClusterDelta(ClusterReplay):
    """`changed` has the new registration of each broker that a record has named, None for one that is gone."""

    __slots__ = ("_image", "changed", "changed_controllers")

    def __init__(self, image: ClusterImage) -> None:
        self._image = image
        self.changed: dict[int, BrokerRegistration | None] = {}
        self.changed_controllers: dict[int, ControllerRegistration | None] = {}

    def broker(self, broker_id: int) -> BrokerRegistration | None:
        return self.changed[broker_id] if broker_id in self.changed else self._image.brokers.get(broker_id)

    def put_broker(self, broker_id: int, broker: BrokerRegistration | None) -> None:
        self.changed[broker_id] = broker

    def put_controller(self, controller: ControllerRegistration) -> None:
        self.changed_controllers[controller.id] = controller

    def apply(self) -> ClusterImage:
        if not self.changed and not self.changed_controllers:
            return self._image
        return ClusterImage(
            self._image.brokers.changed(self.changed), self._image.controllers.changed(self.changed_controllers)
        )
