"""aiokafka's producer and consumer, as programs know them, on Odradek's clients for asyncio.

    from odradek.compat.aiokafka import AIOKafkaConsumer, AIOKafkaProducer     # before: from aiokafka import ...

What is the same and what is not is in docs/compat.md.
"""

from odradek.client.consumer.records import ConsumerRecord
from odradek.compat.aiokafka import errors
from odradek.compat.aiokafka.consumer import AIOKafkaConsumer, ConsumerRebalanceListener
from odradek.compat.aiokafka.errors import ConsumerStoppedError, IllegalOperation
from odradek.compat.aiokafka.producer import AIOKafkaProducer
from odradek.compat.kafka_python.structs import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition

__all__ = [
    "AIOKafkaConsumer",
    "AIOKafkaProducer",
    "ConsumerRebalanceListener",
    "ConsumerRecord",
    "ConsumerStoppedError",
    "IllegalOperation",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "TopicPartition",
    "errors",
]
