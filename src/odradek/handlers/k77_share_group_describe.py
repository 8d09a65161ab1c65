"""ShareGroupDescribe, version 1: state, members and assignments of share groups, for admins (KIP-932).

     1  the first stable version

Who may: DESCRIBE on each group, and on each topic that a group reads.
Errors, per group: GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED, INVALID_GROUP_ID, GROUP_ID_NOT_FOUND,
UNSUPPORTED_VERSION, those of the coordinator.
"""

from odradek.handlers import authorization as acl
from odradek.handlers.call import Call
from odradek.handlers.serves import serves
from odradek.handlers.share_feature import demand_share_groups
from odradek.protocol import errors
from odradek.protocol.messages.k77_share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)

_HIDDEN = "The group has described topic(s) that the client is not authorized to describe."


def refuse_describe(
    request: ShareGroupDescribeRequest, error: errors.KafkaError, version: int
) -> ShareGroupDescribeResponse:
    groups = [DescribedGroup(group_id=group_id, error_code=error.code) for group_id in request.group_ids]
    return ShareGroupDescribeResponse(groups=groups)


@serves(ShareGroupDescribeRequest, versions="1", refuse=refuse_describe)
async def share_group_describe(call: Call, request: ShareGroupDescribeRequest) -> ShareGroupDescribeResponse:
    demand_share_groups(call)
    groups = [await _described(call, group_id) for group_id in request.group_ids]
    for group in groups:
        if request.include_authorized_operations and group.error_code == errors.NONE:
            group.authorized_operations = acl.authorized_operations(call, acl.GROUP, group.group_id)
    return ShareGroupDescribeResponse(groups=groups)


async def _described(call: Call, group_id: str) -> DescribedGroup:
    try:
        call.demand(acl.DESCRIBE, acl.GROUP, group_id)
        if not group_id:
            raise errors.InvalidGroupId()
        described: DescribedGroup = await call.services.shares.groups.describe(group_id)
    except errors.KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
    topics = sorted(_topics(described))
    if len(call.authorize_all(acl.DESCRIBE, acl.TOPIC, topics)) < len(topics):
        return DescribedGroup(group_id=group_id, error_code=errors.TopicAuthorizationFailed.code, error_message=_HIDDEN)
    return described


def _topics(group: DescribedGroup) -> set[str]:
    """Every topic that the answer would name."""
    names: set[str] = set()
    for member in group.members:
        names.update(member.subscribed_topic_names)
        names.update(topic.topic_name for topic in member.assignment.topic_partitions)
    return names
