"""DescribeTopicPartitions, version 0: the partitions of topics, page by page (KIP-966).

Topics come in the order of their names. A page ends after `response_partition_limit` partitions (at least one, at most
max.request.partition.size.limit) with a cursor that says where the next one begins.

Who may: DESCRIBE on each topic, as with Metadata.
Errors: INVALID_REQUEST, at every topic, for a cursor with a negative partition or a topic that was not asked for;
per topic INVALID_TOPIC_EXCEPTION, UNKNOWN_TOPIC_OR_PARTITION, TOPIC_AUTHORIZATION_FAILED; per partition
LEADER_NOT_AVAILABLE, LISTENER_NOT_FOUND.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.partition_view import PartitionViews
from odradek.handlers.serves import serves
from odradek.handlers.topic_names import is_legal_name
from odradek.metadata.topics import TopicImage
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.internal_topics import INTERNAL_TOPICS
from odradek.protocol.messages.k75_describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseCursor,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from odradek.security import acl


def refuse_describe_topic_partitions(
    request: DescribeTopicPartitionsRequest, error: errors.KafkaError, version: int
) -> DescribeTopicPartitionsResponse:
    topics = [DescribeTopicPartitionsResponseTopic(error_code=error.code, name=topic.name) for topic in request.topics]
    return DescribeTopicPartitionsResponse(topics=topics)


@serves(DescribeTopicPartitionsRequest, versions="0", refuse=refuse_describe_topic_partitions)
def describe_topic_partitions(
    call: BrokerCall, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    image = call.services.metadata.image
    is_all = not request.topics
    names = list(image.topics.by_name) if is_all else sorted({topic.name for topic in request.topics})
    names = _from_cursor(names, request.cursor, is_all)
    response = DescribeTopicPartitionsResponse()
    views = PartitionViews(image, call.listener)
    left = _limit(call, request)
    for name in names:
        if is_all and not call.authorize(acl.DESCRIBE, acl.TOPIC, name):
            continue
        if left == 0:
            response.next_cursor = DescribeTopicPartitionsResponseCursor(topic_name=name, partition_index=0)
            break
        first = request.cursor.partition_index if request.cursor and request.cursor.topic_name == name else 0
        topic, next_partition = _page_of(call, views, image.topics.by_name.get(name), name, first, left)
        response.topics.append(topic)
        left -= len(topic.partitions)
        if next_partition is not None:
            cursor = DescribeTopicPartitionsResponseCursor(topic_name=name, partition_index=next_partition)
            response.next_cursor = cursor
            break
    return response


def _from_cursor(names: list[str], cursor: Cursor | None, is_all: bool) -> list[str]:
    """A topic may have gone between two pages of all topics; whoever names topics keeps naming the cursor's."""
    if cursor is None:
        return names
    if cursor.partition_index < 0:
        raise errors.InvalidRequest("A cursor's partition is not negative.")
    if not is_all and cursor.topic_name not in names:
        raise errors.InvalidRequest("The topics do not include the one of the cursor.")
    return [name for name in names if name >= cursor.topic_name]


def _limit(call: BrokerCall, request: DescribeTopicPartitionsRequest) -> int:
    limit_max: int = call.services.configs.current.config["max.request.partition.size.limit"]
    return max(1, min(limit_max, request.response_partition_limit))


def _page_of(
    call: BrokerCall, views: PartitionViews, topic: TopicImage | None, name: str, first: int, limit: int
) -> tuple[DescribeTopicPartitionsResponseTopic, int | None]:
    """A topic with at most `limit` partitions from `first` on, and the partition after them, if there is one."""
    if not call.authorize(acl.DESCRIBE, acl.TOPIC, name):
        denied = errors.TopicAuthorizationFailed.code
        return DescribeTopicPartitionsResponseTopic(error_code=denied, name=name), None
    response = DescribeTopicPartitionsResponseTopic(
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=call.authorized_operations(acl.TOPIC, name),
    )
    if topic is None:
        response.error_code = (
            errors.UnknownTopicOrPartition if is_legal_name(name) else errors.InvalidTopicException
        ).code
        return response, None
    response.topic_id = Uuid(topic.id)
    indexes = [index for index in topic.partitions if index >= first]
    response.partitions = [_partition(views, topic, index) for index in indexes[:limit]]
    return response, indexes[limit] if len(indexes) > limit else None


def _partition(views: PartitionViews, topic: TopicImage, index: int) -> DescribeTopicPartitionsResponsePartition:
    partition = topic.partitions[index]
    seen = views.of(partition)
    return DescribeTopicPartitionsResponsePartition(
        error_code=seen.error_code,
        partition_index=index,
        leader_id=seen.leader_id,
        leader_epoch=partition.leader_epoch,
        replica_nodes=seen.replicas,
        isr_nodes=seen.isr,
        eligible_leader_replicas=list(partition.elr),
        last_known_elr=list(partition.last_known_elr),
        offline_replicas=seen.offline,
    )
