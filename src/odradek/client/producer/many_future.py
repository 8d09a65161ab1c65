"""What will become of many records that were sent in one call."""

from collections.abc import Generator, Iterable
from typing import Any

from odradek.client.producer import record_future
from odradek.client.producer.accumulator import GatheredBatch
from odradek.client.producer.record_metadata import RecordMetadata
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition

Span = tuple[GatheredBatch, int, int]  # a batch, the number of the first record in it, how many stand side by side


class ManyFuture:
    """`result` has one RecordMetadata for each run of records that stand side by side: that of the first of them."""

    __slots__ = ("_spans",)

    def __init__(self, spans: Iterable[Span]) -> None:
        self._spans = list(spans)

    def __len__(self) -> int:
        """The number of records."""
        return sum(count for _, _, count in self._spans)

    def done(self) -> bool:
        return all(span.done() for span in self._each())

    def result(self, timeout: float | None = None) -> list[RecordMetadata]:
        error = self.exception(timeout)
        if error is not None:
            raise error
        return [record_future.metadata(span) for span in self._each()]

    get = result

    def exception(self, timeout: float | None = None) -> KafkaError | None:
        """The first error; None if all were written. TimeoutError if one of them waits longer than `timeout`."""
        for span in self._each():
            error = record_future.wait(span, timeout)
            if error is not None:
                return error
        return None

    def failures(self) -> list[tuple[TopicPartition, KafkaError]]:
        """Where records were refused, and why, of those that have their outcome. Never waits."""
        outcomes = ((span, record_future.wait(span, 0)) for span in self._each() if span.done())
        return [(span.batch.queue.place, error) for span, error in outcomes if error is not None]

    def __await__(self) -> Generator[object, None, list[RecordMetadata]]:
        for span in self._each():
            if not span.done():
                from odradek.client.host.awaiting import until_told

                yield from until_told(lambda told, one=span: record_future.subscribe(one, told))  # type: ignore[misc]
        return self.result(0)

    def _each(self) -> "Iterable[Any]":
        """Something like a RecordFuture for each run, also of a batch that was split meanwhile. Any: that one will do
        where a RecordFuture is asked for, a class that is compiled cannot say.
        """
        for batch, first, count in self._spans:
            at = first
            while at < first + count:
                home, index = record_future.home(batch, at)
                yield _Run(batch, at)
                at += max(1, min(first + count - at, home.record_count - index))


class _Run:
    """The first record of a run. Of a batch the records have no times of their own in here: its first time is told."""

    __slots__ = ("batch", "index")

    key_size = value_size = -1

    def __init__(self, batch: GatheredBatch, index: int) -> None:
        self.batch = batch
        self.index = index

    @property
    def timestamp(self) -> int:
        return record_future.home(self.batch, self.index)[0].base_timestamp

    def done(self) -> bool:
        return record_future.home(self.batch, self.index)[0].is_done
