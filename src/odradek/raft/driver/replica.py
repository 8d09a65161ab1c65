"""One replica of the quorum, as the parts of its driver see it: who it is, its log, its core, whether it runs.

Each part is handed this, and of the other parts only those that it calls. None of them knows the RaftClient that puts
them together.
"""

from collections.abc import Callable
from typing import TypeVar

from odradek.protocol import errors
from odradek.raft.config import RaftConfig
from odradek.raft.core.raft_core import RaftCore
from odradek.raft.core.roles import Leader
from odradek.raft.core.voters import VoterSet
from odradek.raft.election_state import ElectionState
from odradek.raft.keys import ReplicaKey
from odradek.raft.metadata_log import MetadataLog
from odradek.raft.settings import RaftSettings
from odradek.reactor.jobs import JobQueue
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled

T = TypeVar("T")


class Replica:
    __slots__ = ("_on_fatal", "_when_stopped", "core", "failure", "is_running", "log", "loop", "settings")

    core: RaftCore  # from `begin` on

    def __init__(
        self,
        loop: Loop,
        jobs: JobQueue,
        settings: RaftSettings,
        on_fatal: Callable[[BaseException], object] | None,
    ) -> None:
        self.loop = loop
        self.settings = settings
        self.log = MetadataLog(loop, jobs, settings.directory, settings.config)
        self.is_running = False
        self.failure: BaseException | None = None
        self._on_fatal = on_fatal
        self._when_stopped: list[Callable[[], object]] = []

    # Who and where.

    @property
    def me(self) -> ReplicaKey:
        return self.settings.me

    @property
    def config(self) -> RaftConfig:
        return self.settings.config

    @property
    def now_ms(self) -> int:
        return self.loop.ports.clock.mono_ms()

    @property
    def wall_ms(self) -> int:
        return self.loop.ports.clock.wall_ms()

    # What it has come to.

    @property
    def is_leader(self) -> bool:
        """It leads, and the first record of its epoch is in the log: others may append behind it."""
        return self.is_running and isinstance(self.core.role, Leader) and self.core.role.has_begun

    def voters(self) -> VoterSet:
        """Who votes: by what the log says, else by the configs."""
        return self.log.voters() or self.settings.voters or VoterSet(())

    def update_voters(self) -> None:
        """The log may say something else now about who votes."""
        self.core.voters = self.voters()

    # Its life.

    def begin(self, state: ElectionState | None) -> None:
        """The log is loaded; `state` is what the file quorum-state held."""
        latest = self.log.latest_snapshot_id
        self.core = RaftCore(
            self.me,
            self.voters(),
            self.log,
            self.config,
            self.loop.ports.rng.stream("raft.timeouts"),
            state,
            self.now_ms,
            has_pre_vote=self.settings.has_pre_vote,
            high_watermark=latest.offset if latest is not None else 0,
        )
        self.log.log.update_high_watermark(self.core.high_watermark)
        self.is_running = True

    def when_stopped(self, callback: Callable[[], object]) -> None:
        """Called at the end, be it a stop or a failure, in the order in which they were given."""
        self._when_stopped.append(callback)

    def stop(self) -> None:
        self.is_running = False
        for callback in self._when_stopped:
            callback()

    def fail(self, error: BaseException) -> None:
        """The end. What was promised is on disk, more cannot be promised."""
        if self.failure is None:
            self.failure = error
            self.stop()
            if self._on_fatal is not None:
                self._on_fatal(error)

    async def guarded(self, job: Pending[T]) -> T:
        """The result of a job in the metadata log's directory: its failure is ours."""
        try:
            return await job
        except errors.KafkaStorageError as error:
            self.fail(error)
            raise Cancelled("the metadata log has failed") from error
