"""StreamsGroupDescribe, version 0: state, topology, members and tasks of streams groups, for admins (KIP-1071).

Who may: DESCRIBE on each group, and on each topic of its topology.
Errors, per group: GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED, INVALID_GROUP_ID, GROUP_ID_NOT_FOUND,
UNSUPPORTED_VERSION, those of the coordinator.
"""

from odradek.handlers import authorization as acl
from odradek.handlers.call import Call
from odradek.handlers.k88_streams_group_heartbeat import demand_protocol
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k89_streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)

_HIDDEN = "The described group uses topics that the client is not authorized to describe."


def refuse_describe(
    request: StreamsGroupDescribeRequest, error: errors.KafkaError, version: int
) -> StreamsGroupDescribeResponse:
    groups = [DescribedGroup(group_id=group_id, error_code=error.code) for group_id in request.group_ids]
    return StreamsGroupDescribeResponse(groups=groups)


@serves(StreamsGroupDescribeRequest, versions="0-0", refuse=refuse_describe)
async def streams_group_describe(call: Call, request: StreamsGroupDescribeRequest) -> StreamsGroupDescribeResponse:
    demand_protocol(call)
    refused: list[DescribedGroup] = []
    described: list[DescribedGroup] = []
    for group_id in request.group_ids:
        try:
            described.append(await _described(call, group_id))
        except errors.KafkaError as error:
            refused.append(DescribedGroup(group_id=group_id, error_code=error.code))
    for group in described:
        if request.include_authorized_operations and group.error_code == errors.NONE:
            group.authorized_operations = acl.authorized_operations(call, acl.GROUP, group.group_id)
    return StreamsGroupDescribeResponse(groups=refused + described)


async def _described(call: Call, group_id: str) -> DescribedGroup:
    call.demand(acl.DESCRIBE, acl.GROUP, group_id)
    if not group_id:
        raise errors.InvalidGroupId()
    described: DescribedGroup = await call.services.groups.describe_streams(group_id)
    topics = sorted(_topics(described))
    if len(call.authorize_all(acl.DESCRIBE, acl.TOPIC, topics)) < len(topics):
        return DescribedGroup(group_id=group_id, error_code=errors.TopicAuthorizationFailed.code, error_message=_HIDDEN)
    return described


def _topics(group: DescribedGroup) -> set[str]:
    """Every topic that the answer would name."""
    names: set[str] = set()
    for subtopology in (group.topology.subtopologies if group.topology is not None else None) or ():
        names.update(subtopology.source_topics)
        names.update(subtopology.repartition_sink_topics)
        for internal in (*subtopology.repartition_source_topics, *subtopology.state_changelog_topics):
            names.add(internal.name)
    return names
