"""DescribeProducers, version 0: the producers that a replica of a partition remembers.

Who may: READ on each topic.
Errors: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR, with messages.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.messages.k61_describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from odradek.security.acl import READ, TOPIC


def refuse(request: DescribeProducersRequest, error: errors.KafkaError, version: int) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(name=topic.name, partitions=[_failed(index, error) for index in topic.partition_indexes])
            for topic in request.topics
        ]
    )


@serves(DescribeProducersRequest, versions="0", refuse=refuse)
def describe_producers(call: BrokerCall, request: DescribeProducersRequest) -> DescribeProducersResponse:
    topics = []
    for topic in request.topics:
        is_allowed = call.authorize(READ, TOPIC, topic.name)
        answers = [_answer(call, topic.name, index, is_allowed) for index in topic.partition_indexes]
        topics.append(TopicResponse(name=topic.name, partitions=answers))
    return DescribeProducersResponse(topics=topics)


def _answer(call: BrokerCall, topic: str, index: int, is_allowed: bool) -> PartitionResponse:
    try:
        if not is_allowed:
            raise errors.TopicAuthorizationFailed
        log = call.services.replicas.resolve(topic, index).local_log()
    except errors.KafkaError as error:
        return _failed(index, error)
    producers = [
        ProducerState(
            producer_id=entry.producer_id,
            producer_epoch=entry.epoch,
            last_sequence=entry.last_sequence,
            last_timestamp=entry.last_timestamp,
            coordinator_epoch=entry.coordinator_epoch,
            current_txn_start_offset=entry.current_txn_first_offset,
        )
        for entry in log.producers.entries
    ]
    return PartitionResponse(partition_index=index, active_producers=producers)


def _failed(index: int, error: errors.KafkaError) -> PartitionResponse:
    return PartitionResponse(partition_index=index, error_code=error.code, error_message=error.message)
