"""The coordinators of a broker: made upon the replicas that hold their state, told of every image after those."""

from collections.abc import Callable
from typing import Protocol

from odradek.broker.server_log import Logger
from odradek.broker.shares import Shares
from odradek.coordinator.group.coordinator import GroupCoordinator
from odradek.coordinator.group.share.effects import InitializeState
from odradek.coordinator.metrics import register_groups, register_transactions
from odradek.coordinator.shard import Tell
from odradek.coordinator.transaction.coordinator import TransactionCoordinator
from odradek.handlers.services import Services
from odradek.metadata.delta import MetadataDelta
from odradek.metadata.image import MetadataImage
from odradek.replica.partition import Partition

_LOGGERS = (
    "org.apache.kafka.coordinator.group.GroupCoordinatorService",
    "kafka.coordinator.transaction.TransactionCoordinator",
    "org.apache.kafka.coordinator.share.ShareCoordinatorService",
)


class Coordinator(Protocol):
    def applied(self, delta: MetadataDelta, image: MetadataImage) -> None: ...
    def opened(self, topic: str, partition: int) -> None: ...
    def stop(self) -> None: ...


class Coordinators:
    __slots__ = ("_all",)

    def __init__(self, services: Services, logger: Callable[[str], Logger]) -> None:
        """`logger` makes the one of a name: each coordinator has Kafka's own."""
        groups, transactions, shares = (_teller(logger(name)) for name in _LOGGERS)
        services.groups = GroupCoordinator(
            services.replicas, services.layers.current.config, services.release, tell=groups
        )
        services.transactions = TransactionCoordinator(
            services.replicas,
            services.inter_broker,
            services.metadata,
            services.producer_ids,
            services.layers.current.config,
            tell=transactions,
        )
        services.replicas.membership = services.transactions
        register_groups(services.metrics, services.groups)
        register_transactions(services.metrics, services.transactions)
        self._all: list[Coordinator] = [services.groups, services.transactions]
        if services.release.behaviour.has_share_groups:
            self._all.append(self._share_groups(services, shares))
        services.replicas.on_opened = self._opened

    @staticmethod
    def _share_groups(services: Services, tell: Tell) -> Shares:
        shares = services.shares = Shares(services, tell)
        services.groups.performers[InitializeState] = lambda shard, wanted: shares.groups.perform(shard, wanted)
        return shares

    def applied(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """After the roles of the delta, in the order of the log."""
        for coordinator in self._all:
            coordinator.applied(delta, image)

    def _opened(self, partition: Partition) -> None:
        if partition.topic.is_internal:
            for coordinator in self._all:
                coordinator.opened(partition.topic.name, partition.index)

    def stop(self) -> None:
        """Whoever waits is told to look for another coordinator."""
        for coordinator in self._all:
            coordinator.stop()


def _teller(log: Logger) -> Tell:
    def tell(message: str, error: BaseException | None) -> None:
        log.info(message) if error is None else log.error(message, error)

    return tell
