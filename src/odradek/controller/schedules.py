"""What an active controller does by itself, from time to time."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from odradek.controller.config import ControllerConfig
from odradek.controller.core import ControllerCore
from odradek.protocol.errors import KafkaError
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.timers import Timer
from odradek.replicated.decision import Decision

R = TypeVar("R")


class ScheduledController(Protocol):
    """What the schedules need of a QuorumController."""

    @property
    def is_active(self) -> bool: ...
    @property
    def is_busy(self) -> bool: ...
    @property
    def core(self) -> ControllerCore: ...
    @property
    def log_end_offset(self) -> int: ...
    def run(self, event: Callable[[ControllerCore], Decision[R]]) -> Pending[R]: ...


class Schedules:
    """No-op records, session expiry, rebalancing of leaders, unclean elections."""

    __slots__ = ("_config", "_controller", "_last_end_offset", "_loop", "_sessions_timer", "_timers")

    def __init__(self, loop: Loop, controller: ScheduledController, config: ControllerConfig) -> None:
        self._loop = loop
        self._controller = controller
        self._config = config
        self._timers: dict[str, Timer] = {}
        self._sessions_timer: Timer | None = None
        self._last_end_offset = -1

    def start(self) -> None:
        self.stop()
        config = self._config
        if config.idle_interval_ms > 0:
            self._every("no-op", config.idle_interval_ms, self._write_no_op)
        if config.is_rebalanced:
            self._every("balance", config.imbalance_check_interval_s * 1000, self._balance)
        self._every("unclean", config.unclean_election_interval_ms, self._elect_uncleanly)
        self.watch_sessions()

    def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        if self._sessions_timer is not None:
            self._sessions_timer.cancel()
            self._sessions_timer = None

    def watch_sessions(self) -> None:
        """Sessions only grow longer: a timer that is set is early enough."""
        if self._sessions_timer is not None or not self._controller.is_active:
            return
        deadline_ms = self._controller.core.sessions.next_deadline_ms()
        if deadline_ms is not None:
            delay_ms = max(0, deadline_ms - self._loop.ports.clock.mono_ms())
            self._sessions_timer = self._loop.after(delay_ms, lambda: self._expire_sessions(deadline_ms))

    def _every(self, name: str, interval_ms: int, action: Callable[[], None]) -> None:
        def due() -> None:
            action()
            if name in self._timers:  # else it was stopped meanwhile
                self._timers[name] = self._loop.after(interval_ms, due)

        self._timers[name] = self._loop.after(interval_ms, due)

    def _expire_sessions(self, now_ms: int) -> None:
        """Expires sessions as of the time for which the timer was set: what came in until then has been read."""
        self._sessions_timer = None
        sessions = self._controller.core.sessions
        # While a long decision is under way nothing is decided: the sessions are looked at again in the next turn.
        while self._controller.is_active and not self._controller.is_busy and sessions.expired(now_ms) is not None:
            self._run(lambda core: core.expire(now_ms))
        self.watch_sessions()

    def _write_no_op(self) -> None:
        """Only when nothing else was written: it keeps the high watermark, and so the lag, in motion."""
        end_offset = self._controller.log_end_offset
        if end_offset == self._last_end_offset:
            self._run(lambda core: core.no_op())
        self._last_end_offset = self._controller.log_end_offset

    def _balance(self) -> None:
        if self._controller.core.topics.not_preferred:
            self._run(lambda core: core.balance())

    def _elect_uncleanly(self) -> None:
        if self._controller.core.topics.leaderless:
            self._run(lambda core: core.elect_uncleanly())

    def _run(self, event: Callable[[ControllerCore], Decision[R]]) -> None:
        self._controller.run(event).when_done(_swallow_refusal)


def _swallow_refusal(done: Pending[R]) -> None:
    """Leadership may go while this waits; the next leader does it all again. Anything else is a bug, and is told."""
    if done.error is not None and not isinstance(done.error, KafkaError):
        raise done.error
