"""From the metadata log to the broker's parts. Every image is published in phases:

    configs        of the broker and its topics
    roles          which partitions begin, change their leader or end
    coordinators   what is led now, and what topics there are
    files          logs are opened and deleted, in jobs

The first three of an image come before those of the next one, whatever the size of either: nobody is handed an older
image after a newer one. With few changes they happen in the call that publishes. Files do not wait for those of the
images before, because the log manager does what is asked of one partition in the order in which it was asked; whoever
needs an open log, as a coordinator does, is told of each when it is open.
"""

from odradek.broker.coordinators import Coordinators
from odradek.broker.directory_assignments import DirectoryAssignments
from odradek.broker.server_log import Logger
from odradek.broker.shared import Shared
from odradek.config.errors import ConfigError
from odradek.config.vocabulary import BROKER, TOPIC
from odradek.log.manager.manager import LogManager
from odradek.metadata.configs import ALL_BROKERS
from odradek.metadata.delta import MetadataDelta
from odradek.metadata.image import MetadataImage
from odradek.reactor.pending import Pending
from odradek.replica.apply import Around
from odradek.replica.manager import ReplicaManager


class BrokerMetadataPublisher:
    """A publisher of the metadata loader. `first_published` is done when the replicas of the first image are open."""

    __slots__ = (
        "_assignments",
        "_configs",
        "_coordinators",
        "_log",
        "_logs",
        "_loop",
        "_own_name",
        "_replicas",
        "first_published",
    )

    def __init__(
        self,
        shared: Shared,
        logs: LogManager,
        replicas: ReplicaManager,
        assignments: DirectoryAssignments,
        coordinators: Coordinators,
        log: Logger,
    ) -> None:
        self._loop = shared.loop
        self._configs = shared.configs
        self._logs = logs
        self._replicas = replicas
        self._assignments = assignments
        self._coordinators = coordinators
        self._own_name = str(shared.node_id)
        self._log = log
        self.first_published: Pending[None] = shared.loop.pending()

    def publish(self, delta: MetadataDelta, image: MetadataImage) -> None:
        self._loop.spawn(self._apply(delta, image))

    async def _apply(self, delta: MetadataDelta, image: MetadataImage) -> None:
        around = Around(
            before_roles=lambda: self._apply_configs(delta, image),
            after_roles=lambda: self._tell_coordinators(delta, image),
        )
        try:
            await self._replicas.apply(delta, image, around)
            self._assignments.applied(delta)
        except Exception as error:  # noqa: BLE001 - later images still have to be applied
            self._log.error(f"Error applying the metadata up to offset {image.offset} to the replicas.", error)
        self.first_published.resolve(None)

    def _tell_coordinators(self, delta: MetadataDelta, image: MetadataImage) -> None:
        try:
            self._coordinators.applied(delta, image)
        except Exception as error:  # noqa: BLE001 - the logs of this image still have to be opened
            self._log.error(f"Error applying the metadata up to offset {image.offset} to the coordinators.", error)

    # Configs

    def _apply_configs(self, delta: MetadataDelta, image: MetadataImage) -> None:
        changed, configs = delta.configs.changed, image.configs
        if (BROKER, ALL_BROKERS) in changed or (BROKER, self._own_name) in changed:
            self._configs.update(configs.of(BROKER, ALL_BROKERS), configs.of(BROKER, self._own_name))
        for resource_type, name in changed:
            if resource_type == TOPIC:
                self._update_topic(name, image)

    def _update_topic(self, name: str, image: MetadataImage) -> None:
        try:
            self._logs.update_topic_config(name, image.configs.of(TOPIC, name))
            self._replicas.update_topic_config(name)
        except ConfigError as error:
            self._log.error(f"The configs of the topic {name} could not be taken over: {error}")
