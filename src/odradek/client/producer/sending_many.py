"""Many records in one call. Bytes go into the batches in a loop of the accumulator's own; everything else as `send`
sends it, one by one.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from odradek.client.producer.accumulator import NO_PARTITION
from odradek.client.producer.many_future import ManyFuture, Span

if TYPE_CHECKING:
    from odradek.client.producer.kafka_producer import KafkaProducer


def send_many(
    producer: "KafkaProducer[Any, Any]",
    topic: str,
    values: Sequence[Any],
    keys: Sequence[Any] | None,
    headers: Sequence[Any] | None,
    timestamps_ms: Sequence[int] | None,
    partition: int | None,
) -> ManyFuture:
    for name, column in (("keys", keys), ("headers", headers), ("timestamps_ms", timestamps_ms)):
        if column is not None and len(column) != len(values):
            raise ValueError(f"{len(values)} values, but {len(column)} {name}")
    spans: list[Span] = []
    at = 0
    while at < len(values):
        if headers is None and timestamps_ms is None and producer.is_plain_for(topic, partition):
            at = _plain(producer, topic, values, keys, at, partition, spans)
        if at < len(values):  # the next one has to wait, or needs a plugin
            future = producer.send(
                topic,
                values[at],
                None if keys is None else keys[at],
                headers=() if headers is None else headers[at],
                partition=partition,
                timestamp_ms=None if timestamps_ms is None else timestamps_ms[at],
            )
            _note(spans, (future.batch, future.index, 1))
            at += 1
    return ManyFuture(spans)


def _plain(
    producer: "KafkaProducer[Any, Any]",
    topic: str,
    values: Sequence[Any],
    keys: Sequence[Any] | None,
    at: int,
    partition: int | None,
    spans: list[Span],
) -> int:
    accumulator = producer.session.accumulator
    if not all(value is None or type(value) is bytes for value in values):
        return at
    if keys is not None and not all(key is None or type(key) is bytes for key in keys):
        return at
    known = accumulator.topics[topic]
    place = NO_PARTITION if partition is None else partition
    return accumulator.append_many(known, values, keys, at, place, accumulator.now_ms(), spans)


def _note(spans: list[Span], span: Span) -> None:
    if spans:
        batch, first, count = spans[-1]
        if batch is span[0] and first + count == span[1]:
            spans[-1] = (batch, first, count + 1)
            return
    spans.append(span)
