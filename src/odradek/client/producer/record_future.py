"""What becomes of a record: the slow half of a RecordFuture, which both executors of the accumulator share.

A future is a batch and a number in it. All records of a batch have their outcome at the same moment, so a batch knows
who waits for it, and to complete it costs the same for one record as for a thousand. A batch that was too large for its
broker is split: then `parts` says which batch has which of its records now.
"""

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING

from odradek.client.host.parking import Parked
from odradek.client.producer.record_metadata import UNKNOWN_OFFSET, RecordMetadata
from odradek.protocol.errors import KafkaError

if TYPE_CHECKING:
    from odradek.client.producer.pure_accumulator import GatheredBatch, RecordFuture

NO_TIMESTAMP = -1


def home(batch: "GatheredBatch", index: int) -> "tuple[GatheredBatch, int]":
    """The batch that the record is in now, and its number there."""
    while batch.parts is not None:
        batch, index = _part(batch.parts, index)
    return batch, index


def _part(parts: "Sequence[tuple[int, GatheredBatch]]", index: int) -> "tuple[GatheredBatch, int]":
    first, batch = next((first, batch) for first, batch in reversed(parts) if first <= index)
    return batch, index - first


def error(batch: "GatheredBatch", index: int) -> KafkaError | None:
    """Why the record was not written, or None; if it is known which ones of a batch are at fault, they alone have the
    broker's words.
    """
    return batch.error if batch.error_of is None else batch.error_of(index)


def metadata(future: "RecordFuture") -> RecordMetadata:
    """Of a record whose batch was written."""
    batch, index = home(future.batch, future.index)
    topic, partition = batch.queue.place
    offset = batch.base_offset + index if batch.base_offset != UNKNOWN_OFFSET else UNKNOWN_OFFSET
    timestamp = future.timestamp if batch.log_append_time_ms == NO_TIMESTAMP else batch.log_append_time_ms
    return RecordMetadata(topic, partition, offset, timestamp, future.key_size, future.value_size)


def wait(future: "RecordFuture", timeout: float | None) -> KafkaError | None:
    """The outcome, at the latest in `timeout` seconds; then TimeoutError. Not in the client's own thread."""
    while True:
        batch, index = home(future.batch, future.index)
        if batch.is_done:
            return error(batch, index)
        batch.queue.accumulator.refuse_waiting()
        parked = Parked()
        batch.add_waiter(parked)
        if not batch.is_done and batch.parts is None and not parked.wait(timeout):
            raise TimeoutError(f"the record had no outcome after {timeout} s")


def subscribe(future: "RecordFuture", callback: "Callable[[RecordFuture], object]") -> None:
    """At once if it is done. Else in the client's thread, in the order of the records."""
    batch, _ = home(future.batch, future.index)
    while not batch.add_callback(callback, future):
        if batch.is_done:
            callback(future)
            return
        batch, _ = home(future.batch, future.index)  # it was split meanwhile


def awaited(future: "RecordFuture") -> Generator[object, None, RecordMetadata]:
    if not future.done():
        from odradek.client.host.awaiting import until_told

        yield from until_told(future.add_done_callback)
    return future.result(0)
