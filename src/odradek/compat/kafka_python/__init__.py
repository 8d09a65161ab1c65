"""kafka-python's producer and consumer, as programs know them, on Odradek's clients.

    from odradek.compat.kafka_python import KafkaConsumer, KafkaProducer     # before: from kafka import ...

What is the same and what is not is in docs/compat.md.
"""

from odradek.compat.kafka_python import errors
from odradek.compat.kafka_python.admin import KafkaAdminClient, NewPartitions, NewTopic
from odradek.compat.kafka_python.consumer import ConsumerRebalanceListener, KafkaConsumer
from odradek.compat.kafka_python.producer import KafkaProducer
from odradek.compat.kafka_python.serializer import Deserializer, Serializer
from odradek.compat.kafka_python.structs import (
    BrokerMetadata,
    ConsumerGroupMetadata,
    MemberState,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TopicPartition,
)

__all__ = [
    "BrokerMetadata",
    "ConsumerGroupMetadata",
    "ConsumerRebalanceListener",
    "Deserializer",
    "KafkaAdminClient",
    "KafkaConsumer",
    "KafkaProducer",
    "MemberState",
    "NewPartitions",
    "NewTopic",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "Serializer",
    "TopicPartition",
    "errors",
]
