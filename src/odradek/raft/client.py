"""The quorum as the rest of the node knows it: what is committed and who leads, appends, snapshots, requests.

    raft = RaftClient(loop, jobs, RaftSettings(...))
    raft.register(listener)             # told everything that is committed, in order
    await raft.start()
    offset = raft.append(raft.epoch, records)
    await raft.shutdown()

This puts the parts of `driver/` together, and none of them knows it. The core (`core/`) decides; `event_queue.py` feeds
it and has its effects done, one after the other (`performer.py`); `peers.py` speaks with other replicas; `appends.py`
and `log_upkeep.py` are about the log; `deliveries.py` tells the listeners.

An error of the metadata log's disk, and a record that cannot be read, are the end: `on_fatal` is told once, and from
then on this node says nothing more.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from odradek.metrics.registry import Registry
from odradek.protocol import errors
from odradek.protocol.declare import Message, Response
from odradek.protocol.frames import METADATA
from odradek.raft.core import events
from odradek.raft.core.raft_core import RaftCore
from odradek.raft.core.roles import Leader, Resigned
from odradek.raft.core.voters import VoterSet
from odradek.raft.driver.appends import Appends
from odradek.raft.driver.conditions import Conditions
from odradek.raft.driver.deliveries import Deliveries
from odradek.raft.driver.event_queue import EventQueue
from odradek.raft.driver.log_upkeep import LogUpkeep
from odradek.raft.driver.peers import Peers
from odradek.raft.driver.performer import Performer
from odradek.raft.driver.replica import Replica
from odradek.raft.keys import OffsetAndEpoch, ReplicaKey
from odradek.raft.listener import RaftListener
from odradek.raft.metadata_log import MetadataLog
from odradek.raft.settings import RaftSettings
from odradek.reactor.jobs import JobQueue
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending

if TYPE_CHECKING:
    from odradek.protocol.messages.k01_fetch import FetchRequest
    from odradek.protocol.messages.k52_vote import VoteRequest
    from odradek.protocol.messages.k53_begin_quorum_epoch import BeginQuorumEpochRequest
    from odradek.protocol.messages.k54_end_quorum_epoch import EndQuorumEpochRequest
    from odradek.protocol.messages.k55_describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
    from odradek.protocol.messages.k59_fetch_snapshot import FetchSnapshotRequest
    from odradek.raft.driver.exchange import VoterConnections

RESIGN_MS_MAX = 2000  # how long a stop waits for the others to hear of it

ResponseOrPending = Response | Pending[Response]


class RaftClient:
    __slots__ = (
        "_appends",
        "_conditions",
        "_deliveries",
        "_performer",
        "_queue",
        "_upkeep",
        "loop",
        "peers",
        "replica",
    )

    def __init__(
        self,
        loop: Loop,
        jobs: JobQueue,
        settings: RaftSettings,
        *,
        connect: "Callable[[], VoterConnections] | None" = None,
        metrics: Registry | None = None,
        on_fatal: Callable[[BaseException], object] | None = None,
    ) -> None:
        """`connect` makes the way to other voters, when the first request to one of them is due."""
        self.loop = loop
        self.replica = Replica(loop, jobs, settings, on_fatal)
        self._conditions = Conditions(loop)
        self._queue = EventQueue(self.replica, self._conditions)
        self._deliveries = Deliveries(self.replica)
        self.peers = Peers(self.replica, self._queue, connect)
        self._appends = Appends(self.replica, self._queue, self.peers.wake_fetches)
        self._upkeep = LogUpkeep(self.replica, self._deliveries.least_offset_told)
        self._performer = Performer(self.replica, self._queue, self._appends, self.peers, self._tell_everyone)
        self.replica.when_stopped(self._deliveries.stop)
        self.replica.when_stopped(self._queue.stop)
        self.replica.when_stopped(lambda: self.peers.wake_fetches(everyone=True))
        self.replica.when_stopped(self.peers.close)
        self.replica.when_stopped(self._conditions.look_again)
        if metrics is not None:
            from odradek.raft.driver.metrics import register

            register(metrics, self.replica)

    def _tell_everyone(self) -> None:
        """More is committed, or somebody else leads: those who listen and those who wait may go on."""
        self._deliveries.wake()
        self.peers.wake_fetches(everyone=True)

    # Start and stop.

    async def start(self) -> None:
        """Returns with the log loaded; a sole voter leads by then, the first record of its epoch committed."""
        replica = self.replica
        try:
            loaded = await replica.log.load()
        except errors.KafkaStorageError as error:
            replica.fail(error)
            raise
        if not replica.voters():
            raise errors.InvalidRequest("There are no voters, neither in the configs nor in the metadata log.")
        replica.begin(loaded.state)
        self._queue.start(self._performer.perform)
        self._deliveries.start()
        self._upkeep.clean_later()
        if replica.core.voters.is_sole(replica.me):
            await self.until(lambda: self._has_committed_own_epoch() or not replica.is_running)
        if replica.failure is not None:
            raise replica.failure

    def _has_committed_own_epoch(self) -> bool:
        role = self.core.role
        return isinstance(role, Leader) and role.high_watermark is not None

    def resign(self, epoch: int) -> None:
        """Gives up leadership of this epoch, if it is still ours; the others are told."""
        self._queue.happened(events.Resign(epoch))

    async def shutdown(self) -> None:
        """Resigns, lets the others know, closes the log."""
        if not self.is_running:
            return
        if self.is_leader and len(self.core.voters) > 1:
            await self._take_leave()
        await self.until(lambda: self._queue.is_idle or not self.is_running)
        if self.is_running:
            self.replica.stop()
            await self._upkeep.close()

    async def _take_leave(self) -> None:
        self.resign(self.epoch)
        timer = self.loop.after(RESIGN_MS_MAX, self._conditions.look_again)
        deadline_ms = self.replica.now_ms + RESIGN_MS_MAX
        await self.until(lambda: self._has_taken_leave() or self.replica.now_ms >= deadline_ms)
        timer.cancel()

    def _has_taken_leave(self) -> bool:
        role = self.core.role
        return not self.is_running or not isinstance(role, Resigned) or not role.unacknowledged

    # What it is.

    @property
    def core(self) -> RaftCore:
        """There once the log has been loaded."""
        return self.replica.core

    @property
    def log(self) -> MetadataLog:
        return self.replica.log

    @property
    def me(self) -> ReplicaKey:
        return self.replica.me

    @property
    def is_running(self) -> bool:
        return self.replica.is_running

    @property
    def epoch(self) -> int:
        return self.core.epoch

    @property
    def leader_and_epoch(self) -> tuple[int | None, int]:
        return self.core.leader_id, self.core.epoch

    @property
    def is_leader(self) -> bool:
        """Ready to append."""
        return self.replica.is_leader

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

    async def until(self, condition: Callable[[], bool]) -> None:
        """Returns once it holds; looked at whenever something has happened here."""
        await self._conditions.until(condition)

    # Listeners.

    def register(self, listener: RaftListener) -> None:
        """The listener is told everything from the beginning, or from the latest snapshot, on."""
        self._deliveries.register(listener)

    def unregister(self, listener: RaftListener) -> None:
        """The listener is told nothing more, not even the rest of what is under way."""
        self._deliveries.unregister(listener)

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
        """Appends one batch of records that `encode` has made; otherwise as `append`."""
        return self._appends.append_encoded(epoch, encoded)

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
        return await self._upkeep.create_snapshot(snapshot_id, records, last_contained_log_timestamp)

    async def clean(self) -> int:
        """Removes what a newer snapshot has made needless, by the retention configs; how many snapshots went."""
        return await self._upkeep.clean()

    # Requests. Each returns a response, or a Pending of it. From some version on it tells where the leader is.

    def handle_vote(self, request: "VoteRequest", version: int = 0) -> ResponseOrPending:
        return self.peers.inbound().vote(request, version)

    def handle_begin_quorum_epoch(self, request: "BeginQuorumEpochRequest", version: int = 0) -> ResponseOrPending:
        return self.peers.inbound().begin_quorum_epoch(request, version)

    def handle_end_quorum_epoch(self, request: "EndQuorumEpochRequest", version: int = 0) -> ResponseOrPending:
        return self.peers.inbound().end_quorum_epoch(request, version)

    def handle_fetch(self, request: "FetchRequest", version: int = 0) -> ResponseOrPending:
        return self.peers.inbound().fetch(request, version)

    def handle_fetch_snapshot(self, request: "FetchSnapshotRequest", version: int = 0) -> ResponseOrPending:
        return self.peers.inbound().fetch_snapshot(request, version)

    def describe_quorum(self, request: "DescribeQuorumRequest", version: int = 2) -> "DescribeQuorumResponse":
        from odradek.raft.driver.describe_quorum import describe_quorum

        return describe_quorum(self.replica, request, version)
