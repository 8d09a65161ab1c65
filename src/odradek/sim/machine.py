"""What the ports of a simulated node know of it: its name and address, its time, and how to get its attention."""

from collections.abc import Callable
from typing import Protocol

from odradek.sim.timeline import Event, Timeline


class Machine(Protocol):
    name: str
    address: str
    world: Timeline

    def after(self, delay_us: int, callback: Callable[[], object]) -> Event:
        """Something that this incarnation of the node will do."""
        ...

    def attend(self) -> None:
        """There is something for the loop to do."""
        ...

    def take_busy_us(self) -> int:
        """The time that disk calls have taken since the last time somebody asked."""
        ...
