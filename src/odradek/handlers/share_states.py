"""Requests about the state of many share-partitions, one after the other; each has its own result."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from odradek.protocol import errors
from odradek.replica.share.persisted import SharePartitionKey

# Five APIs ask alike, each with classes of its own.


class Partition(Protocol):
    """What a request says of one share-partition."""

    @property
    def partition(self) -> int: ...


P = TypeVar("P", bound=Partition)
P_co = TypeVar("P_co", bound=Partition, covariant=True)
V = TypeVar("V")


class Topic(Protocol[P_co]):
    @property
    def topic_id(self) -> bytes: ...
    @property
    def partitions(self) -> Sequence[P_co]: ...


class Result(NamedTuple, Generic[V]):
    """What became of one share-partition: a value, or an error."""

    topic_id: bytes
    partition: int
    value: V | None
    error: errors.KafkaError | None

    @property
    def code_and_message(self) -> dict[str, int | str]:
        """The fields of a response that tell an error; none if all went well."""
        error = self.error
        return {} if error is None else {"error_code": error.code, "error_message": error.message}


async def each(
    group_id: str, topics: Iterable[Topic[P]], act: Callable[[SharePartitionKey, P], Awaitable[V]]
) -> dict[bytes, list[Result[V]]]:
    """Does the act for one share-partition after the other. Results by topic, in the order of the request."""
    results: dict[bytes, list[Result[V]]] = {}
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


def refused(topics: Iterable[Topic[Partition]], error: errors.KafkaError) -> dict[bytes, list[Result[V]]]:
    """The results of a request that is refused as a whole: each share-partition gets the error."""
    return {
        bytes(topic.topic_id): [Result(bytes(topic.topic_id), each.partition, None, error) for each in topic.partitions]
        for topic in topics
    }
