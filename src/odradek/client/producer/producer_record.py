"""A record as a program sends it."""

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

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
