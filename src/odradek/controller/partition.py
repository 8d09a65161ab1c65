"""A partition as the controller knows it: an immutable value, and what a change record makes of it.

A change carries only what is new. Two rules make epochs fence the past: every change raises the partition epoch;
a change that names a leader, the same one again too, raises the leader epoch as well.
"""

from typing import Any

from odradek.controller.directory_ids import MIGRATING, UNASSIGNED
from odradek.protocol.messages.metadata_topics import PartitionChangeRecord, PartitionRecord

NO_LEADER = -1
NO_LEADER_CHANGE = -2
RECOVERED, RECOVERING = 0, 1  # recovering: the leader was elected out of sync and has lost records (KIP-704)
NO_RECOVERY_CHANGE = -1

Ids = tuple[int, ...]


class Partition:
    __slots__ = (
        "adding",
        "directories",
        "elr",
        "isr",
        "last_known_elr",
        "leader",
        "leader_epoch",
        "leader_recovery_state",
        "partition_epoch",
        "removing",
        "replicas",
    )

    def __init__(
        self,
        replicas: Ids,
        isr: Ids,
        leader: int,
        *,
        directories: tuple[bytes, ...] = (),
        removing: Ids = (),
        adding: Ids = (),
        elr: Ids = (),
        last_known_elr: Ids = (),
        leader_epoch: int = 0,
        partition_epoch: int = 0,
        leader_recovery_state: int = RECOVERED,
    ) -> None:
        self.replicas = replicas
        self.directories = directories or (MIGRATING,) * len(replicas)
        self.isr = isr
        self.removing = removing
        self.adding = adding
        self.elr = elr
        self.last_known_elr = last_known_elr
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.leader_recovery_state = leader_recovery_state

    @classmethod
    def from_record(cls, record: PartitionRecord) -> "Partition":
        replicas = _shared(record.replicas)
        return cls(
            replicas,
            _shared(record.isr),
            record.leader,
            directories=_shared(record.directories) if record.directories else (MIGRATING,) * len(replicas),
            removing=_shared(record.removing_replicas),
            adding=_shared(record.adding_replicas),
            elr=tuple(record.eligible_leader_replicas or ()),
            last_known_elr=tuple(record.last_known_elr or ()),
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            leader_recovery_state=record.leader_recovery_state,
        )

    @property
    def is_reassigning(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def preferred(self) -> int:
        return self.replicas[0] if self.replicas else NO_LEADER

    def directory_of(self, broker_id: int) -> bytes:
        return self.directories[self.replicas.index(broker_id)]

    def changed(self, record: PartitionChangeRecord) -> "Partition":
        names_leader = record.leader != NO_LEADER_CHANGE
        keeps_recovery = record.leader_recovery_state == NO_RECOVERY_CHANGE
        replicas = _either(record.replicas, self.replicas)
        return Partition(
            replicas,
            _either(record.isr, self.isr),
            record.leader if names_leader else self.leader,
            directories=self._directories_after(record, replicas),
            removing=_either(record.removing_replicas, self.removing),
            adding=_either(record.adding_replicas, self.adding),
            elr=_either(record.eligible_leader_replicas, self.elr),
            last_known_elr=_either(record.last_known_elr, self.last_known_elr),
            leader_epoch=self.leader_epoch + 1 if names_leader else self.leader_epoch,
            partition_epoch=self.partition_epoch + 1,
            leader_recovery_state=self.leader_recovery_state if keeps_recovery else record.leader_recovery_state,
        )

    def _directories_after(self, record: PartitionChangeRecord, replicas: Ids) -> tuple[bytes, ...]:
        if record.directories is not None:
            return _shared(record.directories)
        if replicas == self.replicas:
            return self.directories
        known = dict(zip(self.replicas, self.directories, strict=True))
        return tuple(known.get(replica, UNASSIGNED) for replica in replicas)

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Partition) and other._values() == self._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        moving = f" +{list(self.adding)} -{list(self.removing)}" if self.is_reassigning else ""
        return (
            f"Partition(replicas={list(self.replicas)} isr={list(self.isr)} leader={self.leader}"
            f" epoch={self.leader_epoch}/{self.partition_epoch}{moving})"
        )


_SHARED: dict[tuple[Any, ...], tuple[Any, ...]] = {}
_SHARED_MAX = 10_000


def _shared(items: list[Any]) -> tuple[Any, ...]:
    """Equal tuples as one object: thousands of partitions have the same few replicas and directories."""
    key = tuple(items)
    found = _SHARED.get(key)
    if found is None:
        if len(_SHARED) >= _SHARED_MAX:
            _SHARED.clear()
        found = _SHARED[key] = key
    return found


def _either(new: list[int] | None, old: Ids) -> Ids:
    return old if new is None else _shared(new)
