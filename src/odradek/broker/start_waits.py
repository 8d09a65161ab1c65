"""Says what a start waits for, if it takes longer than somebody who watches it would think is right.

    with waits.on(lambda: "the controller to register this broker"):
        await self.lifecycle.initial_catch_up

After two seconds, and then every half minute, a line goes to the server log and to whoever started the node: a wait
without a word looks like a broker that hangs.
"""

from collections.abc import Callable

from odradek.broker.server_log import Logger
from odradek.reactor.loop import Loop
from odradek.reactor.timers import Timer

FIRST_MS, AGAIN_MS = 2_000, 30_000

What = Callable[[], str]


class StartWaits:
    """Says what a start that takes long is waiting for: in the server log, and to `tell`."""

    __slots__ = ("_log", "_loop", "_tell")

    def __init__(self, loop: Loop, log: Logger, tell: Callable[[str], None]) -> None:
        self._loop = loop
        self._log = log
        self._tell = tell

    def on(self, what: What) -> "StartWait":
        """A context manager for one wait; `what` is asked when the line is due, so it can tell how far that is."""
        return StartWait(self._loop, what, self._say)

    def _say(self, line: str) -> None:
        self._log.warn(line)
        self._tell(line)


class StartWait:
    __slots__ = ("_loop", "_say", "_timer", "_what")

    def __init__(self, loop: Loop, what: What, say: Callable[[str], None]) -> None:
        self._loop = loop
        self._what = what
        self._say = say
        self._timer: Timer | None = None

    def __enter__(self) -> None:
        self._timer = self._loop.after(FIRST_MS, self._due)

    def _due(self) -> None:
        self._timer = self._loop.after(AGAIN_MS, self._due)
        self._say(f"still starting: waiting for {self._what()}")

    def __exit__(self, *error: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
