"""Odradek: Apache Kafka in Python.

The public names, imported when they are first used: to import the package costs next to nothing, and a process that
needs one of them does not load the others.
"""

__all__ = [
    "AdminClient",
    "Header",
    "KafkaConsumer",
    "KafkaProducer",
    "ProducerRecord",
    "Record",
    "RecordMetadata",
    "ShareConsumer",
    "TopicPartition",
    "__version__",
    "errors",
]

TYPE_CHECKING = False  # as type checkers know it: `typing` itself would be half of what this module costs

if TYPE_CHECKING:
    from odradek import errors
    from odradek.client.admin.admin_client import AdminClient
    from odradek.client.consumer.kafka_consumer import KafkaConsumer
    from odradek.client.producer.kafka_producer import KafkaProducer
    from odradek.client.producer.producer_record import ProducerRecord
    from odradek.client.producer.record_metadata import RecordMetadata
    from odradek.client.share_consumer.share_consumer import ShareConsumer
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.records.record import Header, Record
    from odradek.version import VERSION

    __version__ = VERSION
else:
    # Type checkers do not see this: to them, a name that is not above is a mistake.
    _PLACES = {
        "AdminClient": ("odradek.client.admin.admin_client", "AdminClient"),
        "Header": ("odradek.records.record", "Header"),
        "KafkaConsumer": ("odradek.client.consumer.kafka_consumer", "KafkaConsumer"),
        "KafkaProducer": ("odradek.client.producer.kafka_producer", "KafkaProducer"),
        "ProducerRecord": ("odradek.client.producer.producer_record", "ProducerRecord"),
        "Record": ("odradek.records.record", "Record"),
        "RecordMetadata": ("odradek.client.producer.record_metadata", "RecordMetadata"),
        "ShareConsumer": ("odradek.client.share_consumer.share_consumer", "ShareConsumer"),
        "TopicPartition": ("odradek.protocol.topic_partition", "TopicPartition"),
        "__version__": ("odradek.version", "VERSION"),
    }

    def __getattr__(name):
        from importlib import import_module

        if name == "errors":
            return import_module("odradek.errors")
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, attribute = _PLACES[name]
        value = globals()[name] = getattr(import_module(module), attribute)
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
