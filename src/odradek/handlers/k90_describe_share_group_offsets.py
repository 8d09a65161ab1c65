"""DescribeShareGroupOffsets, versions 0-1: start offsets of share groups, for admins (KIP-932).

     1  response: lag (KIP-1226)

Who may: DESCRIBE on each group, and on each topic; of all topics those are told that the caller may see.
Errors, per group: GROUP_AUTHORIZATION_FAILED, those of the coordinator. What is not there has no start offset: -1.
Errors, per partition: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION.
"""

from odradek.coordinator.group.share.service import StartOffset
from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.handlers.share_feature import demand_share_groups, shares_of
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k90_describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from odradek.security.acl import DESCRIBE, GROUP, TOPIC


def refuse(
    request: DescribeShareGroupOffsetsRequest, error: errors.KafkaError, version: int
) -> DescribeShareGroupOffsetsResponse:
    return DescribeShareGroupOffsetsResponse(groups=[_failed(group.group_id, error) for group in request.groups])


def _failed(group_id: str, error: errors.KafkaError) -> DescribeShareGroupOffsetsResponseGroup:
    return DescribeShareGroupOffsetsResponseGroup(group_id=group_id, error_code=error.code, error_message=error.message)


@serves(DescribeShareGroupOffsetsRequest, versions="0-1", refuse=refuse)
async def describe_share_group_offsets(
    call: BrokerCall, request: DescribeShareGroupOffsetsRequest
) -> DescribeShareGroupOffsetsResponse:
    demand_share_groups(call)
    return DescribeShareGroupOffsetsResponse(groups=[await _described(call, group) for group in request.groups])


async def _described(
    call: BrokerCall, group: DescribeShareGroupOffsetsRequestGroup
) -> DescribeShareGroupOffsetsResponseGroup:
    try:
        call.demand(DESCRIBE, GROUP, group.group_id)
        wanted, hidden = None, []
        if group.topics is not None:
            visible = call.authorize_all(DESCRIBE, TOPIC, [topic.topic_name for topic in group.topics])
            wanted = [
                (topic.topic_name, list(topic.partitions)) for topic in group.topics if topic.topic_name in visible
            ]
            hidden = [topic for topic in group.topics if topic.topic_name not in visible]
        found = await shares_of(call).groups.offsets(group.group_id, wanted)
    except errors.KafkaError as error:
        return _failed(group.group_id, error)
    if group.topics is None:
        seen = call.authorize_all(DESCRIBE, TOPIC, [name for name, _, _ in found])
        found = [each for each in found if each[0] in seen]
    refusal = errors.TopicAuthorizationFailed()
    for topic in hidden:
        found.append((topic.topic_name, bytes(16), [StartOffset(each, error=refusal) for each in topic.partitions]))
    return DescribeShareGroupOffsetsResponseGroup(group_id=group.group_id, topics=[_topic(*each) for each in found])


def _topic(name: str, topic_id: bytes, offsets: list[StartOffset]) -> DescribeShareGroupOffsetsResponseTopic:
    return DescribeShareGroupOffsetsResponseTopic(
        topic_name=name, topic_id=Uuid(topic_id), partitions=[_partition(each) for each in offsets]
    )


def _partition(offset: StartOffset) -> DescribeShareGroupOffsetsResponsePartition:
    told = DescribeShareGroupOffsetsResponsePartition(
        partition_index=offset.partition,
        start_offset=offset.start_offset,
        leader_epoch=offset.leader_epoch,
        lag=offset.lag,
    )
    if offset.error is not None:
        told.error_code, told.error_message = offset.error.code, offset.error.message
    return told
