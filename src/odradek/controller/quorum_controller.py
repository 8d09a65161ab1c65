"""The controller of a node: the core, run on the metadata quorum.

While another node leads the quorum, the core follows the committed log and every event is refused with NOT_CONTROLLER.
When this node leads and the core has seen everything before its epoch, it becomes active: events are run, brokers get
fresh sessions, timers start. The first leader of an empty log writes the bootstrap records.

If leadership is lost while records of ours were not committed, the core has seen what may never have been: it is
dropped, and a new one is loaded from the log. The `_Feed` of the old one is deaf from then on.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from odradek.broken_rule import require
from odradek.controller.config import ControllerConfig
from odradek.controller.core import ControllerCore
from odradek.controller.schedules import Schedules
from odradek.metadata.record_versions import Versioned
from odradek.protocol.errors import NotController
from odradek.protocol.releases import Release
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.replicated.decision import Decision
from odradek.replicated.runtime import Runtime

if TYPE_CHECKING:
    from odradek.protocol.messages.k62_broker_registration import (
        BrokerRegistrationRequest,
        BrokerRegistrationResponse,
    )
    from odradek.protocol.messages.k63_broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
    from odradek.raft.listener import CommittedBatch, RaftListener, SnapshotReader

R = TypeVar("R")


class Quorum(Protocol):
    """What the controller needs of a RaftClient."""

    @property
    def log_end_offset(self) -> int: ...
    @property
    def kraft_version(self) -> int: ...
    def append(self, epoch: int, records: Sequence[Versioned]) -> int: ...
    def encode(self, record: Versioned) -> bytes: ...
    def append_encoded(self, epoch: int, encoded: Sequence[bytes]) -> int: ...
    def register(self, listener: "RaftListener") -> None: ...
    def unregister(self, listener: "RaftListener") -> None: ...


class QuorumController:
    __slots__ = (
        "_activations",
        "_bootstrap",
        "_feed",
        "_is_own_lock_held",
        "_loop",
        "_on_fault",
        "_schedules",
        "leader_id",
        "node_id",
        "quorum",
        "runtime",
    )

    def __init__(
        self,
        loop: Loop,
        quorum: Quorum,
        *,
        node_id: int,
        cluster_id: str,
        release: Release,
        static_configs: Mapping[str, object],
        config: ControllerConfig,
        bootstrap: Sequence[Versioned],
        on_fault: Callable[[BaseException], object],
        is_own_lock_held: Callable[[], bool] = lambda: False,
    ) -> None:
        """`bootstrap` goes into an empty log. `is_own_lock_held`: no other process can be the broker of this node."""
        self._loop = loop
        self.quorum = quorum
        self.node_id = node_id
        self._bootstrap = list(bootstrap)
        self._on_fault = on_fault
        self._is_own_lock_held = is_own_lock_held
        self._activations: list[Pending[None]] = []
        self._feed: _Feed | None = None
        self.leader_id: int | None = None
        stream = loop.ports.rng.stream("controller")

        def make_core() -> ControllerCore:
            return ControllerCore(
                node_id=node_id,
                cluster_id=cluster_id,
                release=release,
                static_configs=static_configs,
                stream=stream,
                session_timeout_ms=config.session_timeout_ms,
            )

        self.runtime = Runtime(
            loop, quorum, make_core, refusal=self._refusal, on_fault=self._faulty, encoded_log=quorum
        )
        self._schedules = Schedules(loop, self, config)

    def start(self) -> None:
        """From now on the quorum tells us everything, from the beginning."""
        self._follow()

    def stop(self) -> None:
        """Whoever still waits is refused; nothing more is decided."""
        if self._feed is not None:
            self.quorum.unregister(self._feed)
            self._feed = None
        self._schedules.stop()
        self.runtime.release()

    # What it is

    @property
    def is_active(self) -> bool:
        return self.runtime.is_active

    @property
    def is_busy(self) -> bool:
        """A long decision is under way, and events wait behind it."""
        return self.runtime.is_busy

    @property
    def log_end_offset(self) -> int:
        return self.quorum.log_end_offset

    @property
    def epoch(self) -> int:
        return self.runtime.epoch

    @property
    def core(self) -> ControllerCore:
        """The state, uncommitted records included: for looking, in tests and metrics."""
        return self.runtime.core

    def until_active(self) -> Pending[None]:
        """Done when this controller is active and what it wrote first is committed."""
        pending: Pending[None] = self._loop.pending()
        if self.runtime.is_active:
            pending.follow(self.runtime.run(_look))
        else:
            self._activations.append(pending)
        return pending

    # Events

    def run(self, event: Callable[[ControllerCore], Decision[R]]) -> Pending[R]:
        """Lets the core decide. NotController while this node is not the active controller."""
        return self.runtime.run(event)

    def register_broker(self, request: "BrokerRegistrationRequest") -> "Pending[BrokerRegistrationResponse]":
        is_own = request.broker_id == self.node_id and self._is_own_lock_held()
        now_ms = self._now_ms()
        registered = self.run(
            lambda core: core.register_broker(now_ms, request, self.quorum.log_end_offset, is_own_lock_held=is_own)
        )
        self._schedules.watch_sessions()
        return registered

    def heartbeat(self, request: "BrokerHeartbeatRequest") -> "Pending[BrokerHeartbeatResponse]":
        now_ms = self._now_ms()
        answered = self.run(lambda core: core.heartbeat(now_ms, request, self.quorum.log_end_offset))
        self._schedules.watch_sessions()
        return answered

    def _now_ms(self) -> int:
        return self._loop.ports.clock.mono_ms()

    def _refusal(self) -> NotController:
        if self.leader_id is None or self.leader_id == self.node_id:
            return NotController("No controller appears to be active.")
        return NotController(f"The active controller appears to be node {self.leader_id}.")

    # What the quorum tells

    def _follow(self) -> None:
        if self._feed is not None:
            self.quorum.unregister(self._feed)
        self.runtime.attach()
        self._feed = _Feed(self)
        self.quorum.register(self._feed)

    def handle_commit(self, batch: "CommittedBatch") -> Pending[None] | None:
        if batch.last_offset <= self.runtime.appended_offset:  # our own: known since it was appended
            self.runtime.commit(batch.last_offset)
            return None
        return self._done(self.runtime.load([batch.records], batch.last_offset))

    def handle_load_snapshot(self, snapshot: "SnapshotReader") -> Pending[None] | None:
        require(not self.runtime.is_active, "C6: a leader never loads a snapshot")
        self.runtime.attach()
        return self._done(self.runtime.load(snapshot.batches, snapshot.offset - 1))

    def handle_leader_change(self, leader_id: int | None, epoch: int) -> None:
        self.leader_id = leader_id
        if leader_id == self.node_id:
            if not self.runtime.is_active or self.runtime.epoch != epoch:
                self._become_active(epoch)
        elif self.runtime.is_active:
            self._renounce()

    def _done(self, work: Coroutine[object, None, None]) -> Pending[None] | None:
        task = self._loop.spawn(work)
        if not task.is_done:
            return task
        if task.error is not None:
            task.value()  # raises: the quorum must not go on as if the listener had taken it
        return None

    def _become_active(self, epoch: int) -> None:
        # A new epoch of ours: whoever waits for a commit is refused. Nothing was lost, but it may be half replayed.
        if self.runtime.is_active and self.runtime.release():
            self._follow()
            return
        self.runtime.activate(epoch)
        core = self.runtime.core
        core.became_active(self._now_ms())
        started = self.runtime.run(lambda core: core.bootstrap(self._bootstrap))
        activations, self._activations = self._activations, []
        for waiting in activations:
            waiting.follow(started)
        started.is_observed = True  # it is refused only together with the leadership
        self._schedules.start()

    def _renounce(self) -> None:
        self._schedules.stop()
        if self.runtime.release():
            self._follow()

    def _faulty(self, error: BaseException) -> None:
        self._schedules.stop()
        self._on_fault(error)


class _Feed:
    """What the quorum tells, handed on as long as this is the feed of the current core."""

    __slots__ = ("_controller",)

    def __init__(self, controller: QuorumController) -> None:
        self._controller = controller

    def handle_commit(self, batch: "CommittedBatch") -> Pending[None] | None:
        return self._controller.handle_commit(batch) if self._is_current() else None

    def handle_load_snapshot(self, snapshot: "SnapshotReader") -> Pending[None] | None:
        return self._controller.handle_load_snapshot(snapshot) if self._is_current() else None

    def handle_leader_change(self, leader_id: int | None, epoch: int) -> Pending[None] | None:
        if self._is_current():
            self._controller.handle_leader_change(leader_id, epoch)
        return None

    def _is_current(self) -> bool:
        return self._controller._feed is self


def _look(core: ControllerCore) -> Decision[None]:
    return Decision((), None)
