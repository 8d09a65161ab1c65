"""The events of a replica, stepped through its core one at a time.

The effects of a step are done in order before the next event is taken. An effect that waits for the disk (the file
quorum-state, a truncation, an installed snapshot) holds up everything behind it. That is why nothing leaves this node
that depends on what is not durable yet (C2): a vote is an effect behind the `Persist` of that vote. And it is why the
core never sees a log in the middle of a change: no event is stepped while one is under way.

The core's deadline is a timer here, set anew after every step; none runs while an effect waits, as its end sets it.
"""

from collections import deque
from collections.abc import Callable, Coroutine
from typing import NamedTuple

from odradek.broken_rule import BrokenRuleError
from odradek.protocol import errors
from odradek.raft.core import events
from odradek.raft.core.effects import Effect
from odradek.raft.core.events import Event
from odradek.raft.core.following import QuorumViolation
from odradek.raft.driver.conditions import Conditions
from odradek.raft.driver.replica import Replica
from odradek.reactor.timers import Timer

Work = Coroutine[object, None, None]  # what it sends to the loop that runs it is the loop's business


class WorkInTurn(NamedTuple):
    """Stands among the events, and holds up those behind it when its turn has come."""

    begin: Callable[[], Work]


class EventQueue:
    __slots__ = ("_conditions", "_effects", "_inbox", "_is_held_up", "_is_stepping", "_perform", "_replica", "_timer")

    def __init__(self, replica: Replica, conditions: Conditions) -> None:
        """`conditions` are looked at again after every step."""
        self._replica = replica
        self._conditions = conditions
        self._inbox: deque[Event | WorkInTurn] = deque()
        self._effects: deque[Effect] = deque()
        self._perform: Callable[[Effect], None] = _no_effect_yet
        self._is_stepping = False
        self._is_held_up = False
        self._timer: Timer | None = None

    def start(self, perform: Callable[[Effect], None]) -> None:
        """The core's first step; `perform` does an effect."""
        self._perform = perform
        self._effects.extend(self._replica.core.start(self._replica.now_ms))
        self._step_all()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    @property
    def is_idle(self) -> bool:
        return not (self._is_held_up or self._effects or self._inbox)

    # What comes in.

    def happened(self, event: Event) -> None:
        if self._replica.is_running:
            self._inbox.append(event)
            self._step_all()

    def happens_next(self, event: Event) -> None:
        """Before all that waits: the end of an effect that holds the others up just now."""
        self._inbox.appendleft(event)

    def do_in_turn(self, begin: Callable[[], Work]) -> None:
        """Work that is begun when everything before it has been done, and holds up everything behind it."""
        self._inbox.append(WorkInTurn(begin))
        self._step_all()

    def hold_up(self, work: Work) -> None:
        """Nothing else happens here until it is done."""
        self._is_held_up = True
        self._replica.loop.spawn(self._done(work))

    async def _done(self, work: Work) -> None:
        try:
            await work
        except errors.KafkaStorageError as error:
            self._replica.fail(error)
        finally:
            self._is_held_up = False
        self._step_all()

    # Stepping.

    def _step_all(self) -> None:
        if self._is_stepping:
            return
        self._is_stepping = True
        try:
            while self._replica.is_running and not self._is_held_up and (self._effects or self._inbox):
                self._step()
        except (QuorumViolation, errors.KafkaStorageError) as error:
            self._replica.fail(error)
        finally:
            self._is_stepping = False
        self._set_timer()
        self._conditions.look_again()

    def _step(self) -> None:
        if self._effects:
            self._perform(self._effects.popleft())
            return
        event = self._inbox.popleft()
        if isinstance(event, WorkInTurn):
            self.hold_up(event.begin())
        else:
            self._effects.extend(self._replica.core.step(event, self._replica.now_ms))

    def _set_timer(self) -> None:
        replica = self._replica
        deadline_ms = replica.core.next_deadline_ms() if replica.is_running and not self._is_held_up else None
        if self._timer is not None and self._timer.is_live:
            if self._timer.deadline_ms == deadline_ms:
                return
            self._timer.cancel()
        self._timer = None
        if deadline_ms is not None:
            delay_ms = max(0, deadline_ms - replica.now_ms)
            self._timer = replica.loop.after(delay_ms, lambda: self.happened(events.TimePassed()))


def _no_effect_yet(effect: Effect) -> None:
    raise BrokenRuleError(f"before its start a replica does nothing: {effect!r}")
