"""What a program is told when its share of the partitions changes."""

from collections.abc import Callable, Sequence

from odradek.protocol.topic_partition import TopicPartition

OnPartitions = Callable[[Sequence[TopicPartition]], object]


class RebalanceListener:
    """Subclass it, or hand functions to `subscribe`. All of them run in the program's own thread, inside of `poll`,
    `unsubscribe` and `close`; they may commit, seek and pause, and must not poll.
    """

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> object:
        """These are new; nothing was read of them yet."""

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> object:
        """These will be somebody else's as soon as this returns: the last moment to commit."""

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> object:
        """These may be somebody else's already: a commit would be refused."""
        return self.on_partitions_revoked(partitions)


class ListenerFunctions(RebalanceListener):
    """Three functions as a listener; those that are not given do nothing."""

    def __init__(
        self, on_assigned: OnPartitions | None, on_revoked: OnPartitions | None, on_lost: OnPartitions | None
    ) -> None:
        self._assigned = on_assigned
        self._revoked = on_revoked
        self._lost = on_lost if on_lost is not None else on_revoked

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> object:
        return self._assigned(partitions) if self._assigned is not None else None

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> object:
        return self._revoked(partitions) if self._revoked is not None else None

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> object:
        return self._lost(partitions) if self._lost is not None else None


def listener_of(
    listener: RebalanceListener | None,
    on_assigned: OnPartitions | None,
    on_revoked: OnPartitions | None,
    on_lost: OnPartitions | None,
) -> RebalanceListener:
    functions = (on_assigned, on_revoked, on_lost)
    if listener is None:
        return ListenerFunctions(*functions)
    if any(function is not None for function in functions):
        raise TypeError("give a listener, or functions: not both")
    return listener
