"""DeleteShareGroupOffsets, version 0: an admin has a share group without members forget whole topics (KIP-932).

Who may: DELETE on the group, READ on each topic.
Errors: GROUP_AUTHORIZATION_FAILED, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, those of the coordinator.
Errors, per topic: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION (also if nothing is kept of it), those of
the share coordinator.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.handlers.share_feature import demand_share_groups, shares_of
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k92_delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from odradek.security.acl import DELETE, GROUP, READ, TOPIC

NO_TOPIC = Uuid(bytes(16))


@serves(DeleteShareGroupOffsetsRequest, versions="0")
async def delete_share_group_offsets(
    call: BrokerCall, request: DeleteShareGroupOffsetsRequest
) -> DeleteShareGroupOffsetsResponse:
    demand_share_groups(call)
    call.demand(DELETE, GROUP, request.group_id)
    responses = [_checked(call, topic.topic_name) for topic in request.topics]
    known = {bytes(told.topic_id): told for told in responses if told.error_code == errors.NONE}
    failures = await shares_of(call).groups.delete_offsets(request.group_id, list(known))
    for topic_id, error in failures.items():
        told = known[topic_id]
        told.topic_id, told.error_code, told.error_message = NO_TOPIC, error.code, error.message
    return DeleteShareGroupOffsetsResponse(responses=responses)


def _checked(call: BrokerCall, name: str) -> DeleteShareGroupOffsetsResponseTopic:
    told = DeleteShareGroupOffsetsResponseTopic(topic_name=name)
    error: errors.KafkaError | None = None
    topic = call.services.metadata.topic(name)
    if not call.authorize(READ, TOPIC, name):
        error = errors.TopicAuthorizationFailed()
    elif topic is None:
        error = errors.UnknownTopicOrPartition()
    else:
        told.topic_id = Uuid(topic.id)
    if error is not None:
        told.error_code, told.error_message = error.code, error.message
    return told
