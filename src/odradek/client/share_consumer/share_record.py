"""A record as a share consumer gets it: it also tells how often it was delivered."""

from collections.abc import Iterator
from typing import Any, TypeVar, overload

from odradek.client.consumer.records import ConsumerRecord, ConsumerRecords, Record
from odradek.protocol.topic_partition import TopicPartition

K = TypeVar("K")
V = TypeVar("V")


class ShareRecord(ConsumerRecord[K, V]):
    """A `ConsumerRecord`, and `delivery_count`: 1 for the first time that somebody is given it."""

    __slots__ = ("delivery_count",)

    delivery_count: int

    @classmethod
    def of(cls, record: Record, key: Any, value: Any, delivery_count: int) -> "ShareRecord[Any, Any]":
        """Any: whatever the deserializers have made."""
        made = cls(
            record.topic,
            record.partition,
            record.offset,
            timestamp=record.timestamp,
            timestamp_type=record.timestamp_type,
            key=key,
            value=value,
            headers=record.headers,
            leader_epoch=record.leader_epoch,
            serialized_key_size=record.serialized_key_size,
            serialized_value_size=record.serialized_value_size,
        )
        made.delivery_count = delivery_count
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (super().__reduce__(), self.delivery_count)


class ShareRecords(ConsumerRecords[K, V]):
    """What one poll returned: as a consumer's, of records that tell how often they were delivered."""

    __slots__ = ()

    def __iter__(self) -> "Iterator[ShareRecord[K, V]]":
        return super().__iter__()  # type: ignore[return-value]  # it was made of these

    @overload  # type: ignore[override]  # a list of these is none of the others to a type checker
    def __getitem__(self, index: int) -> ShareRecord[K, V]: ...

    @overload
    def __getitem__(self, index: slice) -> "list[ShareRecord[K, V]]": ...

    def __getitem__(self, index: int | slice) -> "ShareRecord[K, V] | list[ShareRecord[K, V]]":
        return super().__getitem__(index)  # type: ignore[return-value]  # likewise

    def records(self, where: TopicPartition | str) -> "list[ShareRecord[K, V]]":  # type: ignore[override]
        """Those of one partition, or of all partitions of a topic."""
        return super().records(where)  # type: ignore[return-value]  # likewise


def _restored(reduced: tuple[Any, tuple[Any, ...]], delivery_count: int) -> ShareRecord[Any, Any]:
    """Out of a pickle. Any: what the record beneath has put there."""
    make, fields = reduced
    record = make(*fields)
    return ShareRecord.of(record, record.key, record.value, delivery_count)
