"""Conditions that somebody waits for: each is looked at again whenever something has happened to the replica."""

from collections.abc import Callable

from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending


class Conditions:
    __slots__ = ("_loop", "_waiting")

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._waiting: list[tuple[Callable[[], bool], Pending[None]]] = []

    async def until(self, condition: Callable[[], bool]) -> None:
        """Returns once it holds."""
        if not condition():
            pending: Pending[None] = self._loop.pending()
            self._waiting.append((condition, pending))
            await pending

    def look_again(self) -> None:
        """Something has happened."""
        due = [each for each in self._waiting if each[0]()]
        self._waiting = [each for each in self._waiting if each not in due]
        for _, pending in due:
            pending.resolve(None)
