"""The consumer groups of one shard, beside its classic ones: a part of `GroupCore`, which asks it first.

A group id names either a classic or a consumer group. `groups` is what the log holds; sessions and other times,
look-ups of expressions and what groups have seen of the topics are in memory only, and begin anew when it is loaded.
"""

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from odradek.coordinator.core import Decided
from odradek.coordinator.group.consumer.config import ConsumerConfig
from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.consumer.member import UNREVOKED_PARTITIONS, ConsumerMember
from odradek.coordinator.group.consumer.topics import GroupTopics
from odradek.coordinator.now import Now
from odradek.protocol.declare import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.coordinator.group.classic.member import Joiner
    from odradek.coordinator.group.commits import Commit, CommitFrom
    from odradek.coordinator.group.consumer.group import ConsumerGroup
    from odradek.coordinator.group.consumer.migration import Downgraded
    from odradek.coordinator.group.consumer.regex import Resolution
    from odradek.coordinator.group.consumer.requests import Caller
    from odradek.coordinator.group.core import GroupCore
    from odradek.coordinator.group.deadlines import What
    from odradek.coordinator.group.describing import GroupFilter
    from odradek.protocol.messages.k11_join_group import JoinGroupRequest
    from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
    from odradek.protocol.messages.k13_leave_group import LeaveGroupResponse, MemberIdentity
    from odradek.protocol.messages.k14_sync_group import SyncGroupRequest
    from odradek.protocol.messages.k16_list_groups import ListedGroup
    from odradek.protocol.messages.k68_consumer_group_heartbeat import (
        ConsumerGroupHeartbeatRequest,
        ConsumerGroupHeartbeatResponse,
    )
    from odradek.protocol.messages.k69_consumer_group_describe import DescribedGroup
    from odradek.replicated.log_record import Versioned

# What a deadline is for; the last two concern members of the classic protocol.
SESSION, REVOCATION, JOIN, SYNC = "consumer session", "consumer revocation", "consumer join", "consumer sync"
REGEX = "consumer regex"
KINDS = frozenset({SESSION, REVOCATION, JOIN, SYNC, REGEX})

RETRY_MS = 1000  # until a member that could not be written as gone is tried again

# Types of records, as `protocol.messages.consumer_groups` has them; most brokers never need to import that.
GROUP_RECORD = 3
RECORDS = frozenset({GROUP_RECORD, 4, 5, 6, 7, 8, 16})


