"""AlterShareGroupOffsets, version 0: an admin sets the start offsets of a share group that has no members (KIP-932).

Who may: READ on the group, READ on each topic.
A group that is not there is made.
Errors: GROUP_AUTHORIZATION_FAILED, GROUP_ID_NOT_FOUND (of another kind), NON_EMPTY_GROUP, those of the coordinator.
Errors, per partition: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, those of the share coordinator.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.handlers.share_feature import demand_share_groups, shares_of
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k91_alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from odradek.replica.share.persisted import SharePartitionKey
from odradek.security.acl import GROUP, READ, TOPIC


@serves(AlterShareGroupOffsetsRequest, versions="0")
async def alter_share_group_offsets(
    call: BrokerCall, request: AlterShareGroupOffsetsRequest
) -> AlterShareGroupOffsetsResponse:
    demand_share_groups(call)
    call.demand(READ, GROUP, request.group_id)
    responses = [_checked(call, topic) for topic in request.topics]
    starts: dict[SharePartitionKey, int] = {}
    results: dict[SharePartitionKey, AlterShareGroupOffsetsResponsePartition] = {}
    names: dict[bytes, str] = {}
    for topic, response in zip(request.topics, responses, strict=True):
        names[bytes(response.topic_id)] = topic.topic_name
        for wanted, told in zip(topic.partitions, response.partitions, strict=True):
            if told.error_code == errors.NONE:
                key = SharePartitionKey(request.group_id, bytes(response.topic_id), wanted.partition_index)
                starts[key], results[key] = wanted.start_offset, told
    failures = await shares_of(call).groups.alter(request.group_id, starts, names)
    for key, error in failures.items():
        results[key].error_code, results[key].error_message = error.code, error.message
    return AlterShareGroupOffsetsResponse(responses=responses)


def _checked(call: BrokerCall, topic: AlterShareGroupOffsetsRequestTopic) -> AlterShareGroupOffsetsResponseTopic:
    """The answer for a topic, as far as it is known before the coordinator is asked."""
    found = call.services.metadata.topic(topic.topic_name)
    may_read = call.authorize(READ, TOPIC, topic.topic_name)
    partitions = []
    for each in topic.partitions:
        told = AlterShareGroupOffsetsResponsePartition(partition_index=each.partition_index)
        error: errors.KafkaError | None = None
        if not may_read:
            error = errors.TopicAuthorizationFailed()
        elif found is None or each.partition_index not in found.partitions:
            error = errors.UnknownTopicOrPartition()
        if error is not None:
            told.error_code, told.error_message = error.code, error.message
        partitions.append(told)
    topic_id = Uuid(found.id) if found is not None and may_read else Uuid(bytes(16))
    return AlterShareGroupOffsetsResponseTopic(topic_name=topic.topic_name, topic_id=topic_id, partitions=partitions)
