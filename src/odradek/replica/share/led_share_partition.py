"""A share-partition as this broker leads it: its state read from the share coordinator, its changes written there.

    LOADING ----> ACTIVE ----> ENDED
       |                         ^     another leader, a state that was set up anew, nobody reads it any more
       +-------------------------+     the state cannot be read: whoever waits is told why

Changes go out one write at a time; what happens meanwhile is gathered for the next one. Whoever acknowledged is
answered when its write is. A lock that is over is written too, and whoever waits for records is woken.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from odradek.broken_rule import present
from odradek.config.validators import duration_ms
from odradek.protocol import errors
from odradek.reactor.pending import Pending
from odradek.reactor.timers import Timer
from odradek.replica.offsets import OffsetQuery, list_offset
from odradek.replica.partition import Partition
from odradek.replica.share.config import BY_DURATION, EARLIEST, ShareGroupConfig
from odradek.replica.share.partition import SharePartition, Transition
from odradek.replica.share.persisted import UNINITIALIZED_OFFSET, PersistedState, Persister, SharePartitionKey

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager

LOADING, ACTIVE, ENDED = "loading", "active", "ended"
RETRY_MS = 1000  # after the end of a lock could not be written

_FENCED = (errors.FencedLeaderEpoch, errors.FencedStateEpoch, errors.UnknownTopicOrPartition, errors.InvalidRequest)


class Waiter(Protocol):
    def look(self) -> None:
        """There is a share-partition more: what it has does not wait for the others."""
        ...

    def marked(self, led: "LedSharePartition") -> None: ...


class _Waiting(NamedTuple):
    transition: Transition
    written: Pending[None]


class LedSharePartition:
    __slots__ = (
        "_config",
        "_ends_when_idle",
        "_is_writing",
        "_loop",
        "_on_end",
        "_persister",
        "_queue",
        "_replicas",
        "_timer",
        "_timer_ms",
        "_waiters",
        "core",
        "failure",
        "key",
        "leader_epoch",
        "loaded",
        "partition",
        "state",
    )

    def __init__(
        self,
        replicas: "ReplicaManager",
        persister: Persister,
        partition: Partition,
        key: SharePartitionKey,
        config: Callable[[], ShareGroupConfig],
        on_end: "Callable[[LedSharePartition], None]",
    ) -> None:
        self._replicas = replicas
        self._loop = replicas.loop
        self._persister = persister
        self._config = config
        self._on_end = on_end
        self._queue: list[_Waiting] = []
        self._is_writing = False
        self._ends_when_idle = False
        self._waiters: dict[Waiter, None] = {}
        self._timer: Timer | None = None
        self._timer_ms = 0
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.key = key
        self.state = LOADING
        self.failure: errors.KafkaError | None = None  # why it ended, if it was not a matter of course
        self.core: SharePartition | None = None
        self.loaded: Pending[None] = self._loop.pending()
        self.loaded.is_observed = True

    def __repr__(self) -> str:
        return f"LedSharePartition({self.key.group_id}, {self.partition.name}@{self.leader_epoch}, {self.state})"

    @property
    def config(self) -> ShareGroupConfig:
        return self._config()

    @property
    def is_active(self) -> bool:
        return self.state is ACTIVE

    @property
    def loaded_core(self) -> SharePartition:
        return present(self.core, "a share-partition that is read or acknowledged was loaded before")

    # Life

    def start(self) -> None:
        self.partition.add_waiter(self)
        self._loop.spawn(self._load())

    async def _load(self) -> None:
        try:
            persisted = await self._persister.read(self.key, self.leader_epoch)
            start_offset = persisted.start_offset
            if start_offset == UNINITIALIZED_OFFSET:
                start_offset = await self._first_offset()
        except errors.KafkaError as error:
            self.end(_told(error))
            return
        if self.state is not LOADING:
            return
        self.core = SharePartition(persisted, start_offset, self.config.delivery_limit)
        self.state = ACTIVE
        self.loaded.resolve(None)
        for waiter in list(self._waiters):
            waiter.look()

    async def _first_offset(self) -> int:
        """Where the group begins in a partition that is new to it."""
        config = self.config
        log = self.partition.leader_log()
        reset = config.offset_reset
        if reset == EARLIEST:
            return log.log_start_offset
        if reset.startswith(BY_DURATION):
            ago_ms = duration_ms(reset.removeprefix(BY_DURATION)) or 0
            query = OffsetQuery(max(0, self._loop.ports.clock.wall_ms() - ago_ms))
            found = await list_offset(self._replicas, self.partition, query)
            if found.offset >= 0:
                return found.offset
        return log.last_stable_offset if config.reads_committed else log.high_watermark

    def end(self, error: errors.KafkaError | None = None) -> None:
        """Refuses who waits: from now on another keeps the state, or nobody does."""
        if self.state is ENDED:
            return
        self.state = ENDED
        self.failure = error
        self.partition.remove_waiter(self)
        if self._timer is not None:
            self._timer.cancel()
        reason = error or errors.NotLeaderOrFollower()
        self.loaded.fail(reason)
        queue, self._queue = self._queue, []
        for waiting in queue:
            waiting.written.fail(reason)
        self._on_end(self)
        self._wake()

    def end_when_idle(self) -> None:
        """Ends once everything is written, unless somebody comes meanwhile."""
        self._ends_when_idle = True
        self._end_if_idle()

    def _end_if_idle(self) -> None:
        if self._ends_when_idle and not self._is_writing and not self._waiters:
            self.end()

    def check(self) -> bool:
        """The partition says that something has changed: for Partition.wake. True if it need not tell us again."""
        partition = self.partition
        if self.state is ENDED:
            return True
        if partition.leader is None or partition.leader_epoch != self.leader_epoch:
            self._loop.soon(lambda _: self.end())
            return False
        self._wake()
        return False

    # Who waits for records

    def add_waiter(self, waiter: Waiter) -> None:
        self._ends_when_idle = False
        self._waiters[waiter] = None

    def remove_waiter(self, waiter: Waiter) -> None:
        self._waiters.pop(waiter, None)

    def _wake(self) -> None:
        for waiter in list(self._waiters):
            waiter.marked(self)

    # Changes

    def change(self, transition: Transition) -> Pending[None]:
        """Done when it is written; its error is why it is not, and then it has not happened."""
        written: Pending[None] = self._loop.pending()
        if not transition.runs:
            written.resolve(None)
            return written
        self._queue.append(_Waiting(transition, written))
        if not self._is_writing:
            self._is_writing = True
            self._loop.spawn(self._write_all())
        return written

    async def _write_all(self) -> None:
        while self._queue and self.core is not None:
            batch, self._queue = self._queue, []
            error = await self._write([waiting.transition for waiting in batch])
            for waiting in batch:
                if error is None:
                    self.core.commit(waiting.transition)
                    waiting.written.resolve(None)
                else:
                    self.core.rollback(waiting.transition)
                    waiting.written.is_observed = True
                    waiting.written.fail(error)
            self.arm()
            self._wake()
        self._is_writing = False
        self._end_if_idle()

    async def _write(self, transitions: list[Transition]) -> errors.KafkaError | None:
        core = self.loaded_core
        batches = sorted(batch for transition in transitions for batch in transition.batches)
        state = PersistedState(core.state_epoch, core.start_offset, tuple(batches))
        try:
            await self._persister.write(self.key, self.leader_epoch, state, core.delivery_complete_count)
        except _FENCED as error:
            self.end(_told(error))
            return _told(error)
        except errors.KafkaError as error:
            return _told(error)
        return None

    def give_back(self, member_id: str) -> None:
        """The member is gone."""
        if self.core is not None and self.state is ACTIVE:
            self.change(self.core.release(member_id)).is_observed = True

    # Locks

    def arm(self, not_before_ms: int = 0) -> None:
        """Looks when the next lock ends; after every acquisition and every change."""
        if self.core is None or self.state is not ACTIVE:
            return
        at_ms = self.core.next_expiry_ms()
        if at_ms is None:
            return
        at_ms = max(at_ms, not_before_ms)
        if self._timer is not None:
            if self._timer_ms <= at_ms:
                return  # it will look again by itself
            self._timer.cancel()
        self._timer_ms = at_ms
        self._timer = self._loop.after(max(0, at_ms - self._replicas.mono_ms()), self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self.core is None or self.state is not ACTIVE:
            return
        now_ms = self._replicas.mono_ms()
        changed = self.change(self.core.expire(now_ms))
        changed.when_done(lambda done: self.arm(0 if done.error is None else self._replicas.mono_ms() + RETRY_MS))


def _told(error: errors.KafkaError) -> errors.KafkaError:
    """What a consumer hears of an error of the share coordinator."""
    if isinstance(error, errors.FencedLeaderEpoch | errors.FencedStateEpoch):
        return errors.NotLeaderOrFollower(error.message)
    if isinstance(error, errors.CoordinatorNotAvailable | errors.CoordinatorLoadInProgress | errors.NotCoordinator):
        return errors.CoordinatorNotAvailable(error.message)
    if isinstance(error, errors.InvalidRequest | errors.UnknownTopicOrPartition):
        return errors.UnknownTopicOrPartition(error.message)
    return error
