"""What goes wrong in a producer before, or without, an answer of a broker."""

from odradek.protocol import errors


class BufferExhausted(errors.RequestTimedOut):
    """`buffer.memory` was full of unsent records for as long as `max.block.ms` allows to wait."""

    message = "No room for the record: buffer.memory is full of records that are not sent yet."


class MetadataTimeout(errors.RequestTimedOut):
    """The topic, or the partition, was not known within `max.block.ms`."""

    message = "The topic was not known in time."


class DeliveryTimeout(errors.RequestTimedOut):
    """A record was neither written nor refused within `delivery.timeout.ms`."""

    message = "The record was not delivered in time."


class FlushTimeout(errors.RequestTimedOut):
    """`flush` came to the end of its time. `unsent` is the number of records that have no outcome yet."""

    def __init__(self, unsent: int, because: str = ".") -> None:
        super().__init__(f"{unsent} records were not delivered in the time that flush was given{because}")
        self.unsent = unsent


class ClosedBeforeSent(errors.KafkaError):
    """The producer was closed, and the time that it was given was up."""

    message = "The producer was closed before the record was delivered."


class TransactionAborted(errors.KafkaError):
    """The record was not sent: its transaction was aborted before."""

    message = "The record was dropped: its transaction is being aborted."
