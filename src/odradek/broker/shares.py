"""What serves share groups on a broker; each part is made when it is first asked for: most brokers never are."""

from typing import TYPE_CHECKING

from odradek.coordinator.shard import Tell
from odradek.coordinator.share.coordinator import ShareCoordinator
from odradek.handlers.services import Services
from odradek.metadata.delta import MetadataDelta
from odradek.metadata.image import MetadataImage

if TYPE_CHECKING:
    from odradek.coordinator.group.share.service import ShareGroupService
    from odradek.coordinator.share.persister import StatePersister
    from odradek.replica.share.manager import SharePartitionManager


class Shares:
    __slots__ = ("_groups", "_partitions", "_persister", "_services", "_tell", "coordinator")

    def __init__(self, services: Services, tell: Tell) -> None:
        self._services = services
        self._tell = tell
        self.coordinator = ShareCoordinator(services.replicas, services.layers.current.config, tell=tell)
        self._persister: StatePersister | None = None
        self._groups: ShareGroupService | None = None
        self._partitions: SharePartitionManager | None = None

    @property
    def persister(self) -> "StatePersister":
        if self._persister is None:
            from odradek.coordinator.share.persister import StatePersister

            services = self._services
            self._persister = StatePersister(services.loop, services.inter_broker, services.metadata, services.node_id)
        return self._persister

    @property
    def groups(self) -> "ShareGroupService":
        if self._groups is None:
            from odradek.coordinator.group.share.service import ShareGroupService

            services = self._services
            self._groups = ShareGroupService(
                services.loop,
                services.groups,
                self.persister,
                services.inter_broker,
                services.metadata,
                self._tell,
            )
        return self._groups

    @property
    def partitions(self) -> "SharePartitionManager":
        if self._partitions is None:
            from odradek.replica.share.manager import SharePartitionManager

            services = self._services
            self._partitions = SharePartitionManager(services.replicas, self.persister, services.layers.current.config)
        return self._partitions

    def applied(self, delta: MetadataDelta, image: MetadataImage) -> None:
        self.coordinator.applied(delta, image)

    def opened(self, topic: str, partition: int) -> None:
        self.coordinator.opened(topic, partition)

    def stop(self) -> None:
        if self._partitions is not None:
            self._partitions.stop()
        self.coordinator.stop()
