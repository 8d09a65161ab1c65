"""An event at work: the records it will append, and the group as it will be once they are (as `consumer/plan.py`)."""

from collections.abc import Iterable

from odradek.coordinator.group.share.group import ShareGroup
from odradek.coordinator.group.share.records import Record
from odradek.replicated.log_record import LogRecord, Versioned

_VERSION = 0  # the one version of all values


class Plan:
    __slots__ = ("_is_copy", "group", "records")

    def __init__(self, group: ShareGroup, *, is_new: bool = False) -> None:
        """A new group belongs to the plan alone."""
        self.group = group
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
