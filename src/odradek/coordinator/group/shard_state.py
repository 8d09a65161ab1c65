"""What the groups of one shard share, whatever their protocol, and how one kind of groups hears of another.

Imports point downward: the core knows the rooms (`classic/`, `consumer/`, `share/`, `streams/`), a room knows this
file and what lies below it, and a room that has to ask about groups of another kind asks all kinds by `GroupKind`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from odradek.coordinator.group.counts import GroupCounts
from odradek.coordinator.group.deadlines import Deadlines, What
from odradek.coordinator.group.offsets import OffsetStore
from odradek.protocol.releases import Release

if TYPE_CHECKING:
    from odradek.coordinator.group.config import GroupConfig
    from odradek.replicated.log_record import Versioned


class GroupKind(Protocol):
    """The groups of one protocol, as the other rooms see them. A group id names one group, of one kind."""

    @property
    def groups(self) -> Mapping[str, object]:
        """The groups of this kind by their id."""

    def keeps_classic_out(self, group_id: str) -> bool:
        """Whether there is a group of this kind that a classic one of the same id may not replace."""

    def tombstones(self, group_id: str) -> "list[Versioned]":
        """The records that delete a group without members; none if there is no such group of this kind."""


class ShardState:
    """Configs, offsets, deadlines and counts of one shard. `replay` alone writes the offsets."""

    __slots__ = ("behaviour", "config", "counts", "deadlines", "kinds", "new_uuid", "offsets", "release")

    def __init__(
        self, config: "GroupConfig", release: Release, new_uuid: Callable[[], str], counts: GroupCounts
    ) -> None:
        self.config = config
        self.release = release
        self.behaviour = release.behaviour
        self.new_uuid = new_uuid
        self.counts = counts
        self.offsets = OffsetStore()
        self.deadlines: Deadlines[What] = Deadlines()
        self.kinds: Sequence[GroupKind] = ()  # every room of the shard, once they are made

    def has_group(self, group_id: str) -> bool:
        """Whether there is a group of this id, of any kind."""
        return any(group_id in kind.groups for kind in self.kinds)
