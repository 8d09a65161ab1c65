"""What a coordinator's partition holds, as its core sees it: keys with values, and the ends of transactions."""

from typing import NamedTuple

from odradek.protocol.declare import Message
from odradek.records.control import end_transaction_marker
from odradek.records.layout import NO_PRODUCER_EPOCH, NO_PRODUCER_ID


class LogRecord(NamedTuple):
    """A key and its value; no value deletes what the key names.

    With a producer id it is part of that producer's transaction, and counts once an `EndMarker` says so.
    """

    key: Message
    value: Message | None
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class EndMarker(NamedTuple):
    """The end of a producer's transaction in this partition: a control record."""

    producer_id: int
    producer_epoch: int
    is_commit: bool
    coordinator_epoch: int = 0

    def batch(self, now_ms: int) -> bytearray:
        """The control batch that it is in the log: a batch of its own."""
        marker = end_transaction_marker(
            self.is_commit,
            self.coordinator_epoch,
            now_ms,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
        )
        return bytearray(marker)


# What a decision is made of: the record, and the version in which its value is written.
Versioned = tuple[LogRecord | EndMarker, int]
