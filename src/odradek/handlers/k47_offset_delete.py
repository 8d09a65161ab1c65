"""OffsetDelete, version 0: an admin deletes offsets of a group.

Who may: DELETE on the group, READ on each topic.
Errors: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, INVALID_GROUP_ID and those of the coordinator for the whole request, which
then names no topics; per partition GROUP_SUBSCRIBED_TO_TOPIC, UNKNOWN_TOPIC_OR_PARTITION, TOPIC_AUTHORIZATION_FAILED.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from odradek.security.acl import DELETE, GROUP, READ, TOPIC


@serves(OffsetDeleteRequest, versions="0")
async def offset_delete(call: BrokerCall, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    call.demand(DELETE, GROUP, request.group_id)
    answers = [_checked(call, topic) for topic in request.topics]
    waiting = [
        (topic.name, partition)
        for topic in answers
        for partition in topic.partitions
        if partition.error_code == errors.NONE
    ]
    places = [(name, partition.partition_index) for name, partition in waiting]
    codes = await call.services.groups.delete_offsets(request.group_id, places)
    if isinstance(codes, int):
        return OffsetDeleteResponse(error_code=codes)
    for (_, partition), code in zip(waiting, codes, strict=True):
        partition.error_code = code
    return OffsetDeleteResponse(topics=answers)


def _checked(call: BrokerCall, topic: OffsetDeleteRequestTopic) -> OffsetDeleteResponseTopic:
    known = call.services.metadata.topic(topic.name)
    may_read = call.authorize(READ, TOPIC, topic.name)
    answer = OffsetDeleteResponseTopic(name=topic.name, partitions=[])
    for partition in topic.partitions:
        code = errors.NONE
        if not may_read:
            code = errors.TopicAuthorizationFailed.code
        elif known is None or partition.partition_index not in known.partitions:
            code = errors.UnknownTopicOrPartition.code
        answer.partitions.append(
            OffsetDeleteResponsePartition(partition_index=partition.partition_index, error_code=code)
        )
    return answer
