"""How a partition changes: who leads it, who is in sync, and when a reassignment is complete.

A `Change` starts from the partition as it is, takes the targets that an event wants (another in-sync set, other
replicas), and makes the one record that leads there, or none. In that order:

1. A reassignment whose new replicas are all in sync is completed: the old ones leave.
2. A leader is elected. The current one stays if it may; else the first replica, in the order of the assignment, that is
   in sync (or eligible, KIP-966) and up. Without one the partition has no leader, unless the election may be
   unclean: then any replica that is up leads, alone in sync, and is marked as recovering (KIP-704).
3. Replicas that stay keep their directory, whoever comes has one assigned (KIP-858).
4. The leader epoch is raised, by naming the leader again, when a replica leaves: the fetches that it still makes must
   be fenced. At old levels of metadata.version also when the in-sync set shrinks.

The last in-sync replica is never taken out: it may hold the only copy of what was acknowledged (R1).
"""

from collections.abc import Callable
from typing import TypedDict

from odradek.metadata import versions
from odradek.metadata.partition import NO_LEADER, RECOVERING, PartitionRegistration
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.metadata_topics import PartitionChangeRecord

PREFERRED, ONLINE, UNCLEAN = "preferred", "online", "unclean"


class _Fields(TypedDict, total=False):
    """What a PartitionChangeRecord says beside whose it is."""

    leader: int
    isr: list[int]
    leader_recovery_state: int
    replicas: list[int]
    removing_replicas: list[int]
    adding_replicas: list[int]
    directories: list[Uuid]
    eligible_leader_replicas: list[int]
    last_known_elr: list[int]


class Change:
    """`assigned` are directories of replicas that have none yet, or that have moved to another one."""

    __slots__ = (
        "_bumps_on_shrink",
        "_has_directories",
        "_is_eligible",
        "_partition",
        "adding",
        "assigned",
        "election",
        "isr",
        "recovery_state",
        "removing",
        "replicas",
    )

    def __init__(
        self, partition: PartitionRegistration, is_eligible: Callable[[int], bool], metadata_version: int
    ) -> None:
        """`is_eligible` tells whether a broker is up and has the partition's directory online."""
        self._partition = partition
        self._is_eligible = is_eligible
        self._has_directories = metadata_version >= versions.DIRECTORY_ASSIGNMENT
        self._bumps_on_shrink = metadata_version < versions.NO_BUMP_ON_SHRINK
        self.isr = partition.isr
        self.replicas = partition.replicas
        self.removing = partition.removing
        self.adding = partition.adding
        self.assigned: dict[int, bytes] = {}
        self.recovery_state = partition.leader_recovery_state
        self.election = ONLINE

    def without(self, broker_id: int) -> "Change":
        """Takes a broker out of the in-sync set, unless it is the last one there."""
        others = tuple(replica for replica in self.isr if replica != broker_id)
        if others:
            self.isr = others
        return self

    def record(self, topic_id: bytes, index: int) -> PartitionChangeRecord | None:
        """The change as a record; None if there is nothing to change."""
        self._complete_reassignment()
        leader = self._elect()
        before = self._partition
        fields: _Fields = {}
        if leader != before.leader or self._needs_new_epoch(leader):
            fields["leader"] = leader
        if self.isr != before.isr:
            fields["isr"] = list(self.isr)
        if self.recovery_state != before.leader_recovery_state:
            fields["leader_recovery_state"] = self.recovery_state
        self._forget_eligible(fields, leader)
        self._assign_replicas(fields)
        return PartitionChangeRecord(partition_id=index, topic_id=Uuid(topic_id), **fields) if fields else None

    def _complete_reassignment(self) -> None:
        if not (self.adding or self.removing):
            return
        staying = tuple(replica for replica in self.isr if replica not in self.removing)
        if staying and set(self.adding) <= set(staying):
            self.replicas = tuple(replica for replica in self.replicas if replica not in self.removing)
            self.isr = staying
            self.adding = self.removing = ()

    def _elect(self) -> int:
        before = self._partition
        leader = before.leader
        if self.election == PREFERRED and self.replicas and self._may_lead(self.replicas[0]):
            return self._lead(self.replicas[0])
        if leader != NO_LEADER and leader in self.replicas and self._may_lead(leader):
            return leader
        for replica in self.replicas:
            if self._may_lead(replica):
                return self._lead(replica)
        return self._elect_unclean()

    def _elect_unclean(self) -> int:
        last_known = self._partition.last_known_elr
        if not self.isr and not self._partition.elr and len(last_known) == 1 and self._is_eligible(last_known[0]):
            return self._lead_uncleanly(last_known[0])  # it led last, and nobody else can know more
        if self.election == UNCLEAN:
            for replica in self.replicas:
                if self._is_eligible(replica):
                    return self._lead_uncleanly(replica)
        return NO_LEADER

    def _may_lead(self, replica: int) -> bool:
        return (replica in self.isr or replica in self._partition.elr) and self._is_eligible(replica)

    def _lead(self, replica: int) -> int:
        if replica not in self.isr:  # it was eligible: it holds all that is committed
            self.isr = (*self.isr, replica)
        return replica

    def _lead_uncleanly(self, replica: int) -> int:
        self.isr = (replica,)
        self.recovery_state = RECOVERING
        return replica

    def _needs_new_epoch(self, leader: int) -> bool:
        before = self._partition
        if leader != before.leader or leader == NO_LEADER:
            return False
        if not set(before.replicas) <= set(self.replicas):
            return True
        return self._bumps_on_shrink and not set(before.isr) <= set(self.isr)

    def _forget_eligible(self, fields: _Fields, leader: int) -> None:
        """Eligible replicas only matter without a leader: this controller adds none (the feature is not served yet)."""
        if leader == NO_LEADER:
            return
        if self._partition.elr:
            fields["eligible_leader_replicas"] = []
        if self._partition.last_known_elr:
            fields["last_known_elr"] = []

    def _assign_replicas(self, fields: _Fields) -> None:
        before = self._partition
        if self.replicas != before.replicas:
            fields["replicas"] = list(self.replicas)
        if self.removing != before.removing:
            fields["removing_replicas"] = list(self.removing)
        if self.adding != before.adding:
            fields["adding_replicas"] = list(self.adding)
        if self._has_directories and (self.assigned or self.replicas != before.replicas):
            known = dict(zip(before.replicas, before.directories, strict=True)) | self.assigned
            directories = tuple(known[replica] for replica in self.replicas)
            # Left out, they stay as they are, place by place: see PartitionRegistration.changed.
            if directories != before.directories:
                fields["directories"] = [Uuid(directory) for directory in directories]
