"""ConsumerGroupDescribe, versions 0-1: state, members and assignments of consumer groups, for admins (KIP-848).

     1  response: member type, classic or consumer (KIP-1099)

Who may: DESCRIBE on each group, and on each topic that a group reads.
Errors, per group: GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED, INVALID_GROUP_ID, GROUP_ID_NOT_FOUND,
UNSUPPORTED_VERSION, those of the coordinator.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.described_groups import described_groups, failed
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
    return ConsumerGroupDescribeResponse(
        groups=[failed(DescribedGroup, group_id, error) for group_id in request.group_ids]
    )


@serves(ConsumerGroupDescribeRequest, versions="0-1", refuse=refuse_describe)
async def consumer_group_describe(
    call: BrokerCall, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse:
    demand_protocol(call)
    describe = call.services.groups.describe_consumer
    groups = await described_groups(call, request, DescribedGroup, describe, _topics, _HIDDEN)
    return ConsumerGroupDescribeResponse(groups=groups)


def _topics(group: DescribedGroup) -> set[str]:
    """Every topic that the answer would name."""
    names: set[str] = set()
    for member in group.members:
        names.update(member.subscribed_topic_names)
        for assignment in (member.assignment, member.target_assignment):
            names.update(topic.topic_name for topic in assignment.topic_partitions)
    return names
