"""An event at work: the records it will append, and the group as it will be once they are.

The group itself is not touched: the first record makes a copy, and every record is replayed into that. So each step of
a decision sees what the steps before have decided, and an append that fails has changed nothing.
"""

from collections.abc import Iterable
from typing import Generic, Protocol, Self, TypeVar

from odradek.protocol.declare import Message
from odradek.replicated.log_record import LogRecord, Versioned

_VERSION = 0  # the one version of all values

Record = tuple[Message, Message | None]


class PlannedGroup(Protocol):
    def copy(self) -> Self: ...
    def replay(self, key: Message, value: Message | None) -> object: ...


G = TypeVar("G", bound=PlannedGroup)


class Plan(Generic[G]):
    __slots__ = ("_is_copy", "group", "is_new", "records")

    def __init__(self, group: G, *, is_new: bool = False) -> None:
        """A new group belongs to the plan alone."""
        self.group = group
        self.is_new = is_new
        self.records: list[Versioned] = []
        self._is_copy = is_new

    def write(self, record: Record) -> None:
        if not self._is_copy:
            self.group = self.group.copy()
            self._is_copy = True
        key, value = record
        self.records.append((LogRecord(key, value), _VERSION))
        self.group.replay(key, value)

    def write_all(self, records: Iterable[Record]) -> None:
        for record in records:
            self.write(record)


def appended(records: Iterable[Record]) -> list[Versioned]:
    """Records that need no plan."""
    return [(LogRecord(key, value), _VERSION) for key, value in records]
