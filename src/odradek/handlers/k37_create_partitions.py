"""CreatePartitions, versions 0-3: a broker hands it on to the active controller (`handlers/controller/`).

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  same fields; THROTTLING_QUOTA_EXCEEDED may be answered (KIP-599)

Who may: ALTER on each topic; asked by the controller. Errors: per topic, as the controller says; a request that
cannot be forwarded refuses every topic.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.forward import forward
from odradek.handlers.new_partitions import until_open
from odradek.handlers.serves import serves
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.k37_create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)


def refuse_create_partitions(
    request: CreatePartitionsRequest, error: KafkaError, version: int
) -> CreatePartitionsResponse:
    results = [
        CreatePartitionsTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
        for topic in request.topics
    ]
    return CreatePartitionsResponse(results=results)


@serves(CreatePartitionsRequest, versions="0-3", refuse=refuse_create_partitions)
async def create_partitions(call: BrokerCall, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    response = await forward(call, request, CreatePartitionsResponse)
    if not request.validate_only:
        asked = {topic.name: topic.count for topic in request.topics}
        made = {result.name: asked[result.name] for result in response.results if not result.error_code}
        await until_open(call, made, request.timeout_ms)
    return response
