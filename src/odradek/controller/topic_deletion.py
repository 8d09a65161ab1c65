"""DeleteTopics: by name or by id, each topic by itself."""

from collections import Counter

from odradek.controller.state import ControllerState
from odradek.controller.topics import Topic
from odradek.protocol.declare import Uuid
from odradek.protocol.errors import (
    NONE,
    InvalidRequest,
    KafkaError,
    TopicDeletionDisabled,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from odradek.protocol.field import ZERO_UUID
from odradek.protocol.messages.k20_delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from odradek.protocol.messages.metadata_topics import RemoveTopicRecord
from odradek.replicated.decision import Decision

WITH_IDS = 6  # the version from which a topic is named by name or by id
KNOWS_DISABLED = 3  # the version from which clients know TOPIC_DELETION_DISABLED

Key = tuple[str | None, bytes]


def wanted_topics(request: DeleteTopicsRequest, version: int) -> list[Key]:
    if version >= WITH_IDS:
        return [_key(item) for item in request.topics]
    return [(name, ZERO_UUID) for name in request.topic_names]


def _key(item: DeleteTopicState) -> Key:
    return item.name, item.topic_id


def delete_topics(state: ControllerState, request: DeleteTopicsRequest, version: int) -> Decision[DeleteTopicsResponse]:
    if not state.configs.layers.config["delete.topic.enable"]:
        raise TopicDeletionDisabled() if version >= KNOWS_DISABLED else InvalidRequest(TopicDeletionDisabled.message)
    named = Counter(wanted_topics(request, version))
    records: dict[bytes, RemoveTopicRecord] = {}
    results = []
    for key, times in named.items():
        error: KafkaError | None = None
        name, topic_id = key
        try:
            topic = _found(state, key, times)
            records[topic.id] = RemoveTopicRecord(topic_id=Uuid(topic.id))
            name, topic_id = topic.name, topic.id
        except KafkaError as refusal:
            error = refusal
        results.append(deleted_result((name, topic_id), error))
    return Decision(state.versioned(list(records.values())), DeleteTopicsResponse(responses=results), is_atomic=False)


def deleted_result(key: Key, error: KafkaError | None) -> DeletableTopicResult:
    name, topic_id = key
    result = DeletableTopicResult(name=name, topic_id=Uuid(topic_id), error_code=NONE)
    if error is not None:
        result.error_code = error.code
        result.error_message = error.message
    return result


def _found(state: ControllerState, key: Key, times: int) -> Topic:
    name, topic_id = key
    has_id = topic_id != ZERO_UUID
    if name is None and not has_id:
        raise InvalidRequest("Neither topic name nor id were specified.")
    if name is not None and has_id:
        raise InvalidRequest("You may not specify both topic name and topic id.")
    if times > 1:
        raise InvalidRequest("Duplicate topic id." if has_id else "Duplicate topic name.")
    topic = state.topics.by_id.get(topic_id) if has_id else state.topics.by_name.get(name or "")
    if topic is None:
        if has_id:
            raise UnknownTopicId("This server does not host this topic ID.")
        raise UnknownTopicOrPartition("This server does not host this topic-partition.")
    return topic
