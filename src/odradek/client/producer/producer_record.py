"""A record as a program sends it, and who may look at it on its way."""

from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeVar

from odradek.client.producer.record_metadata import RecordMetadata
from odradek.protocol.errors import KafkaError

K = TypeVar("K")
V = TypeVar("V")

HeaderList = Iterable[tuple[str, bytes | None]]


class ProducerRecord(Generic[K, V]):
    """Its headers are its own: what a program does to the list that it gave does not change the record."""

    __slots__ = ("headers", "key", "partition", "timestamp_ms", "topic", "value")

    def __init__(
        self,
        topic: str,
        value: V | None = None,
        key: K | None = None,
        *,
        headers: HeaderList | None = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        self.topic = topic
        self.value = value
        self.key = key
        self.headers = tuple(headers or ())
        self.partition = partition
        self.timestamp_ms = timestamp_ms

    def __repr__(self) -> str:
        return f"ProducerRecord({self.topic!r}, {self.value!r}, {self.key!r}, partition={self.partition})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProducerRecord) and self._fields() == other._fields()

    __hash__ = None  # type: ignore[assignment]  # mutable

    def _fields(self) -> tuple[object, ...]:
        return self.topic, self.value, self.key, self.headers, self.partition, self.timestamp_ms


# Inside of a producer. Any: of what types key and value are, its serializers know.
Record = ProducerRecord[Any, Any]


class ProducerInterceptor(Protocol):
    """Sees each record before it is serialized, and what became of it; either method may be missing."""

    # Any: one may name the types of the keys and values that it expects.
    def on_send(self, record: ProducerRecord[Any, Any]) -> ProducerRecord[Any, Any]: ...

    def on_acknowledgement(self, metadata: RecordMetadata, error: KafkaError | None) -> object:
        """In the client's thread. With an error the metadata says only for where the record was."""
        ...
