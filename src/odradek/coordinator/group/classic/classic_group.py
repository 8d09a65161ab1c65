"""A group of the classic protocol: its members agree among themselves, the coordinator only brings them together.

Theory of operation. A rebalance has two phases. In the first (PreparingRebalance) every member sends JoinGroup, and
all are held until the last one has come or the rebalance timeout is over; who has not come is out, unless it is static.
Then a generation begins: the coordinator takes the protocol that most members prefer among those that all know, names
one member the leader and answers the joins, the leader's with everybody's metadata. In the second (CompletingRebalance)
the leader works out who gets what and hands it in with SyncGroup; the other members' SyncGroups are held until then.
With the assignment in the log the group is Stable, and members only send heartbeats. Whatever changes the members
(somebody new, somebody gone, new metadata) begins the next rebalance; members learn of it from their heartbeats.

    from                  event                                                            to
    Empty                 a member joins                                                   PreparingRebalance
    PreparingRebalance    all have joined, or the time is over                             CompletingRebalance
    PreparingRebalance    the same, and nobody is left                                     Empty            (record)
    CompletingRebalance   the leader's SyncGroup                                           Stable           (record)
    CompletingRebalance   a join that changes something, a leave, an expired session,      PreparingRebalance
                          members that never sync
    Stable                a join that changes something, a leave, an expired session,      PreparingRebalance
                          members that never sync
    Stable                a static member comes back and changes nothing                   Stable           (record)
    Empty                 deleted by an admin, or nothing is kept for it any more          Dead             (tombstone)

The log holds a group as it is when nothing is under way: Empty, or Stable with its assignment. `replay` of such a
record is what makes it so, at once after the append and again when the log is loaded. A rebalance itself is in memory
only (`group_in_memory.py`): who has joined and who waits is lost with the coordinator, and members that were in the
middle of it join again. Dead groups are simply gone.
"""

from odradek.coordinator.group.classic.group_in_memory import GroupInMemory
from odradek.coordinator.group.classic.written_group import WrittenGroup
from odradek.protocol.messages.consumer_offsets import GroupMetadataValue


class ClassicGroup(GroupInMemory):
    """`written` is what the log says of the group, and `replay` its one writer; None if only its offsets are there.

    Everything else, which `GroupInMemory` holds, is in memory only.
    """

    __slots__ = ("written",)

    def __init__(self, group_id: str, now_ms: int = -1) -> None:
        super().__init__(group_id, now_ms)
        self.written: WrittenGroup | None = None

    def __repr__(self) -> str:
        return f"ClassicGroup({self.group_id}, {self.state}, generation {self.generation}, {len(self.members)} members)"

    @property
    def is_written(self) -> bool:
        """Whether the log knows the group itself, not only offsets of it."""
        return self.written is not None

    def replay(self, value: GroupMetadataValue) -> None:
        """A record of the group, just appended or found in the log: it ends the rebalance that led to it."""
        self.written = WrittenGroup.of(value)
        self.become_written(self.written)

    def validate(self) -> None:
        self.validate_members()
        self.validate_rest(self.written)
