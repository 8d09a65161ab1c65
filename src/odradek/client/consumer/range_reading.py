"""A consumer that reads ranges of partitions, one after the other, as columns: its caller cuts up the work.

    with range_consumer({"bootstrap.servers": "localhost:9092"}) as consumer:
        read_range(consumer, TopicPartition("orders", 0), 1000, 5000)
        while (fetched := poll_chunk(consumer, timeout=30.0)) is not None: ...

No group, no commits, no reset: an offset that is not there is an error. Nothing behind the range is asked for, so no
request waits at a broker for records that nobody wants.
"""

from collections.abc import Mapping

from odradek.client.consumer.arguments import milliseconds
from odradek.client.consumer.fetch_buffer import FetchedRows
from odradek.client.consumer.kafka_consumer import KafkaConsumer
from odradek.protocol.topic_partition import TopicPartition

_FIXED = {"auto.offset.reset": "none", "enable.auto.commit": "false"}

RangeConsumer = KafkaConsumer[bytes, bytes]


def range_consumer(configs: Mapping[str, object]) -> RangeConsumer:
    return KafkaConsumer({**configs, **_FIXED})


def read_range(consumer: RangeConsumer, place: TopicPartition, start: int, stop: int) -> None:
    """From now on the consumer reads this and nothing else; what it had of another range is dropped."""
    consumer._run(consumer._caller.read_range, place, start, stop)


def topic_id_of(consumer: RangeConsumer, topic: str, timeout: float) -> bytes:
    """As the cluster tells it now, within `timeout` seconds."""
    from odradek.client.consumer.topic_lookup import topic_id

    return consumer._ask(lambda session: topic_id(session.asker, topic, milliseconds(timeout)))


def poll_chunk(consumer: RangeConsumer, timeout: float) -> FetchedRows | None:
    """The next rows, or a move of the position without any; None if nothing came within `timeout` seconds."""
    return consumer._run_poll(consumer._caller.poll_chunk, milliseconds(timeout))
