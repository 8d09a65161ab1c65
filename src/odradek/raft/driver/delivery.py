"""Hands the committed log to one listener, in order, in slices, never faster than the listener takes it."""

from odradek.broken_rule import present
from odradek.protocol import errors
from odradek.protocol.declare import Message
from odradek.protocol.frames import METADATA
from odradek.protocol.messages.metadata_cluster import NoOpRecord
from odradek.raft import snapshots
from odradek.raft.batches import is_no_op, values_of
from odradek.raft.core.roles import Leader
from odradek.raft.driver.replica import Replica
from odradek.raft.listener import CommittedBatch, RaftListener, SnapshotReader
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Cancelled
from odradek.reactor.slices import Slices
from odradek.records.batch import RecordBatch
from odradek.records.metadata_log import record_batches

PIECE_BYTES = 256 * 1024
RECORDS_PER_LOOK = 64  # at the clock


class Delivery:
    __slots__ = ("_replica", "_task", "_told", "_wakened", "listener", "next_offset")

    def __init__(self, replica: Replica, listener: RaftListener) -> None:
        self._replica = replica
        self.listener = listener
        self._told: tuple[int | None, int] = (None, -1)
        self._wakened: Pending[None] | None = None
        self.next_offset = 0  # that the listener has not seen
        self._task: Pending[None] | None = None

    def start(self) -> None:
        self._task = self._replica.loop.spawn(self._run())

    def wake(self) -> None:
        """There may be more to tell."""
        if self._wakened is not None:
            wakened, self._wakened = self._wakened, None
            wakened.resolve(None)

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        slices = Slices(self._replica.loop)
        try:
            while True:
                if not await self._tell_something(slices):
                    self._wakened = self._replica.loop.pending()
                    await self._wakened
                    slices.restart()
        except Cancelled:
            return
        except Exception as error:  # noqa: BLE001 - a bad record or a listener that failed: going on would lose state
            self._replica.fail(error)

    async def _tell_something(self, slices: Slices) -> bool:
        change = self._leader_change()
        if change is not None:
            self._told = change
            await self._handled(self.listener.handle_leader_change(*change))
        elif self._needs_snapshot():
            await self._tell_snapshot()
            slices.restart()
        elif self.next_offset < self._replica.core.high_watermark:
            await self._tell_batches(slices)
        else:
            return False
        return True

    def _leader_change(self) -> tuple[int | None, int] | None:
        core = self._replica.core
        current = (core.leader_id, core.epoch)
        if current == self._told or (current[0] is None and self._told[0] is None):
            return None
        role = core.role
        if isinstance(role, Leader) and self.next_offset <= role.epoch_start_offset:
            return None
        return current

    def _needs_snapshot(self) -> bool:
        latest = self._replica.log.latest_snapshot_id
        if latest is None:
            return False
        is_behind = self.next_offset < self._replica.log.log_start_offset
        return is_behind or (self.next_offset == 0 and latest.offset <= self._replica.core.high_watermark)

    async def _tell_snapshot(self) -> None:
        replica = self._replica
        latest = present(replica.log.latest_snapshot_id, "a listener is handed a snapshot only if there is one")
        job = snapshots.read_job(replica.loop.ports.disk, replica.log.directory, latest)
        try:
            snapshot: SnapshotReader = await replica.loop.submit(job)
        except errors.KafkaStorageError:
            if replica.log.latest_snapshot_id == latest:
                raise
            return  # a newer one has taken its place meanwhile
        await self._handled(self.listener.handle_load_snapshot(snapshot))
        self.next_offset = snapshot.offset

    async def _tell_batches(self, slices: Slices) -> None:
        try:
            data = await self._replica.log.read(self.next_offset, PIECE_BYTES, is_committed=True)
        except errors.OffsetOutOfRange:
            return  # a snapshot of the leader has taken the log's place meanwhile
        for batch in record_batches(data):
            await self._handled(self.listener.handle_commit(await self._committed(batch, slices)))
            self.next_offset = batch.last_offset + 1
            await slices.pause_if_over()

    async def _committed(self, batch: RecordBatch, slices: Slices) -> CommittedBatch:
        base_offset = max(batch.base_offset, self.next_offset)
        records: list[Message] = [NoOpRecord()]
        if not is_no_op(batch):
            records = await self._decoded(batch, base_offset, slices)
        return CommittedBatch(
            base_offset, batch.last_offset, batch.partition_leader_epoch, batch.max_timestamp, records
        )

    async def _decoded(self, batch: RecordBatch, from_offset: int, slices: Slices) -> list[Message]:
        records = []
        for number, value in enumerate(values_of(batch, from_offset), 1):
            records.append(METADATA.decode(value)[0])
            if number % RECORDS_PER_LOOK == 0:
                await slices.pause_if_over()
        return records

    async def _handled(self, pending: Pending[None] | None) -> None:
        if pending is not None:
            await pending
