"""Long answers in slices: whoever makes one lets the others in every few milliseconds.

The image that such an answer is made from never changes, so it is of one piece all the same.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.reactor.loop import Loop

SLICE_MS = 4


class Slices:
    __slots__ = ("_clock", "_loop", "_until_ms")

    def __init__(self, loop: "Loop") -> None:
        self._loop = loop
        self._clock = loop.ports.clock
        self._until_ms = self._clock.mono_ms() + SLICE_MS

    @property
    def is_over(self) -> bool:
        return self._clock.mono_ms() >= self._until_ms

    async def pause(self) -> None:
        """Goes on when everything that is ready now has had its turn."""
        await self._loop.sleep(0)
        self._until_ms = self._clock.mono_ms() + SLICE_MS
