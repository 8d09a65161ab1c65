"""The clients for programs of asyncio: `from odradek.aio import AdminClient`."""

from odradek.client.admin.asyncio_admin_client import AdminClient
from odradek.client.consumer.asyncio_consumer import KafkaConsumer
from odradek.client.producer.asyncio_producer import KafkaProducer

__all__ = ["AdminClient", "KafkaConsumer", "KafkaProducer"]
