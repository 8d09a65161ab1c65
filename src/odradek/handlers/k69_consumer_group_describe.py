"""ConsumerGroupDescribe, versions 0-1: state, members and assignments of consumer groups, for admins (KIP-848).

     1  response: member type, classic or consumer (KIP-1099)

Who may: DESCRIBE on each group, and on each topic that a group reads.
Errors, per group: GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED, INVALID_GROUP_ID, GROUP_ID_NOT_FOUND,
UNSUPPORTED_VERSION, those of the coordinator.
"""

from odradek.handlers import authorization as acl
from odradek.handlers.call import Call
from odradek.handlers.k68_consumer_group_heartbeat import demand_protocol
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k69_consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)

_HIDDEN = "The group has described topic(s) that the client is not authorized to describe."


def refuse_describe(
    request: ConsumerGroupDescribeRequest, error: errors.KafkaError, version: int
) -> ConsumerGroupDescribeResponse:
    groups = [DescribedGroup(group_id=group_id, error_code=error.code) for group_id in request.group_ids]
    return ConsumerGroupDescribeResponse(groups=groups)


@serves(ConsumerGroupDescribeRequest, versions="0-1", refuse=refuse_describe)
async def consumer_group_describe(call: Call, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
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
    return ConsumerGroupDescribeResponse(groups=refused + described)


async def _described(call: Call, group_id: str) -> DescribedGroup:
    call.demand(acl.DESCRIBE, acl.GROUP, group_id)
    if not group_id:
        raise errors.InvalidGroupId()
    described: DescribedGroup = await call.services.groups.describe_consumer(group_id)
    topics = sorted(_topics(described))
    if len(call.authorize_all(acl.DESCRIBE, acl.TOPIC, topics)) < len(topics):
        return DescribedGroup(group_id=group_id, error_code=errors.TopicAuthorizationFailed.code, error_message=_HIDDEN)
    return described


def _topics(group: DescribedGroup) -> set[str]:
    """Every topic that the answer would name."""
    names: set[str] = set()
    for member in group.members:
        names.update(member.subscribed_topic_names)
        for assignment in (member.assignment, member.target_assignment):
            names.update(topic.topic_name for topic in assignment.topic_partitions)
    return names
