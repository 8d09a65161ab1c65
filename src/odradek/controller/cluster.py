"""The brokers and controllers that have registered, and which broker a log directory belongs to."""

from odradek.broken_rule import require
from odradek.controller.placement import Host
from odradek.metadata.cluster import ClusterReplay
from odradek.metadata.directory_ids import MIGRATING, UNASSIGNED, is_online
from odradek.metadata.partition import PartitionRegistration
from odradek.metadata.registration import BrokerRegistration, ControllerRegistration
from odradek.protocol.errors import StaleBrokerEpoch


class Cluster(ClusterReplay):
    __slots__ = ("brokers", "controllers", "owners")

    def __init__(self) -> None:
        self.brokers: dict[int, BrokerRegistration] = {}
        self.controllers: dict[int, ControllerRegistration] = {}
        self.owners: dict[bytes, int] = {}  # log directory -> broker

    def is_active(self, broker_id: int) -> bool:
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.is_active

    def is_unfenced(self, broker_id: int) -> bool:
        broker = self.brokers.get(broker_id)
        return broker is not None and not broker.fenced

    def may_lead(self, broker_id: int, partition: PartitionRegistration) -> bool:
        """Whether it is up, and has the directory of this replica online."""
        broker = self.brokers.get(broker_id)
        if broker is None or not broker.is_active:
            return False
        return is_online(partition.directory_of(broker_id), broker.directories)

    def has_online_directory(self, broker_id: int, partition: PartitionRegistration) -> bool:
        return is_online(partition.directory_of(broker_id), self.brokers[broker_id].directories)

    def hosts(self) -> list[Host]:
        """The brokers that take new replicas."""
        brokers = self.brokers.values()
        return [Host(item.id, item.rack, item.fenced) for item in brokers if item.takes_new_replicas]

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

    # Where registrations are kept

    def broker(self, broker_id: int) -> BrokerRegistration | None:
        return self.brokers.get(broker_id)

    def put_broker(self, broker_id: int, broker: BrokerRegistration | None) -> None:
        before = self.brokers.get(broker_id)
        for directory in () if before is None else before.directories:
            self.owners.pop(directory, None)
        if broker is None:
            self.brokers.pop(broker_id, None)
            return
        self.brokers[broker_id] = broker
        for directory in broker.directories:
            self.owners[directory] = broker_id

    def put_controller(self, controller: ControllerRegistration) -> None:
        self.controllers[controller.id] = controller

    def validate(self) -> None:
        owners = {directory: broker.id for broker in self.brokers.values() for directory in broker.directories}
        require(self.owners == owners, "a log directory belongs to the broker that has registered it")
        for broker_id, broker in self.brokers.items():
            require(broker.id == broker_id, "a broker is found under its id")
