"""What new partitions look like, of a new topic or of one that grows: their replicas, who is in sync and who leads."""

from collections.abc import Iterable

from odradek.controller.placement import place
from odradek.controller.state import ControllerState
from odradek.metadata.partition import NO_LEADER
from odradek.protocol.declare import Message, Uuid
from odradek.protocol.errors import InvalidReplicaAssignment, InvalidReplicationFactor, PolicyViolation
from odradek.protocol.messages.metadata_topics import PartitionRecord
from odradek.replicated.runtime import RECORDS_PER_APPEND_MAX

_NOBODY: list[int] = []


class PartitionShape:
    """A new partition but for its topic and number: everybody who is up is in sync, and the first of them leads.

    Partitions with the same replicas share it, and its lists: a topic has many, and most are alike.
    """

    __slots__ = ("directories", "isr", "leader", "replicas")

    def __init__(self, state: ControllerState, replicas: list[int]) -> None:
        self.replicas = replicas
        self.isr = [replica for replica in replicas if state.cluster.is_active(replica)]
        self.leader = self.isr[0] if self.isr else NO_LEADER
        self.directories: list[Uuid] | None = None
        if state.has_directories:
            self.directories = [Uuid(state.cluster.default_directory(replica)) for replica in replicas]

    def to_record(self, topic_id: Uuid, index: int) -> PartitionRecord:
        record = PartitionRecord()
        record.partition_id = index
        record.topic_id = topic_id
        record.replicas = self.replicas
        record.isr = self.isr
        record.removing_replicas = record.adding_replicas = _NOBODY
        record.leader = self.leader
        record.leader_epoch = record.partition_epoch = 0
        if self.directories is not None:
            record.directories = self.directories
        return record


def check_count(partitions: int) -> None:
    """Refuses more new partitions than one batch of the metadata log holds."""
    if partitions > RECORDS_PER_APPEND_MAX:
        raise PolicyViolation("Excessively large number of partitions per request.")


def placed_shapes(state: ControllerState, count: int, factor: int, first: int = 0) -> list[PartitionShape]:
    """Those of `count` partitions from number `first` on, whose replicas the controller chooses."""
    known: dict[tuple[int, ...], PartitionShape] = {}
    shapes = []
    for replicas in _place(state, count, factor, first):
        key = tuple(replicas)
        shape = known.get(key)
        if shape is None:
            shape = known[key] = PartitionShape(state, replicas)
        shapes.append(shape)
    return shapes


def _place(state: ControllerState, count: int, factor: int, first: int) -> list[list[int]]:
    try:
        return place(state.cluster.hosts(), count, factor, state.stream, first)
    except InvalidReplicationFactor as error:
        knows_cordoned = state.release.behaviour.knows_cordoned_dirs
        cordoned = " or some brokers have all their log directories cordoned" if knows_cordoned else ""
        reason = error.message if error.message.endswith(".") else f"{error.message}{cordoned}."
        raise InvalidReplicationFactor(f"Unable to replicate the partition {factor} time(s): {reason}") from None


def assigned_shape(state: ControllerState, replicas: list[int], index: int) -> PartitionShape:
    """That of a partition whose replicas an admin has chosen; refused if nobody could lead it."""
    shape = PartitionShape(state, replicas)
    if not shape.isr:
        raise InvalidReplicaAssignment(
            f"All brokers specified in the manual partition assignment for partition {index} are fenced or in"
            " controlled shutdown."
        )
    return shape


def partition_records(topic_id: Uuid, shapes: Iterable[PartitionShape], first: int) -> list[Message]:
    return [shape.to_record(topic_id, index) for index, shape in enumerate(shapes, first)]
