"""The brokers and controllers that have registered."""

from odradek.controller.directory_ids import MIGRATING, UNASSIGNED, is_online
from odradek.controller.partition import Partition
from odradek.controller.placement import Host
from odradek.controller.registration import (
    BrokerRegistration,
    ControllerRegistration,
    broker_from_record,
    controller_from_record,
)
from odradek.protocol.errors import StaleBrokerEpoch
from odradek.protocol.messages.metadata_brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)


class Cluster:
    __slots__ = ("brokers", "controllers", "owners")

    def __init__(self) -> None:
        self.brokers: dict[int, BrokerRegistration] = {}
        self.controllers: dict[int, ControllerRegistration] = {}
        self.owners: dict[bytes, int] = {}  # log directory -> broker

    def is_active(self, broker_id: int) -> bool:
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.is_active

    def may_lead(self, broker_id: int, partition: Partition) -> bool:
        """Up, and with the directory of this replica online."""
        broker = self.brokers.get(broker_id)
        if broker is None or not broker.is_active:
            return False
        return is_online(partition.directory_of(broker_id), broker.directories)

    def hosts(self) -> list[Host]:
        """Those that take new replicas."""
        brokers = self.brokers.values()
        return [Host(item.id, item.rack, item.is_fenced) for item in brokers if item.takes_new_replicas]

    def default_directory(self, broker_id: int) -> bytes:
        """Where a new replica goes, if there is no choice; with several directories the broker chooses."""
        broker = self.brokers.get(broker_id)
        if broker is None or not broker.directories:
            return MIGRATING
        return broker.directories[0] if len(broker.directories) == 1 else UNASSIGNED

    def check_epoch(self, broker_id: int, broker_epoch: int) -> BrokerRegistration:
        """The broker, if it is the incarnation that the request speaks for."""
        broker = self.brokers.get(broker_id)
        if broker is None:
            raise StaleBrokerEpoch(f"No broker registration found for broker id {broker_id}")
        if broker.epoch != broker_epoch:
            raise StaleBrokerEpoch(f"Expected broker epoch {broker.epoch}, but got {broker_epoch}")
        return broker

    # Records

    def replay_register(self, record: RegisterBrokerRecord) -> None:
        self._put(broker_from_record(record))

    def replay_unregister(self, record: UnregisterBrokerRecord) -> None:
        broker = self.brokers[record.broker_id]
        assert broker.epoch == record.broker_epoch, f"unregistered in epoch {record.broker_epoch}, is in {broker.epoch}"
        self._disown(broker)
        del self.brokers[record.broker_id]

    def replay_change(self, record: BrokerRegistrationChangeRecord) -> None:
        broker = self.brokers[record.broker_id]
        assert broker.epoch == record.broker_epoch, f"changed in epoch {record.broker_epoch}, is in {broker.epoch}"
        self._put(broker.changed(record))

    def replay_fence(self, record: FenceBrokerRecord) -> None:
        self.brokers[record.id] = self.brokers[record.id]._replace(is_fenced=True)

    def replay_unfence(self, record: UnfenceBrokerRecord) -> None:
        self.brokers[record.id] = self.brokers[record.id]._replace(is_fenced=False)

    def replay_controller(self, record: RegisterControllerRecord) -> None:
        self.controllers[record.controller_id] = controller_from_record(record)

    def _put(self, broker: BrokerRegistration) -> None:
        before = self.brokers.get(broker.id)
        if before is not None:
            self._disown(before)
        self.brokers[broker.id] = broker
        for directory in broker.directories:
            self.owners[directory] = broker.id

    def _disown(self, broker: BrokerRegistration) -> None:
        for directory in broker.directories:
            self.owners.pop(directory, None)

    def validate(self) -> None:
        owners = {directory: broker.id for broker in self.brokers.values() for directory in broker.directories}
        assert self.owners == owners
        for broker_id, broker in self.brokers.items():
            assert broker.id == broker_id
