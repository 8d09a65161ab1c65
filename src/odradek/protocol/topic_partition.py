"""A partition by its topic, of which there is a name and an id, and by its number in it."""

from typing import NamedTuple

TopicIdPartition = tuple[bytes, int]
"""A partition by the id of its topic, which no other topic of the same name has. A plain pair: hot paths look it up."""


class TopicPartition(NamedTuple):
    """Equal to the plain pair of its two values, so that either finds the other in a dict.

    It is written as Kafka writes it, and as a log dir names the partition's directory: `orders-0`.
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
