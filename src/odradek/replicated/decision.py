"""What a core answers an event with: the records to append, and the response once they are committed."""

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

R = TypeVar("R")


class Decision(Generic[R]):
    """Nothing has changed when a core returns this: `replay` of the appended records is what changes it.

    Atomic records go into one batch, so that a reader of the log sees all of them or none. The others may be cut
    into several batches, between any two records.

    Who may have thousands of records to make hands out an iterator: the runtime takes them a few at a time, and the
    response may still change until the last of them is taken. A None in it is no record, but as much work as one.
    """

    __slots__ = ("is_atomic", "records", "response")

    # Records are what the log takes that the core decides for; see `runtime.Record`.
    def __init__(self, records: Iterable[object], response: R, *, is_atomic: bool = True) -> None:
        self.records = records
        self.response = response
        self.is_atomic = is_atomic

    def __repr__(self) -> str:
        count = len(self.records) if isinstance(self.records, Sequence) else "some"
        return f"Decision({count} records, {self.response!r})"


def answer(response: R) -> Decision[R]:
    """A decision that changes nothing: a read, or a refusal."""
    return Decision((), response)
