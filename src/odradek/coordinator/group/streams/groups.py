"""The streams groups of one shard, beside its classic and consumer ones: a part of `GroupCore`.

`groups` is what the log holds; sessions, delays and what is found out about topologies are in memory only.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.coordinator.core import Decided
from odradek.coordinator.group.consumer.topics import GroupTopics
from odradek.coordinator.group.streams.config import StreamsConfig
from odradek.coordinator.group.streams.volatile import Volatile
from odradek.coordinator.now import Now
from odradek.protocol import errors
from odradek.protocol.declare import Message

if TYPE_CHECKING:
    from odradek.coordinator.group.commits import Commit, CommitFrom
    from odradek.coordinator.group.core import GroupCore
    from odradek.coordinator.group.deadlines import What
    from odradek.coordinator.group.describing import GroupFilter
    from odradek.coordinator.group.streams.configured import ConfiguredTopology
    from odradek.coordinator.group.streams.group import StreamsGroup
    from odradek.coordinator.group.streams.heartbeat import Beaten
    from odradek.coordinator.group.streams.member import StreamsMember
    from odradek.coordinator.group.streams.requests import Caller
    from odradek.protocol.messages.k16_list_groups import ListedGroup
    from odradek.protocol.messages.k88_streams_group_heartbeat import StreamsGroupHeartbeatRequest
    from odradek.protocol.messages.k89_streams_group_describe import DescribedGroup
    from odradek.replicated.log_record import Versioned

# What a deadline is for.
SESSION, REVOCATION, DELAY = "streams session", "streams revocation", "streams delay"
KINDS = frozenset({SESSION, REVOCATION, DELAY})

RETRY_MS = 1000  # until a member that could not be written as gone is tried again
UNREVOKED_TASKS = 2  # the state of a member that has to give back

# Types of records, as `protocol.messages.streams_groups` has them; most brokers never need to import that.
GROUP_RECORD = 17
RECORDS = frozenset({GROUP_RECORD, 19, 20, 21, 22, 23})


class StreamsGroups:
    __slots__ = ("_volatile", "config", "core", "groups", "topics")

    def __init__(self, core: "GroupCore", config: StreamsConfig, topics: GroupTopics) -> None:
        self.core = core
        self.config = config
        self.topics = topics
        self.groups: dict[str, StreamsGroup] = {}
        self._volatile: dict[str, Volatile] = {}

    def __repr__(self) -> str:
        return f"StreamsGroups({len(self.groups)} groups)"

    def group(self, group_id: str) -> "StreamsGroup":
        """GroupIdNotFound if there is none of this kind."""
        group = self.groups.get(group_id)
        if group is None:
            raise self.not_found(group_id, "Group")
        return group

    def not_found(self, group_id: str, kind: str) -> errors.KafkaError:
        is_other = self.core.has_group(group_id)
        words = f"Group {group_id} is not a streams group." if is_other else f"{kind} {group_id} not found."
        return errors.GroupIdNotFound(words)

    # The log

    def replay(self, key: Message, value: Message | None) -> None:
        group_id: str = key.group_id
        if value is None and key.api_key == GROUP_RECORD:
            self.groups.pop(group_id, None)
            self._volatile.pop(group_id, None)
            self.core.deadlines.clear((DELAY, group_id, ""))
            return
        group = self.groups.get(group_id)
        if group is None:
            if value is None:
                return
            from odradek.coordinator.group.streams.group import StreamsGroup

            group = self.groups[group_id] = StreamsGroup(group_id)
            self.core.groups.pop(group_id, None)  # that only kept offsets, or whose end was compacted away
        group.replay(key, value)
        if not group.members and group_id in self._volatile:
            self._volatile[group_id].shutdown_requested_by = None

    def loaded(self, now: Now) -> None:
        for group in self.groups.values():
            for member in group.members.values():
                self.begin_session(group.group_id, member.member_id, now)
                self.time_revocation(group.group_id, member, now)

    # What is known in memory alone

    def volatile(self, group_id: str) -> Volatile:
        """Of a group that there is."""
        return self._volatile.setdefault(group_id, Volatile())

    def configured(self, group_id: str) -> "ConfiguredTopology | None":
        known = self._volatile.get(group_id)
        return None if known is None else known.configured

    # Events of members

    def heartbeat(self, now: Now, request: "StreamsGroupHeartbeatRequest", caller: "Caller") -> "Decided[Beaten]":
        from odradek.coordinator.group.streams.heartbeat import heartbeat

        return heartbeat(self, now, request, caller)

    def has_members(self, group_id: str) -> bool:
        group = self.groups.get(group_id)
        return group is not None and bool(group.members)

    # Offsets

    def commit_codes(
        self, sender: "CommitFrom", commits: "Sequence[Commit]", *, is_transactional: bool
    ) -> list[int] | None:
        """The error code of each; None if the group is none of ours."""
        group = self.groups.get(sender.group_id)
        if group is None:
            return None
        from odradek.coordinator.group.streams.commits import commit_codes

        return commit_codes(group, sender, commits, is_transactional=is_transactional)

    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> None:
        group = self.groups.get(group_id)
        if group is not None:
            from odradek.coordinator.group.streams.commits import check_fetch

            check_fetch(group, member_id, member_epoch)

    def expired(self, group_id: str, now_ms: int) -> "list[Versioned]":
        group = self.groups.get(group_id)
        if group is None:
            return []
        from odradek.coordinator.group.streams.commits import expired

        return expired(self.core, group, now_ms)

    # Events of admins

    def describe(self, group_id: str) -> "Decided[DescribedGroup]":
        from odradek.coordinator.group.streams.describing import describe

        return describe(self, group_id)

    def listed(self, wanted: "GroupFilter") -> "list[ListedGroup]":
        if not self.groups:
            return []
        from odradek.coordinator.group.streams.describing import listed

        return listed(self, wanted)

    def tombstones(self, group_id: str) -> "list[Versioned]":
        """Of a group without members."""
        group = self.groups.get(group_id)
        if group is None:
            return []
        from odradek.coordinator.group.plan import appended
        from odradek.coordinator.group.streams import records as written

        return appended(written.no_group(group))

    # Time

    def begin_session(self, group_id: str, member_id: str, now: Now) -> None:
        timeout_ms = self.config.session_timeout_ms(self.topics.configs_of(group_id))
        self.core.deadlines.set((SESSION, group_id, member_id), now.mono_ms + timeout_ms)

    def time_revocation(self, group_id: str, member: "StreamsMember", now: Now) -> None:
        """A member that has to give back has its rebalance timeout to do so."""
        what = (REVOCATION, group_id, member.member_id)
        if member.state == UNREVOKED_TASKS:
            self.core.deadlines.set(what, now.mono_ms + max(0, member.rebalance_timeout_ms))
        else:
            self.core.deadlines.clear(what)

    def delay(self, group_id: str, now: Now) -> None:
        """The first assignment of a group waits for those who start with its first member."""
        delay_ms = self.config.initial_rebalance_delay_ms(self.topics.configs_of(group_id))
        if delay_ms > 0 and not self.is_delayed(group_id):
            self.core.deadlines.set((DELAY, group_id, ""), now.mono_ms + delay_ms)

    def is_delayed(self, group_id: str) -> bool:
        return self.core.deadlines.get((DELAY, group_id, "")) is not None

    def expire(self, what: "What", now: Now) -> Decided[None]:
        kind, group_id, member_id = what
        group = self.groups.get(group_id)
        if group is None:
            return Decided()
        if kind == DELAY:
            return self._delay_is_over(group, now)
        member = group.members.get(member_id)
        if member is None or (kind == REVOCATION and member.state != UNREVOKED_TASKS):
            return Decided()
        from odradek.coordinator.group.streams import leaving

        self.core.deadlines.set((SESSION, group_id, member_id), now.mono_ms + RETRY_MS)
        return leaving.expire(self, group, member)

    def _delay_is_over(self, group: "StreamsGroup", now: Now) -> Decided[None]:
        """Without a topology that is configured the next heartbeat makes the target."""
        configured = self.configured(group.group_id)
        if not group.members or configured is None:
            return Decided()
        from odradek.coordinator.group.streams.group import StreamsPlan
        from odradek.coordinator.group.streams.target import make_target

        plan = StreamsPlan(group)
        make_target(self, plan, configured, now)
        return Decided(plan.records)

    def validate(self) -> None:
        for group in self.groups.values():
            for others in (self.core.groups, self.core.consumers.groups):
                assert group.group_id not in others, f"{group} is of another type as well"
            group.validate()
            for member_id in group.members:
                what = (SESSION, group.group_id, member_id)
                assert self.core.deadlines.get(what) is not None, f"{member_id} of {group} has no session"
