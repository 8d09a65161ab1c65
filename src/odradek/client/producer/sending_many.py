"""Many records in one call. Bytes go into the batches in a loop of the accumulator's own; everything else as `send`
sends it, one by one.
"""

from collections.abc import Sequence
from typing import Any

from odradek.client.producer.accumulator import NO_PARTITION, RecordFuture
from odradek.client.producer.many_future import ManyFuture, Span
from odradek.client.producer.producer_record import HeaderList, ProducerRecord, Record
from odradek.client.producer.session import ProducerSession


class Rows:
    """What is to be sent, and how far it has come. Any: whether something is bytes, the accumulator looks."""

    def __init__(
        self,
        topic: str,
        values: Sequence[Any],
        keys: Sequence[Any] | None,
        headers: Sequence[HeaderList] | None,
        timestamps_ms: Sequence[int] | None,
        partition: int | None,
    ) -> None:
        if not hasattr(values, "__len__"):
            raise TypeError(f"values are a list or another sequence, not {type(values).__name__}: give list(values)")
        for name, column in (("keys", keys), ("headers", headers), ("timestamps_ms", timestamps_ms)):
            if column is not None and len(column) != len(values):
                raise ValueError(f"{len(values)} values, but {len(column)} {name}")
        self._topic = topic
        self._values = values
        self._keys = keys
        self._headers = headers
        self._timestamps_ms = timestamps_ms
        self._partition = partition
        self._at = 0
        self._spans: list[Span] = []
        self._is_plain = headers is None and timestamps_ms is None

    @property
    def is_left(self) -> bool:
        return self._at < len(self._values)

    def append_plain(self, session: ProducerSession) -> None:
        """As many as go without waiting, and without a plugin."""
        accumulator = session.accumulator
        known = accumulator.topics.get(self._topic)
        if not self._is_plain or not accumulator.is_plain or known is None:
            return
        place = NO_PARTITION if self._partition is None else self._partition
        values, keys, now_ms = self._values, self._keys, accumulator.now_ms()
        self._at = accumulator.append_many(known, values, keys, self._at, place, now_ms, self._spans)

    def next_record(self) -> Record:
        """The one that has to wait, or that needs more than a copy."""
        at = self._at
        return ProducerRecord(
            self._topic,
            self._values[at],
            None if self._keys is None else self._keys[at],
            headers=() if self._headers is None else self._headers[at],
            partition=self._partition,
            timestamp_ms=None if self._timestamps_ms is None else self._timestamps_ms[at],
        )

    def note(self, future: RecordFuture) -> None:
        """It was sent."""
        self._at += 1
        if self._spans:
            batch, first, count = self._spans[-1]
            if batch is future.batch and first + count == future.index:
                self._spans[-1] = (batch, first, count + 1)
                return
        self._spans.append((future.batch, future.index, 1))

    def future(self) -> ManyFuture:
        return ManyFuture(self._spans)
