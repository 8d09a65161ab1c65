"""ShareGroupDescribe, version 1: state, members and assignments of share groups, for admins (KIP-932).

     1  the first stable version

Who may: DESCRIBE on each group, and on each topic that a group reads.
Errors, per group: GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED, INVALID_GROUP_ID, GROUP_ID_NOT_FOUND,
UNSUPPORTED_VERSION, those of the coordinator.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.described_groups import described_groups, failed
from odradek.handlers.serves import serves
from odradek.handlers.share_feature import demand_share_groups, shares_of
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
    return ShareGroupDescribeResponse(
        groups=[failed(DescribedGroup, group_id, error) for group_id in request.group_ids]
    )


@serves(ShareGroupDescribeRequest, versions="1", refuse=refuse_describe)
async def share_group_describe(call: BrokerCall, request: ShareGroupDescribeRequest) -> ShareGroupDescribeResponse:
    demand_share_groups(call)
    describe = shares_of(call).groups.describe
    groups = await described_groups(call, request, DescribedGroup, describe, _topics, _HIDDEN)
    return ShareGroupDescribeResponse(groups=groups)


def _topics(group: DescribedGroup) -> set[str]:
    """Every topic that the answer would name."""
    names: set[str] = set()
    for member in group.members:
        names.update(member.subscribed_topic_names)
        names.update(topic.topic_name for topic in member.assignment.topic_partitions)
    return names
