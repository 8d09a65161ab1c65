"""DeleteTopics, versions 0-6: each topic succeeds or fails by itself (KIP-4).

     1  throttle time in the response
     2  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     3  same fields; TOPIC_DELETION_DISABLED where deletion is off (KIP-322)
     4  same fields in the flexible encoding (KIP-482)
     5  response: error message; THROTTLING_QUOTA_EXCEEDED may be answered (KIP-599)
     6  topics by name or by id (KIP-516)

Who may: DELETE on the topic. Without DESCRIBE on it the caller does not even learn whether there is such an id.
Errors: NOT_CONTROLLER; TOPIC_DELETION_DISABLED (INVALID_REQUEST before 3); per topic TOPIC_AUTHORIZATION_FAILED,
UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_REQUEST for one that is named twice, in two ways or not at all.
"""

from odradek.controller.topic_deletion import WITH_IDS, deleted_result, wanted_topics
from odradek.handlers.call import ControllerCall
from odradek.handlers.k20_delete_topics import refuse_delete_topics
from odradek.handlers.serves import serves
from odradek.protocol.declare import Uuid
from odradek.protocol.errors import KafkaError, TopicAuthorizationFailed, UnknownTopicId
from odradek.protocol.messages.k20_delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from odradek.security import acl


@serves(DeleteTopicsRequest, versions="0-6", on="controller", refuse=refuse_delete_topics)
async def delete_topics(call: ControllerCall, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    if call.services.authorizer is None:
        return await _delete(call, request, call.version)
    allowed: list[DeleteTopicState] = []
    refused: list[DeletableTopicResult] = []
    for name, topic_id in dict.fromkeys(wanted_topics(request, call.version)):
        error = _refusal(call, name, topic_id)
        if error is None:
            allowed.append(DeleteTopicState(name=name, topic_id=Uuid(topic_id)))
        else:
            refused.append(deleted_result((name, topic_id), error))
    response = await _delete(call, DeleteTopicsRequest(topics=allowed), WITH_IDS)
    return DeleteTopicsResponse(responses=[*response.responses, *refused])


async def _delete(call: ControllerCall, request: DeleteTopicsRequest, version: int) -> DeleteTopicsResponse:
    response: DeleteTopicsResponse = await call.services.controller.run(
        lambda core: core.delete_topics(request, version)
    )
    return response


def _refusal(call: ControllerCall, name: str | None, topic_id: bytes) -> KafkaError | None:
    topic = call.services.controller.core.topics.by_id.get(topic_id)
    known = name if name is not None or topic is None else topic.name
    if known is None or call.authorize(acl.DELETE, acl.TOPIC, known):
        return None
    if name is None and not call.authorize(acl.DESCRIBE, acl.TOPIC, known):
        return UnknownTopicId()
    return TopicAuthorizationFailed()
