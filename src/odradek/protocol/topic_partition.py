"""A partition by the name of its topic and its number in it."""

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """Equal to the plain pair of its two values, so that either finds the other in a dict.

    It is written as Kafka writes it, and as a log dir names the partition's directory: `orders-0`.
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
