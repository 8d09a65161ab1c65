"""The driver of a node of the quorum: it feeds the core with what happens and does what the core asks for.

Events queue up and are stepped one at a time; the effects of a step are done in order before the next one. An effect
that waits for the disk (the file quorum-state, a truncation, an installed snapshot) holds up everything behind it: so
nothing leaves this node that depends on what is not durable yet (C2), and the core never sees a log in the middle of a
change. Appends do not wait: their fsync is a group commit, one in flight, and its end is an event.

An error of the metadata log's disk, and a record that cannot be read, are the end: `on_fatal` is told once, and from
then on this node says nothing more.
"""

from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from odradek.log.failure import DiskFull
from odradek.protocol import errors
from odradek.protocol.declare import Message
from odradek.protocol.frames import METADATA
from odradek.raft import effects, events, performing, snapshotting
from odradek.raft.batches import values_batch
from odradek.raft.config import RaftConfig
from odradek.raft.core import RaftCore
from odradek.raft.delivery import Delivery
from odradek.raft.following import QuorumViolation
from odradek.raft.keys import NO_DIRECTORY, OffsetAndEpoch, ReplicaKey
from odradek.raft.listener import RaftListener
from odradek.raft.metadata_log import MetadataLog
from odradek.raft.performing import perform
from odradek.raft.roles import Leader, Resigned
from odradek.raft.voters import VoterSet
from odradek.reactor.jobs import JobQueue
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled
from odradek.reactor.timers import Timer

if TYPE_CHECKING:
    from odradek.raft.inbound import Inbound
    from odradek.raft.outbound import Outbound, Send

FULL_RETRY_MS = 1000
RESIGN_MS_MAX = 2000  # how long a stop waits for the others to hear of it


