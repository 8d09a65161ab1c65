"""The core of confluent-kafka's API (Producer, Consumer, Message) on Odradek's clients.

    from odradek.compat.confluent import Consumer, KafkaError, Producer     # before: from confluent_kafka import ...

What is there and what is not is in docs/compat.md.
"""

from odradek.compat.confluent.consumer import Consumer
from odradek.compat.confluent.errors import KafkaError, KafkaException
from odradek.compat.confluent.message import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    OFFSET_STORED,
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Message,
    TopicPartition,
)
from odradek.compat.confluent.producer import Producer

__all__ = [
    "OFFSET_BEGINNING",
    "OFFSET_END",
    "OFFSET_INVALID",
    "OFFSET_STORED",
    "TIMESTAMP_CREATE_TIME",
    "TIMESTAMP_LOG_APPEND_TIME",
    "TIMESTAMP_NOT_AVAILABLE",
    "Consumer",
    "KafkaError",
    "KafkaException",
    "Message",
    "Producer",
    "TopicPartition",
]
