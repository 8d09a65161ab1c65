"""The groups of one protocol with epochs in one shard: what the log holds of them, and their sessions.

`groups` is what the log holds. Sessions, and which version of the topics a group has looked at, are in memory only, and
begin anew when the shard is loaded.
"""

from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from odradek.broken_rule import BrokenRuleError
from odradek.coordinator.group.epochs.group import EpochGroup
from odradek.coordinator.group.plan import Record, appended
from odradek.coordinator.group.shard_state import ShardState
from odradek.coordinator.group.topics import GroupTopics
from odradek.coordinator.now import Now
from odradek.protocol import errors
from odradek.protocol.declare import Message

if TYPE_CHECKING:
    from odradek.coordinator.group.listing import GroupFilter
    from odradek.protocol.messages.k16_list_groups import ListedGroup
    from odradek.replicated.log_record import Versioned

RETRY_MS = 1000  # until a member that could not be written as gone is tried again

G = TypeVar("G", bound=EpochGroup[Any, Any])  # whatever its members are, and whatever they shall have


class EpochGroups(Generic[G]):
    """A base: a protocol says how its groups are made, what their records are and how long a session lasts."""

    __slots__ = ("_seen_topics", "groups", "shard", "topics")

    protocol: ClassVar[str]  # its name, as errors and ListGroups have it
    session: ClassVar[str]  # what the deadline of a member's session is called
    group_record: ClassVar[int]  # the type of the record without which there is no group

    def __init__(self, shard: ShardState, topics: GroupTopics) -> None:
        self.shard = shard
        self.topics = topics
        self.groups: dict[str, G] = {}
        self._seen_topics: dict[str, int] = {}  # the version of the topics that a group has looked at

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.groups)} groups)"

    # What a protocol has of its own

    def _new_group(self, group_id: str) -> G:
        """A record tells of a group that was not there."""
        raise NotImplementedError

    def _no_group(self, group: G) -> "list[Record]":
        """The tombstones of everything that the log holds of a group."""
        raise NotImplementedError

    def _filtered_as(self, state: str) -> str:
        """How a filter of ListGroups names a state, in small letters."""
        return state.lower()

    def _forget(self, group_id: str) -> None:
        """A group is gone: what was known of it in memory goes with it."""
        self._seen_topics.pop(group_id, None)

    # Looking groups up

    def group(self, group_id: str) -> G:
        """GroupIdNotFound if there is none of this kind."""
        group = self.groups.get(group_id)
        if group is None:
            raise self.not_found(group_id, "Group")
        return group

    def not_found(self, group_id: str, kind: str | None = None) -> errors.GroupIdNotFound:
        """For one that there is none of here; `kind` is how the words begin, by default with the protocol."""
        if self.shard.has_group(group_id):
            return errors.GroupIdNotFound(f"Group {group_id} is not a {self.protocol} group.")
        kind = f"{self.protocol.capitalize()} group" if kind is None else kind
        return errors.GroupIdNotFound(f"{kind} {group_id} not found.")

    def has_members(self, group_id: str) -> bool:
        group = self.groups.get(group_id)
        return group is not None and bool(group.members)

    def keeps_classic_out(self, group_id: str) -> bool:
        """A classic group may take the place of an empty one."""
        return self.has_members(group_id)

    def tombstones(self, group_id: str) -> "list[Versioned]":
        """The records that delete a group without members; none if it is none of ours."""
        group = self.groups.get(group_id)
        return [] if group is None else appended(self._no_group(group))

    def listed(self, wanted: "GroupFilter") -> "list[ListedGroup]":
        if not self.groups:
            return []
        from odradek.coordinator.group.listing import listed

        return listed(self.groups.values(), self.protocol, wanted, self._filtered_as)

    # Offsets

    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> None:
        """Whether a member of ours may fetch offsets as the one that it says; others are none of our business."""
        group = self.groups.get(group_id)
        if group is not None:
            from odradek.coordinator.group.epochs.members import check_fetch

            check_fetch(group, member_id, member_epoch)

    def expired(self, group_id: str, now_ms: int) -> "list[Versioned]":
        """Tombstones of offsets that are no longer kept, and of the group once nothing is left of it."""
        group = self.groups.get(group_id)
        if group is None:
            return []
        from odradek.coordinator.group.epochs.retention import expired_offsets

        gone, is_over = expired_offsets(self.shard, group, now_ms)
        return gone + self.tombstones(group_id) if is_over else gone

    # The log

    def replay(self, key: Message, value: Message | None) -> None:
        """Compaction may leave a member's records without the group's before them: every record makes the group."""
        of_group: Any = key  # the key of each of these records names its group, in a class of its own
        group_id: str = of_group.group_id
        if value is None and key.api_key == self.group_record:
            self.groups.pop(group_id, None)
            self._forget(group_id)
            return
        group = self.groups.get(group_id)
        if group is None:
            if value is None:
                return
            group = self.groups[group_id] = self._new_group(group_id)
        group.replay(key, value)

    # Topics

    def has_seen_topics(self, group_id: str) -> bool:
        return self._seen_topics.get(group_id) == self.topics.version

    def saw_topics(self, group_id: str) -> None:
        self._seen_topics[group_id] = self.topics.version

    # Sessions

    def time_session(self, group_id: str, member_id: str, timeout_ms: int, now: Now) -> None:
        self.shard.deadlines.set((self.session, group_id, member_id), now.mono_ms + timeout_ms)

    def retry_session(self, group_id: str, member_id: str, now: Now) -> None:
        """A member is being written as gone. Once that is replayed the deadline is of no effect; if the append fails
        it is tried again."""
        self.time_session(group_id, member_id, RETRY_MS, now)

    def validate(self) -> None:
        for group_id, group in self.groups.items():
            for kind in self.shard.kinds:
                if kind is not self and group_id in kind.groups:
                    raise BrokenRuleError(f"{group} is of another kind as well: {kind}")
            group.validate()
            for member_id in group.members:
                if self.shard.deadlines.get((self.session, group_id, member_id)) is None:
                    raise BrokenRuleError(f"{member_id} of {group} has no session")
