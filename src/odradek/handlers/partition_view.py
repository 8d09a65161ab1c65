"""A partition as a client of one listener sees it: who leads it, and what is wrong with that.

The image may name a leader that has no address on this listener, or replicas that are fenced, gone, or on a failed log
directory. Metadata and DescribeTopicPartitions tell all of it in the same way.
"""

from typing import NamedTuple

from odradek.metadata.directory_ids import is_online
from odradek.metadata.image import MetadataImage
from odradek.metadata.partition import NO_LEADER, PartitionRegistration
from odradek.protocol import errors


class PartitionView(NamedTuple):
    error_code: int
    leader_id: int
    replicas: list[int]
    isr: list[int]
    offline: list[int]


class PartitionViews:
    """Partitions as the caller of one request sees them; which brokers it can reach is found once per request."""

    __slots__ = (
        "_directories",
        "_image",
        "_known",
        "_live",
        "_only_reachable",
        "_reachable",
        "_tells_missing_listener",
    )

    def __init__(
        self,
        image: MetadataImage,
        listener: str,
        *,
        only_reachable: bool = False,
        tells_missing_listener: bool = True,
    ) -> None:
        """`only_reachable` leaves out replicas without an address here and calls that an error: so Metadata 0 has it.

        `tells_missing_listener`: a leader without this listener is LISTENER_NOT_FOUND; Metadata below 6 cannot say so.
        """
        reachable = [b for b in image.cluster.brokers.values() if b.endpoint(listener) is not None]
        self._image = image
        self._only_reachable = only_reachable
        self._tells_missing_listener = tells_missing_listener
        self._reachable = frozenset(broker.id for broker in reachable)
        self._live = frozenset(broker.id for broker in reachable if not broker.fenced)
        self._directories = {broker.id: frozenset(broker.directories) for broker in reachable}
        self._known: dict[tuple[object, ...], PartitionView] = {}

    def of(self, partition: PartitionRegistration) -> PartitionView:
        """Partitions that lie in the same place look the same, and share one view."""
        place = (partition.leader, partition.replicas, partition.isr, partition.directories)
        view = self._known.get(place)
        if view is None:
            view = self._known[place] = self._view(partition)
        return view

    def _view(self, partition: PartitionRegistration) -> PartitionView:
        replicas, isr = list(partition.replicas), list(partition.isr)
        offline = [
            replica
            for replica, directory in zip(partition.replicas, partition.directories, strict=True)
            if replica not in self._live or not is_online(directory, self._directories[replica])
        ]
        if self._only_reachable:
            replicas = [replica for replica in replicas if replica in self._reachable]
            isr = [replica for replica in isr if replica in self._reachable]
        if partition.leader not in self._reachable:
            return PartitionView(self._leader_error(partition.leader), NO_LEADER, replicas, isr, offline)
        is_short = len(replicas) < len(partition.replicas) or len(isr) < len(partition.isr)
        error_code = errors.ReplicaNotAvailable.code if is_short else errors.NONE
        return PartitionView(error_code, partition.leader, replicas, isr, offline)

    def _leader_error(self, leader: int) -> int:
        if self._tells_missing_listener and leader in self._image.cluster.brokers:
            return errors.ListenerNotFound.code
        return errors.LeaderNotAvailable.code
