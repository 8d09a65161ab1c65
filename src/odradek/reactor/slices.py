"""Long work on the reactor's thread, cut into slices, so that nobody else has to wait for all of it.

    slices = Slices(loop)
    for each in very_many:
        ...
        await slices.pause_if_over()    # or, where an await costs too much: if slices.is_over: await slices.pause()

Whatever such work reads must not change under it between two slices, or it must be able to bear that.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.reactor.loop import Loop

SLICE_MS = 5


class Slices:
    __slots__ = ("_clock", "_loop", "_slice_ms", "_until_ms")

    def __init__(self, loop: "Loop", slice_ms: int = SLICE_MS) -> None:
        self._loop = loop
        self._clock = loop.ports.clock
        self._slice_ms = slice_ms
        self._until_ms = self._clock.mono_ms() + slice_ms

    @property
    def is_over(self) -> bool:
        return self._clock.mono_ms() >= self._until_ms

    async def pause(self) -> None:
        """Goes on when everything that is ready now has had its turn."""
        await self._loop.sleep(0)
        self.restart()

    async def pause_if_over(self) -> None:
        """Pauses if this slice has taken long enough."""
        if self.is_over:
            await self.pause()

    def restart(self) -> None:
        """After a wait for something else."""
        self._until_ms = self._clock.mono_ms() + self._slice_ms
