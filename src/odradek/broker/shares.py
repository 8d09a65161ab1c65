"""What serves share groups on a broker; each part is made when it is first asked for: most brokers never are."""

from typing import TYPE_CHECKING

from odradek.broker.shared import Shared
from odradek.coordinator.group.coordinator import GroupCoordinator
from odradek.coordinator.shard import Tell
from odradek.coordinator.share.coordinator import ShareCoordinator
from odradek.metadata.delta import MetadataDelta
from odradek.metadata.image import MetadataImage
from odradek.replica.manager import ReplicaManager

if TYPE_CHECKING:
    from odradek.coordinator.group.share.service import ShareGroupService
    from odradek.coordinator.share.persister import StatePersister
    from odradek.replica.share.manager import SharePartitionManager


class Shares:
    __slots__ = (
        "_group_coordinator",
        "_groups",
        "_partitions",
        "_persister",
        "_replicas",
        "_shared",
        "_tell",
        "coordinator",
    )

    def __init__(self, shared: Shared, replicas: ReplicaManager, groups: GroupCoordinator, tell: Tell) -> None:
        self._shared = shared
        self._replicas = replicas
        self._group_coordinator = groups
        self._tell = tell
        self.coordinator = ShareCoordinator(replicas, shared.config, tell=tell)
        self._persister: StatePersister | None = None
        self._groups: ShareGroupService | None = None
        self._partitions: SharePartitionManager | None = None

    @property
    def persister(self) -> "StatePersister":
        if self._persister is None:
            from odradek.coordinator.share.persister import StatePersister

            shared = self._shared
            self._persister = StatePersister(shared.loop, shared.inter_broker, shared.cache, shared.node_id)
        return self._persister

    @property
    def groups(self) -> "ShareGroupService":
        if self._groups is None:
            from odradek.coordinator.group.share.service import ShareGroupService

            shared = self._shared
            self._groups = ShareGroupService(
                shared.loop,
                self._group_coordinator,
                self.persister,
                shared.inter_broker,
                shared.cache,
                self._tell,
            )
        return self._groups

    @property
    def partitions(self) -> "SharePartitionManager":
        if self._partitions is None:
            from odradek.replica.share.manager import SharePartitionManager

            self._partitions = SharePartitionManager(self._replicas, self.persister, self._shared.config)
        return self._partitions

    def applied(self, delta: MetadataDelta, image: MetadataImage) -> None:
        self.coordinator.applied(delta, image)

    def opened(self, topic: str, partition: int) -> None:
        self.coordinator.opened(topic, partition)

    def stop(self) -> None:
        if self._partitions is not None:
            self._partitions.stop()
        self.coordinator.stop()