class ConsumerGroups:
    __slots__ = (
        "_seen_topics",
        "config",
        "core",
        "downgraded",
        "groups",
        "new_member_id",
        "resolutions",
        "resolved",
        "topics",
    )

    def __init__(
        self, core: "GroupCore", config: ConsumerConfig, topics: GroupTopics, new_member_id: "Callable[[], str]"
    ) -> None:
        self.core = core
        self.config = config
        self.topics = topics
        self.new_member_id = new_member_id
        self.groups: dict[str, ConsumerGroup] = {}
        self.downgraded: deque[Downgraded] = deque()
        self.resolutions: dict[str, Resolution] = {}  # look-ups of expressions that are under way
        self.resolved: dict[str, tuple[int, int]] = {}  # the last ones: version of the topics, monotonic time
        self._seen_topics: dict[str, int] = {}  # the version of the topics that a group has looked at

    def __repr__(self) -> str:
        return f"ConsumerGroups({len(self.groups)} groups)"

    def group(self, group_id: str) -> "ConsumerGroup":
        """GroupIdNotFound if there is none of this kind."""
        group = self.groups.get(group_id)
        if group is None:
            from odradek.coordinator.group.consumer.leaving import not_found

            raise not_found(group_id, self.core.has_group(group_id))
        return group

    # The log

    def replay(self, key: Message, value: Message | None) -> None:
        group_id: str = key.group_id
        if value is None and key.api_key == GROUP_RECORD:
            self.groups.pop(group_id, None)
            self._seen_topics.pop(group_id, None)
            self.resolved.pop(group_id, None)
            return
        group = self.groups.get(group_id)
        if group is None:
            if value is None:
                return
            from odradek.coordinator.group.consumer.group import ConsumerGroup

            group = self.groups[group_id] = ConsumerGroup(group_id)
            self.core.groups.pop(group_id, None)  # that only kept offsets, or whose end was compacted away
        group.replay(key, value)

    def loaded(self, now: Now) -> None:
        for group in self.groups.values():
            for member in group.members.values():
                self.begin_session(group.group_id, member, now)
                self.time_revocation(group.group_id, member, now)

    # Events of members

    def heartbeat(
        self, now: Now, request: "ConsumerGroupHeartbeatRequest", caller: "Caller"
    ) -> "Decided[ConsumerGroupHeartbeatResponse]":
        from odradek.coordinator.group.consumer.heartbeat import heartbeat

        return heartbeat(self, now, request, caller)

    def has_members(self, group_id: str) -> bool:
        group = self.groups.get(group_id)
        return group is not None and bool(group.members)

    def classic_join(self, now: Now, request: "JoinGroupRequest", joiner: "Joiner", ticket: Any) -> Decided[None]:
        from odradek.coordinator.group.consumer import classic_members

        return classic_members.join(self, now, self.groups[request.group_id], request, joiner, ticket)

    def classic_sync(self, now: Now, request: "SyncGroupRequest", ticket: Any) -> Decided[None]:
        from odradek.coordinator.group.consumer import classic_members

        return classic_members.sync(self, now, self.groups[request.group_id], request, ticket)

    def classic_heartbeat(self, now: Now, request: "HeartbeatRequest") -> "Decided[HeartbeatResponse]":
        from odradek.coordinator.group.consumer import classic_members

        return classic_members.heartbeat(self, now, self.groups[request.group_id], request)

    def classic_leave(self, now: Now, group_id: str, members: "list[MemberIdentity]") -> "Decided[LeaveGroupResponse]":
        from odradek.coordinator.group.consumer import classic_members

        return classic_members.leave(self, now, self.groups[group_id], members)

    # Offsets

    def commit_codes(
        self, sender: "CommitFrom", commits: "Sequence[Commit]", *, is_transactional: bool
    ) -> list[int] | None:
        """The error code of each; None if the group is none of ours."""
        group = self.groups.get(sender.group_id)
        if group is None:
            return None
        from odradek.coordinator.group.consumer.commits import commit_codes

        return commit_codes(self, group, sender, commits, is_transactional=is_transactional)

    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> None:
        group = self.groups.get(group_id)
        if group is not None:
            from odradek.coordinator.group.consumer.commits import check_fetch

            check_fetch(group, member_id, member_epoch)

    def expired(self, group_id: str, now_ms: int) -> "list[Versioned]":
        group = self.groups.get(group_id)
        if group is None:
            return []
        from odradek.coordinator.group.consumer.commits import expired

        return expired(self, group, now_ms)

    # Events of admins

    def describe(self, group_id: str) -> "Decided[DescribedGroup]":
        from odradek.coordinator.group.consumer.describing import describe

        return describe(self, group_id)

    def listed(self, wanted: "GroupFilter") -> "list[ListedGroup]":
        if not self.groups:
            return []
        from odradek.coordinator.group.consumer.describing import listed

        return listed(self, wanted)

    def tombstones(self, group_id: str) -> "list[Versioned]":
        """Of a group without members."""
        group = self.groups.get(group_id)
        if group is None:
            return []
        from odradek.coordinator.group.consumer import records as written
        from odradek.coordinator.group.plan import appended

        return appended(written.no_group(group))

    # Topics

    def has_seen_topics(self, group_id: str) -> bool:
        return self._seen_topics.get(group_id) == self.topics.version

    def saw_topics(self, group_id: str) -> None:
        self._seen_topics[group_id] = self.topics.version

    # Time

    def begin_session(self, group_id: str, member: ConsumerMember, now: Now) -> None:
        if member.classic is not None:
            timeout_ms = member.classic.session_timeout_ms
        else:
            timeout_ms = self.config.session_timeout_ms(self.topics.configs_of(group_id))
        self.core.deadlines.set((SESSION, group_id, member.member_id), now.mono_ms + timeout_ms)

    def retry_session(self, group_id: str, member_id: str, now: Now) -> None:
        """Of no effect once the member's end is replayed."""
        self.core.deadlines.set((SESSION, group_id, member_id), now.mono_ms + RETRY_MS)

    def time_revocation(self, group_id: str, member: ConsumerMember, now: Now) -> None:
        """A member that has to give back has its rebalance timeout to do so."""
        what = (REVOCATION, group_id, member.member_id)
        if member.state == UNREVOKED_PARTITIONS:
            self.core.deadlines.set(what, now.mono_ms + max(0, member.rebalance_timeout_ms))
        else:
            self.core.deadlines.clear(what)

    def forget_revocation(self, group_id: str, member_id: str) -> None:
        self.core.deadlines.clear((REVOCATION, group_id, member_id))

    def await_join(self, group_id: str, member: ConsumerMember, now: Now) -> None:
        what = (JOIN, group_id, member.member_id)
        if self.core.deadlines.get(what) is None:
            self.core.deadlines.set(what, now.mono_ms + max(0, member.rebalance_timeout_ms))

    def await_sync(self, group_id: str, member: ConsumerMember, now: Now) -> None:
        self.core.deadlines.clear((JOIN, group_id, member.member_id))
        what = (SYNC, group_id, member.member_id)
        self.core.deadlines.set(what, now.mono_ms + max(0, member.rebalance_timeout_ms))

    def synced(self, group_id: str, member_id: str) -> None:
        self.core.deadlines.clear((SYNC, group_id, member_id))

    def expire(self, what: "What", now: Now) -> Decided[None]:
        kind, group_id, member_id = what
        if kind == REGEX:
            from odradek.coordinator.group.consumer import regex

            return regex.step(self, group_id, now)
        group = self.groups.get(group_id)
        if group is None:
            return Decided()
        member = group.members.get(member_id)
        if member is None or (kind == REVOCATION and member.state != UNREVOKED_PARTITIONS):
            return Decided()
        from odradek.coordinator.group.consumer import leaving

        return leaving.expire(self, group, member_id, now)

    def follow_up(self, now: Now) -> Decided[None] | None:
        if not self.downgraded:
            return None
        from odradek.coordinator.group.consumer.migration import after_downgrade

        return Decided(effects=after_downgrade(self, self.downgraded.popleft(), now))

    def validate(self) -> None:
        for group in self.groups.values():
            assert group.group_id not in self.core.groups, f"{group} is a classic group as well"
            group.validate()
            for member_id in group.members:
                what = (SESSION, group.group_id, member_id)
                assert self.core.deadlines.get(what) is not None, f"{member_id} of {group} has no session"
