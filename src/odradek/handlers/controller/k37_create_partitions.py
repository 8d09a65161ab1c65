"""CreatePartitions, versions 0-3: more partitions for topics; the count is the new total (KIP-195).

     1  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     2  same fields in the flexible encoding (KIP-482)
     3  same fields; THROTTLING_QUOTA_EXCEEDED may be answered (KIP-599)

Who may: ALTER on the topic. Errors: NOT_CONTROLLER; POLICY_VIOLATION for more than 10,000 partitions; per topic
TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS, INVALID_REPLICA_ASSIGNMENT,
INVALID_REPLICATION_FACTOR, INVALID_REQUEST for a name that comes twice.
"""

from odradek.controller.partition_creation import grown_result
from odradek.handlers.call import ControllerCall
from odradek.handlers.k37_create_partitions import refuse_create_partitions
from odradek.handlers.serves import serves
from odradek.protocol.errors import TopicAuthorizationFailed
from odradek.protocol.messages.k37_create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from odradek.security import acl


@serves(CreatePartitionsRequest, versions="0-3", on="controller", refuse=refuse_create_partitions)
async def create_partitions(call: ControllerCall, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    names = [topic.name for topic in request.topics]
    allowed = call.authorize_all(acl.ALTER, acl.TOPIC, names)
    asked = CreatePartitionsRequest(
        topics=[topic for topic in request.topics if topic.name in allowed],
        timeout_ms=request.timeout_ms,
        validate_only=request.validate_only,
    )
    response: CreatePartitionsResponse = await call.services.controller.run(lambda core: core.create_partitions(asked))
    refused = dict.fromkeys(name for name in names if name not in allowed)
    results = [*response.results, *(grown_result(name, TopicAuthorizationFailed()) for name in refused)]
    return CreatePartitionsResponse(results=results)
