"""Members go: because they say so, or because their time is over."""

from odradek.coordinator.core import Decided
from odradek.coordinator.group.epochs.members import known_member
from odradek.coordinator.group.streams import records, target
from odradek.coordinator.group.streams.group import StreamsGroup, StreamsPlan
from odradek.coordinator.group.streams.groups import StreamsGroups
from odradek.coordinator.group.streams.member import StreamsMember
from odradek.coordinator.group.streams.response import HeartbeatResult
from odradek.protocol.messages.k88_streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)


def leave(groups: StreamsGroups, request: StreamsGroupHeartbeatRequest) -> Decided[HeartbeatResult]:
    group = groups.group(request.group_id)
    member = known_member(group, request.member_id)
    if request.shutdown_application:
        groups.volatile(group.group_id).shutdown_requested_by = member.member_id
    response = StreamsGroupHeartbeatResponse(member_id=member.member_id, member_epoch=request.member_epoch)
    return Decided(_removed(groups, group, member).records, HeartbeatResult(response, []))


def expire(groups: StreamsGroups, group: StreamsGroup, member: StreamsMember) -> Decided[None]:
    return Decided(_removed(groups, group, member).records)


def _removed(groups: StreamsGroups, group: StreamsGroup, member: StreamsMember) -> StreamsPlan:
    plan = StreamsPlan(group)
    plan.write_all(records.no_member(group.group_id, member.member_id))
    configs = group.assignment_configs
    target.bump_epoch(groups, plan, group.metadata_hash, group.validated_topology_epoch, configs)
    return plan
