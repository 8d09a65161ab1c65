"""The coordinators of a broker: made upon the replicas that hold their state, told of every image after those."""

from collections.abc import Callable
from typing import Protocol

from odradek.broker.producer_ids import ProducerIds
from odradek.broker.server_log import Logger
from odradek.broker.shared import Shared
from odradek.broker.shares import Shares
from odradek.coordinator.group.coordinator import GroupCoordinator
from odradek.coordinator.group.share.effects import InitializeState
from odradek.coordinator.metrics import register_groups, register_transactions
from odradek.coordinator.shard import Tell
from odradek.coordinator.transaction.coordinator import TransactionCoordinator
from odradek.metadata.delta import MetadataDelta
from odradek.metadata.image import MetadataImage
from odradek.replica.manager import ReplicaManager
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
    """`shares` is None in a release that has no share groups."""

    __slots__ = ("_all", "groups", "shares", "transactions")

    def __init__(
        self, shared: Shared, replicas: ReplicaManager, producer_ids: ProducerIds, logger: Callable[[str], Logger]
    ) -> None:
        """`logger` makes the logger of a name: each coordinator logs under the name that it has in Kafka."""
        groups, transactions, shares = (_teller(logger(name)) for name in _LOGGERS)
        self.groups = GroupCoordinator(replicas, shared.config, shared.release, tell=groups)
        self.transactions = TransactionCoordinator(
            replicas, shared.inter_broker, shared.cache, producer_ids, shared.config, tell=transactions
        )
        self.shares: Shares | None = None
        self._all: list[Coordinator] = [self.groups, self.transactions]
        if shared.release.behaviour.has_share_groups:
            self._add_shares(Shares(shared, replicas, self.groups, shares))
        register_groups(shared.metrics, self.groups)
        register_transactions(shared.metrics, self.transactions)
        replicas.transaction_coordinator = self.transactions
        replicas.on_opened = self._opened

    def _add_shares(self, shares: Shares) -> None:
        self.shares = shares
        self._all.append(shares)
        self.groups.performers[InitializeState] = lambda shard, wanted: shares.groups.perform(shard, wanted)

    def applied(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Tells every coordinator of an image, after the replicas have changed their roles; images come in order."""
        for coordinator in self._all:
            coordinator.applied(delta, image)

    def _opened(self, partition: Partition) -> None:
        if partition.topic.is_internal:
            for coordinator in self._all:
                coordinator.opened(partition.topic.name, partition.index)

    def stop(self) -> None:
        """Stops all of them; requests that wait are answered with an error that has clients look for another one."""
        for coordinator in self._all:
            coordinator.stop()


def _teller(log: Logger) -> Tell:
    def tell(message: str, error: BaseException | None) -> None:
        log.info(message) if error is None else log.error(message, error)

    return tell
