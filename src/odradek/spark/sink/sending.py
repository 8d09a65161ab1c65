"""Rows on their way to a topic: Arrow batches go to the producer as they are, and every record has to arrive."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition
from odradek.spark.errors import SinkError, about

if TYPE_CHECKING:
    import pyarrow as pa

    from odradek.client.producer.many_future import ManyFuture
    from odradek.spark.sink.clients import Producer


class Sending:
    """The rows of one task."""

    def __init__(self, producer: "Producer", columns: Sequence[str], topic: str | None) -> None:
        self._producer = producer
        self._columns = list(columns)
        self._topic = topic
        self._waiting: deque[ManyFuture] = deque()
        self.rows = 0
        self.first_topic = topic

    def send(self, rows: "pa.RecordBatch") -> None:
        """SinkError if these, or some before them, were refused."""
        chosen = rows.select(self._columns)
        self._refuse_null_topic(chosen)
        try:
            self._waiting.append(self._producer.send_arrow(self._topic, chosen))
        except KafkaError as error:
            raise SinkError(_with_place(str(error), self._topics(chosen))) from error
        except (ValueError, TypeError) as error:
            raise SinkError(f"{self._topics(chosen)}: {error}") from error
        self.rows += len(chosen)
        if self.first_topic is None and len(chosen):
            self.first_topic = chosen.column("topic")[0].as_py()
        while self._waiting and self._waiting[0].done():
            _check(self._waiting.popleft())

    def finish(self) -> None:
        """Waits until each row has its outcome; delivery.timeout.ms is the end of that."""
        self._producer.flush()
        while self._waiting:
            future = self._waiting.popleft()
            future.exception()
            _check(future)

    def _refuse_null_topic(self, rows: "pa.RecordBatch") -> None:
        if self._topic is None and rows.column("topic").null_count:
            raise SinkError("a row has a null topic: give every row one, or use the option topic")

    def _topics(self, rows: "pa.RecordBatch") -> str:
        topics = [self._topic] if self._topic is not None else sorted(set(rows.column("topic").to_pylist()))
        return f"topic {', '.join(map(str, topics))}"


def not_empty(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    return (batch for batch in batches if len(batch))


def _with_place(said: str, topics: str) -> str:
    """Most of a producer's errors name their topic."""
    return said if "topic" in said.lower() else f"{topics}: {said}"


def _check(future: "ManyFuture") -> None:
    for place, error in future.failures():
        raise SinkError(f"{about(TopicPartition(*place))}: a record was not written: {error}") from error
