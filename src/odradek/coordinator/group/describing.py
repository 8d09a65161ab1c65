"""Looking without touching: OffsetFetch, DescribeGroups, ListGroups."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from odradek.coordinator.core import Decided
from odradek.coordinator.group.classic.classic_group import DEAD, STABLE, ClassicGroup
from odradek.coordinator.group.classic.member import Member
from odradek.coordinator.group.offsets import Committed
from odradek.protocol import errors
from odradek.protocol.messages.k15_describe_groups import DescribedGroup, DescribedGroupMember
from odradek.protocol.messages.k16_list_groups import ListedGroup

if TYPE_CHECKING:
    from odradek.coordinator.group.core import GroupCore

CLASSIC = "classic"

WantedTopics = Sequence[tuple[str, Sequence[int]]]


class FetchedOffset(NamedTuple):
    """`committed` is None if the group has committed nothing there, or nothing that may be told."""

    partition: int
    committed: Committed | None
    error_code: int = errors.NONE


FetchedTopic = tuple[str, list[FetchedOffset]]


class GroupFilter(NamedTuple):
    """Empty: all."""

    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


def fetch_offsets(
    core: "GroupCore", group_id: str, wanted: WantedTopics | None, require_stable: bool
) -> Decided[list[FetchedTopic]]:
    if wanted is None:
        wanted = _every_topic(core, group_id, require_stable)
    fetched = [
        (topic, [_fetched(core, group_id, topic, partition, require_stable) for partition in partitions])
        for topic, partitions in wanted
    ]
    return Decided(response=fetched)


def _every_topic(core: "GroupCore", group_id: str, require_stable: bool) -> WantedTopics:
    topics = {topic: dict.fromkeys(partitions) for topic, partitions in core.offsets.of_group(group_id).items()}
    if require_stable:
        for topic, partition in core.offsets.pending_places(group_id):
            topics.setdefault(topic, {})[partition] = None
    return [(topic, list(partitions)) for topic, partitions in topics.items()]


def _fetched(core: "GroupCore", group_id: str, topic: str, partition: int, require_stable: bool) -> FetchedOffset:
    if require_stable and core.offsets.is_unstable(group_id, topic, partition):
        return FetchedOffset(partition, None, errors.UnstableOffsetCommit.code)
    return FetchedOffset(partition, core.offsets.get(group_id, topic, partition))


def describe(core: "GroupCore", group_id: str, tells_missing: bool) -> Decided[DescribedGroup]:
    """A missing group is told as dead; by an error where the version has a message for it."""
    group = core.groups.get(group_id)
    if group is None:
        missing = DescribedGroup(group_id=group_id, group_state=DEAD)
        if tells_missing:
            is_other = core.has_group(group_id)
            missing.error_code = errors.GroupIdNotFound.code
            missing.error_message = f"Group {group_id} {'is not a classic group' if is_other else 'not found'}."
        return Decided(response=missing)
    is_stable = group.state == STABLE
    described = DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        protocol_type=group.protocol_type or "",
        protocol_data=group.protocol or "" if is_stable else "",
        members=[_member(core, group, member) for member in group.members.values()],
    )
    return Decided(response=described)


def _member(core: "GroupCore", group: ClassicGroup, member: Member) -> DescribedGroupMember:
    is_stable = group.state == STABLE
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(group.protocol) if is_stable else b"",
        member_assignment=b""
        if not is_stable and not core.behaviour.shows_assignments_of_unstable_groups
        else member.assignment,
    )


def list_groups(core: "GroupCore", wanted: GroupFilter) -> Decided[list[ListedGroup]]:
    listed = core.consumers.listed(wanted) + core.shares.listed(wanted) + core.streams.listed(wanted)
    if wanted.types and CLASSIC not in (name.lower() for name in wanted.types):
        return Decided(response=listed)
    spelled = str.lower if core.behaviour.ignores_case_of_states else str
    states = {spelled(state) for state in wanted.states}
    for group in core.groups.values():
        if not states or spelled(group.state) in states:
            listed.append(
                ListedGroup(
                    group_id=group.group_id,
                    protocol_type=group.protocol_type or "",
                    group_state=group.state,
                    group_type=CLASSIC,
                )
            )
    return Decided(response=listed)
