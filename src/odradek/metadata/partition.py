"""A partition as the metadata log describes it: where its replicas are, who leads it, who is in sync.

One immutable value, which the controller and the image of every node share with its rules. A change record carries only
what is new. Two rules make epochs fence the past: every change raises the partition epoch; a change that names a
leader, the same one again too, raises the leader epoch as well.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from odradek.metadata import record_versions
from odradek.metadata.directory_ids import MIGRATING
from odradek.metadata.replay_error import ReplayError
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.metadata_topics import PartitionChangeRecord, PartitionRecord

T = TypeVar("T")

NO_LEADER = -1
NO_LEADER_CHANGE = -2
RECOVERED, RECOVERING = 0, 1  # recovering: the leader was elected out of sync and has lost records (KIP-704)
NO_RECOVERY_CHANGE = -1

Ids = tuple[int, ...]
Directories = tuple[bytes, ...]


class PartitionRegistration(NamedTuple):
    """`removing` and `adding` are replicas on the move; `elr` are the eligible leader replicas (KIP-966)."""

    replicas: Ids
    isr: Ids
    removing: Ids
    adding: Ids
    leader: int
    leader_epoch: int
    partition_epoch: int
    leader_recovery_state: int
    directories: Directories  # one per replica, in the same order
    elr: Ids = ()
    last_known_elr: Ids = ()

    @classmethod
    def from_record(cls, record: PartitionRecord) -> "PartitionRegistration":
        replicas = _shared(record.replicas)
        elr, last_known_elr = record.eligible_leader_replicas, record.last_known_elr
        # `_make` takes half the time of the constructor, which has to look at eleven arguments by name or place
        return cls._make(
            (
                replicas,
                _shared(record.isr),
                _shared(record.removing_replicas),
                _shared(record.adding_replicas),
                record.leader,
                record.leader_epoch,
                record.partition_epoch,
                record.leader_recovery_state,
                _fitting(_shared(record.directories), replicas),
                _shared(elr) if elr else (),
                _shared(last_known_elr) if last_known_elr else (),
            )
        )

    def changed(self, record: PartitionChangeRecord) -> "PartitionRegistration":
        names_leader = record.leader != NO_LEADER_CHANGE
        keeps_recovery = record.leader_recovery_state == NO_RECOVERY_CHANGE
        replicas = _either(record.replicas, self.replicas)
        return PartitionRegistration._make(
            (
                replicas,
                _either(record.isr, self.isr),
                _either(record.removing_replicas, self.removing),
                _either(record.adding_replicas, self.adding),
                record.leader if names_leader else self.leader,
                self.leader_epoch + 1 if names_leader else self.leader_epoch,
                self.partition_epoch + 1,
                self.leader_recovery_state if keeps_recovery else record.leader_recovery_state,
                _fitting(_either(record.directories, self.directories), replicas),
                _either(record.eligible_leader_replicas, self.elr),
                _either(record.last_known_elr, self.last_known_elr),
            )
        )

    def without_elr(self) -> "PartitionRegistration":
        """The partition as a ClearElrRecord leaves it, which counts as a change."""
        return self._replace(elr=(), last_known_elr=(), partition_epoch=self.partition_epoch + 1)

    def record(self, topic_id: bytes, partition: int, metadata_version: int, *, has_elr: bool) -> PartitionRecord:
        """The record that makes this value; what nodes at this level cannot read is left out."""
        version = record_versions.partition(metadata_version)
        record = PartitionRecord(
            partition_id=partition,
            topic_id=Uuid(topic_id),
            replicas=list(self.replicas),
            isr=list(self.isr),
            removing_replicas=list(self.removing),
            adding_replicas=list(self.adding),
            leader=self.leader,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            leader_recovery_state=self.leader_recovery_state,
        )
        if version >= 1:
            record.directories = [Uuid(directory) for directory in self.directories]
        if version >= 2 and has_elr:
            record.eligible_leader_replicas = list(self.elr) or None
            record.last_known_elr = list(self.last_known_elr) or None
        return record

    @property
    def is_reassigning(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def preferred(self) -> int:
        return self.replicas[0] if self.replicas else NO_LEADER

    def directory_of(self, broker_id: int) -> bytes:
        return self.directories[self.replicas.index(broker_id)]

    def __repr__(self) -> str:
        moving = f" +{list(self.adding)} -{list(self.removing)}" if self.is_reassigning else ""
        return (
            f"PartitionRegistration(replicas={list(self.replicas)} isr={list(self.isr)} leader={self.leader}"
            f" epoch={self.leader_epoch}/{self.partition_epoch}{moving})"
        )


def _fitting(directories: Directories, replicas: Ids) -> Directories:
    """The directories if there is one per replica.

    Kafka's rule, for new partitions and changed ones alike: as long as no directory was ever assigned, all replicas are
    wherever they are (MIGRATING), however many there are. Once some were, whoever changes the replicas names the
    directories with them, unless their list stays as it was.
    """
    if len(directories) == len(replicas):
        return directories
    if any(directory != MIGRATING for directory in directories):
        raise ReplayError(f"{len(directories)} directories are named for {len(replicas)} replicas")
    return _shared([MIGRATING] * len(replicas))


_SHARED: dict[tuple[object, ...], tuple[Any, ...]] = {}  # a tuple by itself: Any, for no type ties the two
_SHARED_MAX = 10_000


def _shared(items: Sequence[T]) -> tuple[T, ...]:
    """Equal tuples as one object: thousands of partitions have the same few replicas and directories."""
    if not items:
        return ()
    key = tuple(items)
    found: tuple[T, ...] | None = _SHARED.get(key)
    if found is None:
        if len(_SHARED) >= _SHARED_MAX:
            _SHARED.clear()
        found = _SHARED[key] = key
    return found


def _either(new: Sequence[T] | None, old: tuple[T, ...]) -> tuple[T, ...]:
    return old if new is None else _shared(new)
