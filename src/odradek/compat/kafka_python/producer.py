"""kafka-python's KafkaProducer."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from odradek.client.producer.kafka_producer import KafkaProducer as Producer
from odradek.compat.kafka_python import configs
from odradek.compat.kafka_python.future import FutureRecordMetadata
from odradek.compat.kafka_python.serializer import adapted
from odradek.compat.kafka_python.structs import Offsets, offsets_of

if TYPE_CHECKING:
    from odradek.channel.cluster import Cluster
    from odradek.client.producer.partitioners import Function
    from odradek.client.producer.producer_metrics import MetricName

NO_HEADERS = -1
NEWEST_MAGIC = 2


class KafkaProducer:
    """`config` is what was given; names that kafka-python has and this has not are in docs/compat.md."""

    # Any: configs are of the types that their names suggest, and keys and values of what the serializers take.

    def __init__(self, **given: Any) -> None:
        self.config = {"api_version": None, **given}
        own = configs.adapted(given)
        partitioner = own.pop("partitioner", None)
        if own.get("retries") == float("inf"):
            del own["retries"]
        serializers = {
            name: adapted(own.pop(name, None), "serialize") for name in ("key_serializer", "value_serializer")
        }
        if partitioner is not None:
            own["partitioner"] = asked_as_theirs(partitioner)
        self._producer: Producer[Any, Any] = Producer(**serializers, **own)

    def send(
        self,
        topic: str,
        value: object = None,
        key: object = None,
        headers: Iterable[tuple[str, bytes]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> FutureRecordMetadata:
        pairs = list(headers or ())
        sent = self._producer.send(
            topic, value, key, headers=pairs, partition=partition, timestamp_ms=timestamp_ms or None
        )
        size = sum(len(name.encode()) + len(data or b"") for name, data in pairs) if pairs else NO_HEADERS
        return FutureRecordMetadata(sent, size)

    def flush(self, timeout: float | None = None) -> None:
        self._producer.flush(timeout)

    def close(self, timeout: float | None = None, null_logger: bool = False) -> None:
        self._producer.close(timeout)

    def partitions_for(self, topic: str) -> set[int]:
        return {info.partition for info in self._producer.partitions_for(topic)}

    def bootstrap_connected(self) -> bool:
        return True

    def metrics(self, raw: bool = False) -> "Mapping[MetricName, float]":
        return self._producer.metrics()

    @staticmethod
    def max_usable_produce_magic(api_version: object) -> int:
        return NEWEST_MAGIC

    # Transactions

    def init_transactions(self) -> None:
        self._producer.init_transactions()

    def begin_transaction(self) -> None:
        self._producer.begin_transaction()

    def send_offsets_to_transaction(self, offsets: Offsets, group_metadata: Any) -> None:
        """For a group by its name, or by what `group_metadata` of a consumer gave. Any: whichever it is."""
        from odradek.client.group_metadata import ConsumerGroupMetadata

        who = (group_metadata,) if isinstance(group_metadata, str) else tuple(group_metadata)[:4]
        self._producer.send_offsets_to_transaction(offsets_of(offsets), ConsumerGroupMetadata(*who))

    def commit_transaction(self) -> None:
        self._producer.commit_transaction()

    def abort_transaction(self) -> None:
        self._producer.abort_transaction()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def asked_as_theirs(given: Callable[[bytes | None, list[int], list[int]], int]) -> "Function":
    """Theirs is asked with the key's bytes, all partitions and those that have a leader."""

    def partition(
        topic: str, key: object, key_bytes: bytes | None, value: object, value_bytes: bytes | None, cluster: "Cluster"
    ) -> int:
        every = sorted(info.partition for info in cluster.partitions(topic))
        available = sorted(info.partition for info in cluster.available_partitions(topic))
        return given(key_bytes, every, available)

    return partition
