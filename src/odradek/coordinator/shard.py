"""A shard: the core of one partition of an internal topic, while this broker leads it in one epoch.

                 elected              loaded                  resigned
    (no shard) ----------> LOADING -----------> ACTIVE --------------------> ENDED
                              |                    |
                              +------> FAILED <----+   a record that cannot be read or replayed

The leader of a partition loads all of it, in slices that leave the reactor its turns, and then runs events: the runtime
appends what the core decides and holds every answer back until it is committed. The shard is a waiter of the partition
(`check`): when its high watermark moves, answers are let go; a lost leadership ends the shard, and whoever waits is
told NOT_COORDINATOR.

Answers that wait for another event (a join for the other members) are tickets. The core keeps them and gives them back
in an `Answer`; a shard that ends refuses all that are still out.

Timers: only a timer expires what is due, and only what was due at the time it was set for. A loop that was late has
then served all input that came before, so that our own stall expires nobody's session.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from odradek.broken_rule import BrokenRuleError, present
from odradek.coordinator.core import Answer, Effect, ShardCore, Ticket
from odradek.coordinator.now import Now
from odradek.protocol import errors
from odradek.protocol.frames import CoordinatorRecords
from odradek.reactor.coroutine_task import Task
from odradek.reactor.pending import Pending
from odradek.reactor.slices import Slices
from odradek.reactor.timers import Timer
from odradek.replica.manager import ReplicaManager
from odradek.replica.partition import Partition
from odradek.replicated.decision import Decision
from odradek.replicated.partition_log import PartitionLog
from odradek.replicated.record_decoder import RecordDecoder
from odradek.replicated.runtime import RECORDS_PER_LOOK, Record, Runtime

RETRY_MS = 1000  # after an append failed that nobody waits for

LOADING, ACTIVE, FAILED, ENDED = "loading", "active", "failed", "ended"

C = TypeVar("C", bound=ShardCore)
R = TypeVar("R")

PendingTicket = Pending[Any]  # for the response of whichever API it is that waits

OnLoaded = Callable[[int, int | None], None]  # after so many milliseconds, with so many records; None in vain
Tell = Callable[[str, BaseException | None], None]  # a line for the server log, an error if there is one


def quiet(message: str, error: BaseException | None) -> None:
    """Without a server log there is nobody to tell."""


class Shard(Generic[C]):
    """One partition's core while this broker leads it in one epoch."""

    __slots__ = (
        "_fires_ms",
        "_loading",
        "_log",
        "_loop",
        "_on_loaded",
        "_perform",
        "_tell",
        "_tickets",
        "_timer",
        "epoch",
        "index",
        "partition",
        "runtime",
        "state",
    )

    def __init__(
        self,
        replicas: ReplicaManager,
        partition: Partition,
        codec: CoordinatorRecords,
        make_core: Callable[[int], C],
        *,
        compression: int = 0,
        decoder: type[RecordDecoder] = RecordDecoder,
        perform: "Callable[[Shard[C], Effect], None] | None" = None,
        tell: Tell = quiet,
        on_loaded: OnLoaded = lambda took_ms, records: None,
    ) -> None:
        """`perform` is told of every committed effect that is no `Answer`; `on_loaded` how its loading has ended."""
        self._loop = replicas.loop
        self._log = PartitionLog(partition, replicas.logs, codec, compression=compression, decoder=decoder)
        self._perform = perform
        self._tell = tell
        self._on_loaded = on_loaded
        self._tickets: set[Ticket] = set()
        self._timer: Timer | None = None
        self._fires_ms = 0
        self._loading: Task[None] | None = None
        self.partition = partition
        self.index = partition.index
        self.epoch = partition.leader_epoch
        self.state = LOADING
        self.runtime: Runtime[C] = Runtime(
            replicas.loop,
            self._log,
            lambda: make_core(partition.index),
            refusal=self._refusal,
            on_fault=self._faulty,
        )

    def __repr__(self) -> str:
        return f"Shard({self.partition.name}@{self.epoch}, {self.state})"

    @property
    def core(self) -> C:
        """For looking at, uncommitted records included."""
        return self.runtime.core

    @property
    def is_active(self) -> bool:
        return self.state is ACTIVE

    def now(self) -> Now:
        clock = self._loop.ports.clock
        return Now(clock.mono_ms(), clock.wall_ms())

    # Life

    def start(self) -> None:
        self.partition.add_waiter(self)
        self.runtime.attach()
        self._loading = self._loop.spawn(self._load())

    def end(self) -> None:
        """The leadership is lost, or the broker stops."""
        if self.state is ENDED:
            return
        self.state = ENDED
        self.runtime.release()
        self._let_go()

    def _let_go(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        tickets, self._tickets = self._tickets, set()
        for ticket in tickets:
            ticket.fail(self._refusal())

    def check(self) -> bool:
        """The partition says that something has changed: for Partition.wake. True if it need not tell us again."""
        partition = self.partition
        if self.state is ENDED or self.state is FAILED:
            return True
        leader = partition.leader
        if leader is None or leader.epoch != self.epoch:
            self.end()
            return True
        if self.state is ACTIVE:
            self.runtime.commit(leader.log.high_watermark - 1)
        return False

    def _refusal(self) -> errors.KafkaError:
        return errors.CoordinatorLoadInProgress() if self.state is LOADING else errors.NotCoordinator()

    def _faulty(self, error: BaseException) -> None:
        if self.state is not ENDED:
            self.state = FAILED
        self._let_go()
        self._tell(f"The coordinator of {self.partition.name} has stopped: its state cannot be read.", error)

    # Loading

    async def _load(self) -> None:
        began_ms = self._loop.ports.clock.mono_ms()
        count = await self._take_up()
        self._on_loaded(self._loop.ports.clock.mono_ms() - began_ms, count)

    async def _take_up(self) -> int | None:
        """How many records made the state that it begins with; None if it does not begin."""
        try:
            count, end_offset = await self._replay_log()
        except errors.KafkaError as error:
            if self.state is LOADING:
                self._faulty(error)
            return None
        except (errors.PeerProtocolError, LookupError, ValueError, BrokenRuleError) as error:
            self._faulty(error)
            return None
        log = self.partition.log
        if self.state is not LOADING or log is None:
            return None
        self.runtime.loaded(end_offset - 1, min(log.high_watermark, end_offset) - 1)
        self.runtime.activate(self.epoch)
        self.state = ACTIVE
        self.core.loaded(self.now())
        self._go_on()
        return count

    async def _replay_log(self) -> tuple[int, int]:
        """How many records there were, and the end of the log when it was led from on: nobody else appends to it."""
        log = self.partition.log
        log = present(log, "a partition without a log is not led")
        offset, end_offset, count = log.log_start_offset, log.log_end_offset, 0
        decoder = self._log.decoder()
        while self.state is LOADING:
            chunk = await self._log.read(offset, end_offset, decoder)
            if chunk is None:
                break
            placed, offset = chunk
            await self._replay(placed)
            count += len(placed)
        return count, end_offset

    async def _replay(self, placed: "list[tuple[Record, int]]") -> None:
        slices, replay = Slices(self._loop), self.core.replay
        for start in range(0, len(placed), RECORDS_PER_LOOK):
            for record, offset in placed[start : start + RECORDS_PER_LOOK]:
                replay(record, offset)
            if slices.is_over:
                await slices.pause()
                if self.state is not LOADING:
                    return

    # Events

    def run(self, event: Callable[[C], Decision[R]], now: Now | None = None) -> Pending[R]:
        """Lets the core decide; done when the answer may be given. `now` is for who has read the clocks already."""
        pending = self._run(event)
        if self.state is ACTIVE:
            self._go_on(now)
        return pending

    def run_with_ticket(self, event: Callable[[C, Ticket], Decision[None]]) -> PendingTicket:
        """Runs an event whose answer may depend on later ones: the core is handed a ticket for it."""
        ticket: PendingTicket = self._loop.pending()
        self._tickets.add(ticket)
        running = self._run(lambda core: event(core, ticket))
        if running.is_done:
            self._refuse_if_failed(running, ticket)
        else:
            running.when_done(lambda done: self._refuse_if_failed(done, ticket))
        if self.state is ACTIVE:
            self._go_on()
        return ticket

    def _refuse_if_failed(self, done: Pending[None], ticket: Ticket) -> None:
        """An event that has failed answers its ticket with the error. Else an `Answer` does, now or in a later one."""
        done.is_observed = True
        if done.error is not None:
            self._tickets.discard(ticket)
            ticket.fail(done.error)

    def _run(self, event: Callable[[C], Decision[R]]) -> Pending[R]:
        effects: Sequence[Effect] = ()

        def decide(core: C) -> Decision[R]:
            nonlocal effects
            decision = event(core)
            effects = getattr(decision, "effects", ())
            return decision

        pending = self.runtime.run(decide)
        if effects:
            if pending.is_done:
                self._committed(pending, effects)
            else:
                pending.when_done(lambda done: self._committed(done, effects))
        return pending

    def _committed(self, done: Pending[R], effects: Sequence[Effect]) -> None:
        done.is_observed = True
        if done.error is not None:
            return  # the shard has ended: who waits has been refused
        for effect in effects:
            if type(effect) is Answer:
                self._tickets.discard(effect.ticket)
                effect.ticket.resolve(effect.response)
            elif self._perform is not None:
                self._perform(self, effect)

    def _go_on(self, now: Now | None = None) -> None:
        """What the last event has made possible, and when to look again."""
        if now is None:
            now = self.now()
        self._all_of(lambda core: core.follow_up(now))
        self._arm()

    def _all_of(self, next_decision: Callable[[C], Decision[None] | None]) -> bool:
        """Runs decisions until there is none; False if one could not be appended."""
        while self.state is ACTIVE:
            decision = next_decision(self.core)
            if decision is None:
                return True
            running = self._run(lambda core, decided=decision: decided)  # type: ignore[misc]
            running.is_observed = True
            if running.is_done and running.error is not None:
                return False
        return False

    # Timers

    def _arm(self, not_before_ms: int = 0) -> None:
        if self.state is not ACTIVE:
            return
        deadline_ms = self.core.next_deadline_ms()
        if deadline_ms is None:
            return
        deadline_ms = max(deadline_ms, not_before_ms)
        if self._timer is not None:
            if self._fires_ms <= deadline_ms:
                return  # it will look again by itself
            self._timer.cancel()
        self._fires_ms = deadline_ms
        delay_ms = max(0, deadline_ms - self._loop.ports.clock.mono_ms())
        self._timer = self._loop.after(delay_ms, self._fire)

    def _fire(self) -> None:
        self._timer = None
        if self.state is not ACTIVE:
            return
        now = Now(self._fires_ms, self._loop.ports.clock.wall_ms())
        is_done = self._all_of(lambda core: core.expire(now))
        is_done = self._all_of(lambda core: core.follow_up(now)) and is_done
        self._arm(0 if is_done else self._loop.ports.clock.mono_ms() + RETRY_MS)
