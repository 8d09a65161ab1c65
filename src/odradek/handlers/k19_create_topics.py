"""CreateTopics, versions 0-7: a broker hands it on to the active controller (`handlers/controller/`).

     1  request: validate_only; response: error message
     2  throttle time in the response
     3  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     4  same fields; -1 partitions or replicas ask for the broker's default (KIP-464)
     5  flexible; response: partitions, replicas and configs of the new topic (KIP-525)
     6  same fields; THROTTLING_QUOTA_EXCEEDED may be answered (KIP-599)
     7  response: topic id (KIP-516)

Who may: CREATE on the cluster or on each topic; asked by the controller. Errors: per topic, as the controller says; a
request that cannot be forwarded refuses every topic with the same error.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.forward import forward
from odradek.handlers.new_partitions import until_open
from odradek.handlers.serves import serves
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.k19_create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)


def refuse_create_topics(request: CreateTopicsRequest, error: KafkaError, version: int) -> CreateTopicsResponse:
    results = [
        CreatableTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
        for topic in request.topics
    ]
    return CreateTopicsResponse(topics=results)


@serves(CreateTopicsRequest, versions="0-7", refuse=refuse_create_topics)
async def create_topics(call: BrokerCall, request: CreateTopicsRequest) -> CreateTopicsResponse:
    response = await forward(call, request, CreateTopicsResponse)
    if not request.validate_only:
        await until_open(
            call, {result.name: 1 for result in response.topics if not result.error_code}, request.timeout_ms
        )
    return response
