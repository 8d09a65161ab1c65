"""The clients for programs of asyncio: `from odradek.aio import AdminClient`."""

from odradek.client.admin.asyncio_admin_client import AdminClient
from odradek.client.consumer.asyncio_consumer import KafkaConsumer
from odradek.client.producer.asyncio_producer import KafkaProducer
from odradek.client.share_consumer.asyncio_share_consumer import ShareConsumer

__all__ = ["AdminClient", "KafkaConsumer", "KafkaProducer", "ShareConsumer"]
