"""FetchSnapshot requests that the core lets through: each is answered with a piece of a snapshot file."""

from odradek.protocol import errors
from odradek.protocol.messages import k59_fetch_snapshot
from odradek.raft import messages, snapshots
from odradek.raft.driver.replica import Replica
from odradek.raft.driver.waiting_request import Finish, WaitingRequest
from odradek.raft.keys import OffsetAndEpoch


class WaitingSnapshotFetch(WaitingRequest):
    __slots__ = ("max_bytes", "position", "snapshot_id")

    def __init__(
        self,
        finish: Finish,
        request: k59_fetch_snapshot.FetchSnapshotRequest,
        asked: k59_fetch_snapshot.PartitionSnapshot,
    ) -> None:
        snapshot_id = OffsetAndEpoch(asked.snapshot_id.end_offset, asked.snapshot_id.epoch)
        super().__init__(finish, lambda answer: messages.snapshot_response(answer, snapshot_id))
        self.snapshot_id = snapshot_id
        self.position: int = asked.position
        self.max_bytes: int = request.max_bytes


class SnapshotServing:
    __slots__ = ("_replica",)

    def __init__(self, replica: Replica) -> None:
        self._replica = replica

    def serve(self, fetch: WaitingSnapshotFetch) -> None:
        self._replica.loop.spawn(self._send_piece(fetch))

    async def _send_piece(self, fetch: WaitingSnapshotFetch) -> None:
        core = self._replica.core
        found = await self._read(fetch)
        if found is None:
            fetch.answer(messages.answer_of(core, errors.SnapshotNotFound))
            return
        size, data = found
        if not 0 <= fetch.position < size:
            fetch.answer(messages.answer_of(core, errors.PositionOutOfRange))
        else:
            answer = messages.answer_of(core)
            fetch.resolve(messages.snapshot_response(answer, fetch.snapshot_id, size, fetch.position, data))

    async def _read(self, fetch: WaitingSnapshotFetch) -> tuple[int, bytes] | None:
        """(size of the whole, a piece of it); None if there is no such snapshot."""
        replica = self._replica
        if all(facts.id != fetch.snapshot_id for facts in replica.log.snapshots):
            return None
        max_bytes = max(1, min(fetch.max_bytes, replica.config.fetch_snapshot_bytes))
        job = snapshots.read_piece_job(
            replica.loop.ports.disk, replica.log.directory, fetch.snapshot_id, fetch.position, max_bytes
        )
        found: tuple[int, bytes] | None = await replica.guarded(replica.loop.submit(job))
        return found
