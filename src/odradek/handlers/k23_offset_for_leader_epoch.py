"""OffsetForLeaderEpoch, versions 0-4: where a leader epoch ends in the log.

     1  response: the epoch that the end offset belongs to (KIP-279)
     2  request: current leader epoch, for fencing; response: throttle time; open to consumers (KIP-320)
     3  request: replica id, which is negative for consumers
     4  same fields in the flexible encoding (KIP-482)

Who may: CLUSTER_ACTION on the cluster (followers), or DESCRIBE on each topic (consumers). An epoch that is not known
here is answered with -1 and -1. Errors: FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, UNKNOWN_TOPIC_OR_PARTITION,
NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k23_offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from odradek.replica.offsets import epoch_end
from odradek.security.acl import CLUSTER, CLUSTER_ACTION, CLUSTER_NAME, DESCRIBE, TOPIC


def refuse(
    request: OffsetForLeaderEpochRequest, error: errors.KafkaError, version: int
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    EpochEndOffset(partition=each.partition, error_code=error.code) for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


@serves(OffsetForLeaderEpochRequest, versions="0-4", refuse=refuse)
def offset_for_leader_epoch(call: BrokerCall, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    is_broker = call.authorize(CLUSTER_ACTION, CLUSTER, CLUSTER_NAME)
    topics = []
    for topic in request.topics:
        is_allowed = is_broker or call.authorize(DESCRIBE, TOPIC, topic.topic)
        answers = [_answer(call, topic.topic, asked, is_allowed) for asked in topic.partitions]
        topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=answers))
    return OffsetForLeaderEpochResponse(topics=topics)


def _answer(call: BrokerCall, topic: str, asked: OffsetForLeaderPartition, is_allowed: bool) -> EpochEndOffset:
    answer = EpochEndOffset(partition=asked.partition)
    try:
        if not is_allowed:
            raise errors.TopicAuthorizationFailed
        partition = call.services.replicas.resolve(topic, asked.partition)
        answer.leader_epoch, answer.end_offset = epoch_end(partition, asked.leader_epoch, asked.current_leader_epoch)
    except errors.KafkaError as error:
        answer.error_code = error.code
    return answer
