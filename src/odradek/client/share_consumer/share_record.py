"""A record as a share consumer gets it: it also tells how often it was delivered."""

from typing import Any, TypeVar

from odradek.client.consumer.records import ConsumerRecord, Record

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


def _restored(reduced: tuple[Any, tuple[Any, ...]], delivery_count: int) -> ShareRecord[Any, Any]:
    """Out of a pickle. Any: what the record beneath has put there."""
    make, fields = reduced
    record = make(*fields)
    return ShareRecord.of(record, record.key, record.value, delivery_count)
