"""kafka-python's future: `get`, callbacks with arguments of their own, outcome and error as attributes."""

from collections.abc import Callable
from functools import partial
from typing import Any

from odradek.client.producer.accumulator import RecordFuture
from odradek.client.producer.record_metadata import RecordMetadata as Written
from odradek.compat.kafka_python.structs import RecordMetadata, TopicPartition
from odradek.protocol.errors import KafkaError, RequestTimedOut


class Future:
    """What they all have. `_wait` gives the outcome, or raises. Any: an outcome is of the type that its call has."""

    def __init__(self) -> None:
        self.is_done = False
        self.value: Any = None
        self.exception: BaseException | None = None
        self._callbacks: list[Callable[[Any], object]] = []
        self._errbacks: list[Callable[[Any], object]] = []

    def succeeded(self) -> bool:
        return self.is_done and self.exception is None

    def failed(self) -> bool:
        return self.is_done and self.exception is not None

    def retriable(self) -> bool:
        return isinstance(self.exception, KafkaError) and self.exception.retriable

    def success(self, value: Any) -> "Future":
        self.value, self.is_done = value, True
        for callback in self._callbacks:
            callback(value)
        return self

    def failure(self, error: BaseException) -> "Future":
        self.exception, self.is_done = error, True
        for callback in self._errbacks:
            callback(error)
        return self

    def add_callback(self, function: Callable[..., object], *args: object, **kwargs: object) -> "Future":
        """It is called with these arguments and then the outcome."""
        call = partial(function, *args, **kwargs)
        if self.succeeded():
            call(self.value)
        else:
            self._callbacks.append(call)
        return self

    def add_errback(self, function: Callable[..., object], *args: object, **kwargs: object) -> "Future":
        call = partial(function, *args, **kwargs)
        if self.failed():
            call(self.exception)
        else:
            self._errbacks.append(call)
        return self

    def add_both(self, function: Callable[..., object], *args: object, **kwargs: object) -> "Future":
        return self.add_callback(function, *args, **kwargs).add_errback(function, *args, **kwargs)


class FutureRecordMetadata(Future):
    """The outcome of a record: `sent` is our future of it."""

    def __init__(self, sent: RecordFuture, header_bytes: int) -> None:
        super().__init__()
        self._sent = sent
        self._header_bytes = header_bytes
        sent.add_done_callback(self._told)

    def get(self, timeout: float | None = None) -> RecordMetadata:
        """Waits for so many seconds."""
        try:
            return self._metadata(self._sent.result(timeout))
        except TimeoutError as error:
            raise RequestTimedOut(str(error)) from error

    def _told(self, sent: RecordFuture) -> None:
        error = sent.exception(0)
        if error is None:
            self.success(self._metadata(sent.result(0)))
        else:
            self.failure(error)

    def _metadata(self, found: Written) -> RecordMetadata:
        return RecordMetadata(
            found.topic,
            found.partition,
            TopicPartition(found.topic, found.partition),
            found.offset,
            found.timestamp,
            None,
            found.serialized_key_size,
            found.serialized_value_size,
            self._header_bytes,
        )
