"""A metadata transaction (KIP-868): its records count all together when it ends, and never if it is aborted."""

from collections.abc import Sequence

from odradek.metadata.replay_error import ReplayError
from odradek.protocol.declare import Message
from odradek.protocol.messages.metadata_cluster import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)

TRANSACTION_RECORDS = frozenset({BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord})


class MetadataTransaction:
    """What is held back of the log that is being read. Hand in every record while `is_open`, and those that are
    TRANSACTION_RECORDS at any time: the others count as soon as they are read, and need not pass here."""

    __slots__ = ("_held", "is_open")

    def __init__(self) -> None:
        self._held: list[Message] = []
        self.is_open = False

    def take(self, record: Message, offset: int) -> Sequence[Message]:
        """The records that count now: none, or all that were held. ReplayError for an end that has no beginning."""
        if isinstance(record, BeginTransactionRecord):
            if self.is_open:
                raise ReplayError(f"offset {offset}: a metadata transaction begins inside another one")
            self.is_open = True
            return ()
        if not self.is_open:
            raise ReplayError(f"offset {offset}: {type(record).__name__} outside of a metadata transaction")
        if type(record) not in TRANSACTION_RECORDS:
            self._held.append(record)
            return ()
        held, self._held = self._held, []
        self.is_open = False
        return held if isinstance(record, EndTransactionRecord) else ()