class RaftClient:
    __slots__ = (
        "_deliveries",
        "_effects",
        "_inbound",
        "_is_cleaning",
        "_is_flush_due",
        "_is_stepping",
        "_is_waiting",
        "_on_fatal",
        "_outbound",
        "_send",
        "_static_voters",
        "_timer",
        "_waiters",
        "cluster_id",
        "config",
        "core",
        "failure",
        "fetch_version",
        "has_pre_vote",
        "inbox",
        "is_running",
        "jobs",
        "log",
        "loop",
        "me",
    )

    core: RaftCore

    def __init__(
        self,
        loop: Loop,
        jobs: JobQueue,
        directory: str,
        node_id: int,
        directory_id: bytes | None,
        cluster_id: str | None,
        voters: VoterSet | None,
        config: RaftConfig,
        send: "Send | None" = None,
        metrics: Any = None,
        *,
        on_fatal: Callable[[BaseException], object] | None = None,
        has_pre_vote: bool = True,
        fetch_version: int = 18,
    ) -> None:
        """`directory` is the one called __cluster_metadata-0. `voters` come from the configs: the log's own go first.

        `has_pre_vote` and `fetch_version` are what the oldest release in the quorum understands.
        """
        self.loop = loop
        self.jobs = jobs
        self.me = ReplicaKey(node_id, directory_id or NO_DIRECTORY)
        self.cluster_id = cluster_id
        self.config = config
        self.has_pre_vote = has_pre_vote
        self.fetch_version = fetch_version
        self.log = MetadataLog(loop, jobs, directory, config)
        self.is_running = False
        self.failure: BaseException | None = None
        self._static_voters = voters
        self._send = send
        self._on_fatal = on_fatal
        self._inbound: Inbound | None = None
        self._outbound: Outbound | None = None
        self._deliveries: list[Delivery] = []
        self.inbox: deque[Any] = deque()  # events, and coroutine functions that hold up the events behind them
        self._effects: deque[effects.Effect] = deque()
        self._is_stepping = False
        self._is_waiting = False
        self._is_flush_due = False
        self._is_cleaning = False
        self._timer: Timer | None = None
        self._waiters: list[tuple[Callable[[], bool], Pending[None]]] = []
        if metrics is not None:
            from odradek.raft.metrics import register

            register(metrics, self)

    # Start and stop.

    async def start(self) -> None:
        """Returns with the log loaded; a sole voter leads by then, the first record of its epoch committed."""
        try:
            loaded = await self.log.load()
        except errors.KafkaStorageError as error:
            self.fail(error)
            raise
        voters = self._voters()
        if not voters:
            raise errors.InvalidRequest("There are no voters, neither in the configs nor in the metadata log.")
        latest = self.log.latest_snapshot_id
        self.core = RaftCore(
            self.me,
            voters,
            self.log,
            self.config,
            self.loop.ports.rng.stream("raft.timeouts"),
            loaded.state,
            self._now_ms,
            has_pre_vote=self.has_pre_vote,
            high_watermark=latest.offset if latest is not None else 0,
        )
        self.log.log.update_high_watermark(self.core.high_watermark)
        self.is_running = True
        self._effects.extend(self.core.start(self._now_ms))
        self._step_all()
        for delivery in self._deliveries:
            delivery.start()
        snapshotting.clean_later(self)
        if voters.is_sole(self.me):
            await self.until(lambda: self._has_committed_own_epoch() or not self.is_running)
        if self.failure is not None:
            raise self.failure

    def _voters(self) -> VoterSet:
        return self.log.voters() or self._static_voters or VoterSet(())

    def _has_committed_own_epoch(self) -> bool:
        role = self.core.role
        return isinstance(role, Leader) and role.high_watermark is not None

    def resign(self, epoch: int) -> None:
        """Gives up leadership of this epoch, if it is still ours; the others are told."""
        self.happened(events.Resign(epoch))

    async def shutdown(self) -> None:
        """Resigns, lets the others know, closes the log."""
        if not self.is_running:
            return
        if self.is_leader and len(self.core.voters) > 1:
            self.resign(self.epoch)
            timer = self.loop.after(RESIGN_MS_MAX, self._tell_waiters)
            deadline_ms = self._now_ms + RESIGN_MS_MAX
            await self.until(lambda: self._has_taken_leave() or self._now_ms >= deadline_ms)
            timer.cancel()
        await self.until(lambda: not (self._is_waiting or self._effects or self.inbox) or not self.is_running)
        await self._close()

    def _has_taken_leave(self) -> bool:
        role = self.core.role
        return not self.is_running or not isinstance(role, Resigned) or not role.unacknowledged

    async def _close(self) -> None:
        was_running = self.is_running
        self._stop()
        if not was_running:
            return
        from odradek.log.flush import flush_job

        try:
            await self.log.flush()
            plan = self.log.log.begin_close(self.loop.ports.clock.wall_ms())
            await self.log.run(flush_job(self.loop.ports.disk, plan))
            self.log.log.closed(plan)
        except DiskFull:
            self.log.log.abandon()  # its records are in the files: the next start recovers them
        except errors.KafkaStorageError as error:
            self.fail(error)
        else:
            await self._save_recovery_point()
        self.log.close()

    def _stop(self) -> None:
        self.is_running = False
        for delivery in self._deliveries:
            delivery.stop()
        if self._timer is not None:
            self._timer.cancel()
        if self._inbound is not None:
            self._inbound.wake(everyone=True)
        self._tell_waiters()

    def fail(self, error: BaseException) -> None:
        """The end. What was promised is on disk, more cannot be promised."""
        if self.failure is None:
            self.failure = error
            self._stop()
            if self._on_fatal is not None:
                self._on_fatal(error)

    async def guarded(self, pending: Pending[Any]) -> Any:
        """A job of the metadata log's directory: its failure is ours."""
        try:
            return await pending
        except errors.KafkaStorageError as error:
            self.fail(error)
            raise Cancelled("the metadata log has failed") from error

    # What it is.

    @property
    def epoch(self) -> int:
        return self.core.epoch

    @property
    def leader_and_epoch(self) -> tuple[int | None, int]:
        return self.core.leader_id, self.core.epoch

    @property
    def is_leader(self) -> bool:
        """Ready to append."""
        return self.is_running and isinstance(self.core.role, Leader) and self.core.role.has_begun

    @property
    def high_watermark(self) -> int:
        return self.core.high_watermark

    @property
    def log_end_offset(self) -> int:
        return self.log.log.log_end_offset

    @property
    def latest_snapshot_id(self) -> OffsetAndEpoch | None:
        return self.log.latest_snapshot_id

    @property
    def kraft_version(self) -> int:
        return self.log.kraft_version()

    @property
    def voters(self) -> VoterSet:
        return self.core.voters

    @property
    def _now_ms(self) -> int:
        return self.loop.ports.clock.mono_ms()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Returns once it holds; looked at whenever something has happened here."""
        if not condition():
            pending = self.loop.pending()
            self._waiters.append((condition, pending))
            await pending

    def _tell_waiters(self) -> None:
        due = [each for each in self._waiters if each[0]()]
        self._waiters = [each for each in self._waiters if each not in due]
        for _, pending in due:
            pending.resolve(None)

    # Listeners.

    def register(self, listener: RaftListener) -> None:
        """It is told everything from the beginning, or from the latest snapshot, on."""
        delivery = Delivery(self, listener)
        self._deliveries.append(delivery)
        if self.is_running:
            delivery.start()

    def unregister(self, listener: RaftListener) -> None:
        """It is told nothing more, not even the rest of what is under way."""
        for delivery in [each for each in self._deliveries if each.listener is listener]:
            self._deliveries.remove(delivery)
            delivery.stop()

    # Appending.

    def append(self, epoch: int, records: Sequence[tuple[Message, int]]) -> int:
        """One batch; returns the offset of its last record. Committed when a majority has it on disk.

        NotController if this node does not lead that epoch; any error means that nothing was appended.
        """
        return self.append_encoded(epoch, [self.encode(record) for record in records])

    def encode(self, record: tuple[Message, int]) -> bytes:
        """A message and the version to write it in, as `append_encoded` takes it."""
        return METADATA.encode(*record)

    def append_encoded(self, epoch: int, encoded: Sequence[bytes]) -> int:
        role = self.core.role
        if not self.is_leader or role.epoch != epoch:
            raise errors.NotController(f"This node does not lead the quorum in epoch {epoch}; it is {role}.")
        assert encoded, "a batch has at least one record"
        batch = values_batch(encoded, self.log_end_offset, epoch, self.loop.ports.clock.wall_ms())
        if len(batch) > self.config.batch_bytes:
            raise errors.RecordListTooLarge(
                f"{len(encoded)} records of the metadata log make {len(batch)} bytes, more than the "
                f"{self.config.batch_bytes} of one batch."
            )
        last_offset = self.log.append_as_leader(batch)
        self.appended()
        return last_offset

    def appended(self) -> None:
        self._flush_soon()
        if self._inbound is not None:
            self._inbound.wake()

    def _flush_soon(self) -> None:
        if not self._is_flush_due:
            self._is_flush_due = True
            # Behind what else is queued: appends of the same turn share one fsync.
            self.loop.soon(lambda _: self.loop.spawn(self._flush()))

    async def _flush(self) -> None:
        try:
            while self.is_running and not self.log.is_flushed:
                await self.log.flush()
                self.happened(events.LogFlushed())
        except DiskFull:
            # What was appended is not promised: it waits, uncommitted, until there is space. Reads go on meanwhile.
            self.loop.after(FULL_RETRY_MS, self._flush_soon)
        except errors.KafkaStorageError as error:
            self.fail(error)
        finally:
            self._is_flush_due = False

    # Events and effects.

    def happened(self, event: events.Event) -> None:
        if self.is_running:
            self.inbox.append(event)
            self._step_all()

    def _step_all(self) -> None:
        if self._is_stepping:
            return
        self._is_stepping = True
        try:
            while self.is_running and not self._is_waiting and (self._effects or self.inbox):
                if self._effects:
                    perform(self, self._effects.popleft())
                else:
                    self._step(self.inbox.popleft())
        except (QuorumViolation, errors.KafkaStorageError) as error:
            self.fail(error)
        finally:
            self._is_stepping = False
        self._set_timer()
        self._tell_waiters()

    def _step(self, event: Any) -> None:
        if callable(event):
            self.hold_up(event())
        else:
            self._effects.extend(self.core.step(event, self._now_ms))

    def _set_timer(self) -> None:
        deadline_ms = self.core.next_deadline_ms() if self.is_running and not self._is_waiting else None
        if self._timer is not None and self._timer.is_live:
            if self._timer.deadline_ms == deadline_ms:
                return
            self._timer.cancel()
        self._timer = None
        if deadline_ms is not None:
            delay_ms = max(0, deadline_ms - self._now_ms)
            self._timer = self.loop.after(delay_ms, lambda: self.happened(events.TimePassed()))

    def hold_up(self, work: Coroutine[Any, None, None]) -> None:
        """Nothing else happens here until it is done."""
        self._is_waiting = True
        self.loop.spawn(self._held_up(work))

    async def _held_up(self, work: Coroutine[Any, None, None]) -> None:
        try:
            await work
        except errors.KafkaStorageError as error:
            self.fail(error)
        finally:
            self._is_waiting = False
        self._step_all()

    def install(self, effect: effects.FetchSnapshot, part: str) -> None:
        """A fetched snapshot takes the log's place when its turn has come."""

        async def work() -> None:
            await performing.install(self, effect, part)

        self.inbox.append(work)
        self._step_all()

    def update_voters(self) -> None:
        """The log may say something else now about who votes."""
        self.core.voters = self._voters()

    def tell_everyone(self) -> None:
        """More is committed, or somebody else leads: those who listen and those who wait may go on."""
        for delivery in self._deliveries:
            delivery.wake()
        if self._inbound is not None:
            self._inbound.wake(everyone=True)

    # Messages. What speaks to others is imported when there are others.

    def inbound(self) -> "Inbound":
        if self._inbound is None:
            from odradek.raft.inbound import Inbound

            self._inbound = Inbound(self)
        return self._inbound

    def outbound(self) -> "Outbound":
        if self._outbound is None:
            from odradek.raft.outbound import Outbound

            assert self._send is not None, "a quorum of several voters needs a way to send"
            self._outbound = Outbound(self, self._send)
        return self._outbound

    # Each of these returns a response, or a Pending of it. From some version on it tells where the leader is.

    def handle_vote(self, request: Any, version: int = 0) -> Any:
        return self.inbound().vote(request, version)

    def handle_begin_quorum_epoch(self, request: Any, version: int = 0) -> Any:
        return self.inbound().begin_quorum_epoch(request, version)

    def handle_end_quorum_epoch(self, request: Any, version: int = 0) -> Any:
        return self.inbound().end_quorum_epoch(request, version)

    def handle_fetch(self, request: Any, version: int = 0) -> Any:
        return self.inbound().fetch(request, version)

    def handle_fetch_snapshot(self, request: Any, version: int = 0) -> Any:
        return self.inbound().fetch_snapshot(request, version)

    def describe_quorum(self, request: Any, version: int = 2) -> Any:
        from odradek.raft.describe import describe_quorum

        return describe_quorum(self, request, version)

    # Snapshots.

    async def create_snapshot(
        self,
        offset: int,
        epoch: int,
        records: Iterable[tuple[Message, int]],
        last_contained_log_timestamp: int | None = None,
    ) -> bool:
        """The state before `offset`, which is committed; `epoch` is that of the record before it.

        `records` is walked in a job: it must not change meanwhile. False if there is such a snapshot or a later one.
        The log below it is then cleaned as the retention configs say.
        """
        snapshot_id = OffsetAndEpoch(offset, epoch)
        return await snapshotting.create_snapshot(self, snapshot_id, records, last_contained_log_timestamp)

    async def clean(self) -> int:
        """Removes what a newer snapshot has made needless, by the retention configs; how many snapshots went."""
        if self._is_cleaning or not self.is_running:
            return 0
        self._is_cleaning = True
        try:
            await self._save_recovery_point()
            return await snapshotting.clean(self, self._least_offset_told())
        finally:
            self._is_cleaning = False

    async def _save_recovery_point(self) -> None:
        try:
            await self.log.save_recovery_point(self.high_watermark)
        except DiskFull:
            return  # the old one is still true
        except errors.KafkaStorageError as error:
            self.fail(error)

    def _least_offset_told(self) -> int:
        """A listener that is behind goes on in the log: one that leads must not be handed a snapshot (C6)."""
        return min((delivery.next_offset for delivery in self._deliveries), default=self.high_watermark)
