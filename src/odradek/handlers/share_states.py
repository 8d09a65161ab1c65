"""Requests about the state of many share-partitions, one after the other; each has its own result."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from odradek.protocol import errors
from odradek.replica.share.persisted import SharePartitionKey

# What stands here for `Any` is the same in five APIs, each with classes of its own: a topic has `topic_id` and
# `partitions`, a partition has `partition`; what an act comes to is that API's own business.


class Result(NamedTuple):
    """What became of one share-partition: a value, or an error."""

    topic_id: bytes
    partition: int
    value: Any
    error: errors.KafkaError | None

    @property
    def code_and_message(self) -> dict[str, int | str]:
        """The fields of a response that tell an error; none if all went well."""
        error = self.error
        return {} if error is None else {"error_code": error.code, "error_message": error.message}


Act = Callable[[SharePartitionKey, Any], Awaitable[Any]]  # takes the share-partition, and what the request says of it


async def each(group_id: str, topics: Iterable[Any], act: Act) -> dict[bytes, list[Result]]:
    """Does the act for one share-partition after the other. Results by topic, in the order of the request."""
    results: dict[bytes, list[Result]] = {}
    for topic in topics:
        topic_id = bytes(topic.topic_id)
        of_topic = results.setdefault(topic_id, [])
        for partition in topic.partitions:
            key = SharePartitionKey(group_id, topic_id, partition.partition)
            try:
                of_topic.append(Result(topic_id, partition.partition, await act(key, partition), None))
            except errors.KafkaError as error:
                of_topic.append(Result(topic_id, partition.partition, None, error))
    return results


def refused(topics: Iterable[Any], error: errors.KafkaError) -> dict[bytes, list[Result]]:
    """The results of a request that is refused as a whole: each share-partition gets the error."""
    return {
        bytes(topic.topic_id): [Result(bytes(topic.topic_id), each.partition, None, error) for each in topic.partitions]
        for topic in topics
    }
