"""DeleteTopics, versions 0-6: a broker hands it on to the active controller (`handlers/controller/`).

     1  throttle time in the response
     2  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     3  same fields; TOPIC_DELETION_DISABLED where deletion is off (KIP-322)
     4  same fields in the flexible encoding (KIP-482)
     5  response: error message; THROTTLING_QUOTA_EXCEEDED may be answered (KIP-599)
     6  topics by name or by id (KIP-516)

Who may: DELETE on each topic; asked by the controller. Errors: per topic, as the controller says; a request that
cannot be forwarded refuses every topic with the same error.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.forward import forward
from odradek.handlers.serves import serves
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.k20_delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)


def refuse_delete_topics(request: DeleteTopicsRequest, error: KafkaError, version: int) -> DeleteTopicsResponse:
    if version >= 6:
        results = [DeletableTopicResult(name=topic.name, topic_id=topic.topic_id) for topic in request.topics]
    else:
        results = [DeletableTopicResult(name=name) for name in request.topic_names]
    for result in results:
        result.error_code = error.code
        result.error_message = error.message
    return DeleteTopicsResponse(responses=results)


@serves(DeleteTopicsRequest, versions="0-6", refuse=refuse_delete_topics)
async def delete_topics(call: BrokerCall, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    return await forward(call, request, DeleteTopicsResponse)
