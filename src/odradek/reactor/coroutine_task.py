"""A coroutine that the loop runs: it awaits Pendings and is itself one."""

from collections.abc import Callable, Coroutine

from odradek.broken_rule import BrokenRuleError
from odradek.reactor.pending import Completions, Pending, T
from odradek.reactor.ports import Cancelled


class Task(Pending[T]):
    """A coroutine may await Pendings of any kind, and Python says of none what it yields: it is an object until seen.

    Runs up to its first wait right where it is made: a handler that need not wait costs no trip through a queue."""

    __slots__ = ("_awaited", "_coroutine")

    def __init__(
        self,
        completions: Completions,
        coroutine: Coroutine[object, None, T],
        when_unseen: "Callable[[Task[T]], None]",
    ) -> None:
        super().__init__(completions)
        self._coroutine = coroutine
        self._awaited: Pending[object] | None = None
        self._add(lambda _: self._tell_if_unseen(when_unseen))
        self._advance(None)

    def cancel(self) -> bool:
        """Raises `Cancelled` in the coroutine where it waits, by way of the queue; it may clean up, even wait again."""
        if self.is_done or self._awaited is None:
            return False
        self._awaited = None
        self._completions.append((self._advance, Cancelled()))
        return True

    def _resume(self, awaited: Pending[object]) -> None:
        if awaited is self._awaited:  # else it was cancelled meanwhile
            self._awaited = None
            self._advance(None)

    def _advance(self, thrown: Cancelled | None) -> None:
        try:
            awaited = self._coroutine.throw(thrown) if thrown is not None else self._coroutine.send(None)
        except StopIteration as end:
            self.resolve(end.value)
        except Exception as error:  # noqa: BLE001 - it belongs to whoever awaits this task
            self.fail(error)
        else:
            if not isinstance(awaited, Pending):
                raise BrokenRuleError(f"a task can only await a Pending, not {awaited!r}")
            self._awaited = awaited
            awaited.when_done(self._resume)

    def _tell_if_unseen(self, when_unseen: "Callable[[Task[T]], None]") -> None:
        if self.error is not None and not self.is_observed and not isinstance(self.error, Cancelled):
            when_unseen(self)

    def __repr__(self) -> str:
        return f"Task({self.name})"

    @property
    def name(self) -> str:
        """That of the function whose call it runs."""
        return str(getattr(self._coroutine, "__qualname__", self._coroutine))
