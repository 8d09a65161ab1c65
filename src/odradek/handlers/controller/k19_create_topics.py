"""CreateTopics, versions 0-7: each topic succeeds or fails by itself (KIP-4).

     1  request: validate_only; response: error message
     2  throttle time in the response
     3  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     4  same fields; -1 partitions or replicas ask for the broker's default (KIP-464)
     5  flexible; response: partitions, replicas and configs of the new topic (KIP-525)
     6  same fields; THROTTLING_QUOTA_EXCEEDED may be answered (KIP-599)
     7  response: topic id (KIP-516)

Who may: CREATE on the cluster, or on the topic; without DESCRIBE_CONFIGS on the topic its configs are not told.
Errors: NOT_CONTROLLER; POLICY_VIOLATION for more than 10,000 records; per topic TOPIC_AUTHORIZATION_FAILED,
INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR,
INVALID_REPLICA_ASSIGNMENT, INVALID_CONFIG, INVALID_REQUEST for a name that comes twice.
"""

from odradek.controller.topic_creation import refused_topic
from odradek.handlers.call import ControllerCall
from odradek.handlers.k19_create_topics import refuse_create_topics
from odradek.handlers.serves import serves
from odradek.protocol.errors import NONE, TopicAuthorizationFailed
from odradek.protocol.messages.k19_create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.security import acl


@serves(CreateTopicsRequest, versions="0-7", on="controller", refuse=refuse_create_topics)
async def create_topics(call: ControllerCall, request: CreateTopicsRequest) -> CreateTopicsResponse:
    names = [topic.name for topic in request.topics]
    if call.authorize(acl.CREATE, acl.CLUSTER, acl.CLUSTER_NAME):
        allowed, asked = set(names), request
    else:
        allowed = call.authorize_all(acl.CREATE, acl.TOPIC, names)
        asked = CreateTopicsRequest(
            topics=[topic for topic in request.topics if topic.name in allowed],
            timeout_ms=request.timeout_ms,
            validate_only=request.validate_only,
        )
    response: CreateTopicsResponse = await call.services.controller.run(lambda core: core.create_topics(asked))
    told = call.authorize_all(acl.DESCRIBE_CONFIGS, acl.TOPIC, names)
    results = [topic if topic.name in told else _without_configs(topic) for topic in response.topics]
    refused = dict.fromkeys(name for name in names if name not in allowed)
    results += [refused_topic(name, TopicAuthorizationFailed("Authorization failed.")) for name in refused]
    return CreateTopicsResponse(topics=results)


def _without_configs(topic: CreatableTopicResult) -> CreatableTopicResult:
    if topic.error_code != NONE:
        return topic
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic.topic_id,
        error_message=None,
        topic_config_error_code=TopicAuthorizationFailed.code,
    )
