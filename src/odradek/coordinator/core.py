"""What a coordinator's core is to the shard that runs it, and what it decides."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar

from odradek.coordinator.now import Now
from odradek.replicated.decision import Decision
from odradek.replicated.log_record import EndMarker, LogRecord, Versioned

R = TypeVar("R")


class Ticket(Protocol):
    """Who waits for an answer. A core never looks into a ticket, it only keeps it and names it in an `Answer`."""

    def resolve(self, value: object) -> object: ...
    def fail(self, error: BaseException) -> object: ...


class Answer(NamedTuple):
    """An effect: somebody who waits gets a response."""

    ticket: Ticket
    response: object


Effect = object  # an Answer, or what the owner of a core performs by the type that it has


class Decided(Decision[R]):
    """A decision with effects, which happen once everything that it has seen is committed."""

    __slots__ = ("effects",)

    def __init__(
        self,
        records: Sequence[Versioned] = (),
        response: R = None,  # type: ignore[assignment]  # an event that answers nobody
        *,
        effects: Sequence[Effect] = (),
        is_atomic: bool = True,
    ) -> None:
        super().__init__(records, response, is_atomic=is_atomic)
        self.effects = effects


class ShardCore:
    """The base of a core: what a shard asks of it besides its events.

    `replay` alone writes what the log holds. What the log does not hold (sessions, who waits for an answer) an event
    may change at once, if it appends nothing or if it is harmless should the append fail.
    """

    __slots__ = ()

    def replay(self, record: LogRecord | EndMarker, offset: int) -> None:
        raise NotImplementedError

    def loaded(self, now: Now) -> None:
        """The whole log has been replayed: events will follow."""

    def follow_up(self, now: Now) -> Decision[None] | None:
        """What the events so far have made possible; asked after every event until there is none."""
        return None

    def next_deadline_ms(self) -> int | None:
        """When to ask `expire` again, by the monotonic clock; None if nothing is waited for."""
        return None

    def expire(self, now: Now) -> Decision[None] | None:
        """What is due by then; asked until there is none."""
        return None
