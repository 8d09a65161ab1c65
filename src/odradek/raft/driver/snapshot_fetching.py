"""A snapshot of the leader, fetched piece by piece; when it is whole it takes the place of the log.

The pieces go to a file that no start would take for a snapshot. It gets its name, and the log gives way to it, as one
effect that holds up all events; and only if this replica still follows the leader that had it fetch the snapshot. One
that stands for election or leads by then needs its own log: others may have counted on it (C6, C7).
"""

from odradek.protocol import errors
from odradek.raft import messages, snapshots
from odradek.raft.core import effects, events
from odradek.raft.core.roles import Follower
from odradek.raft.driver.event_queue import EventQueue
from odradek.raft.driver.exchange import Exchange
from odradek.raft.driver.replica import Replica


class SnapshotFetching:
    __slots__ = ("_exchange", "_queue", "_replica")

    def __init__(self, replica: Replica, queue: EventQueue, exchange: Exchange) -> None:
        self._replica = replica
        self._queue = queue
        self._exchange = exchange

    def fetch(self, effect: effects.FetchSnapshot) -> None:
        self._replica.loop.spawn(self._fetch(effect))

    async def _fetch(self, effect: effects.FetchSnapshot) -> None:
        replica = self._replica
        name, path = replica.log.part_path(effect.snapshot_id)
        if await self._fetch_pieces(effect, path):
            self.install_in_turn(effect, name)
        else:
            await replica.guarded(replica.loop.submit(snapshots.remove_job(replica.loop.ports.disk, [path])))

    async def _fetch_pieces(self, effect: effects.FetchSnapshot, path: str) -> bool:
        """Whether all of it has been written to that file; not if it failed, or is not wanted any more."""
        replica = self._replica
        position, size = 0, 1
        while position < size:
            piece = await self._piece(effect, position)
            if not self.is_wanted(effect):
                return False
            if isinstance(piece, events.SnapshotFailed):
                await replica.loop.sleep(replica.config.retry_backoff_ms)
                self._queue.happened(piece)
                return False
            self._queue.happened(events.SnapshotPieceArrived(effect.leader_id, effect.epoch))
            size, data = piece
            job = snapshots.append_piece_job(replica.loop.ports.disk, path, position, data)
            position = await replica.guarded(replica.log.run(job))
        return True

    async def _piece(self, effect: effects.FetchSnapshot, position: int) -> tuple[int, bytes] | events.SnapshotFailed:
        """(size of the whole, bytes) or SnapshotFailed."""
        replica = self._replica
        request = messages.snapshot_request(
            effect, replica.settings.cluster_id, replica.me, position, replica.config.fetch_snapshot_bytes
        )
        found = await self._exchange.ask(
            effect.leader_id, request, lambda response: messages.snapshot_piece(response, effect, position)
        )
        return events.SnapshotFailed(effect.epoch) if isinstance(found, Exception) else found

    def is_wanted(self, effect: effects.FetchSnapshot) -> bool:
        role = self._replica.core.role
        return (
            isinstance(role, Follower)
            and role.fetching_snapshot
            and (role.leader_id, role.epoch) == (effect.leader_id, effect.epoch)
        )

    def install_in_turn(self, effect: effects.FetchSnapshot, part: str) -> None:
        """Installs the snapshot once everything that was queued before has been done."""
        self._queue.do_in_turn(lambda: self.install(effect, part))

    async def install(self, effect: effects.FetchSnapshot, part: str) -> None:
        log = self._replica.log
        if not self.is_wanted(effect):
            await log.remove_part(part)  # the role has changed meanwhile
            return
        try:
            await log.install_snapshot(part, effect.snapshot_id)
        except errors.KafkaStorageError:
            raise
        except errors.KafkaError:
            await log.remove_part(part)  # what the leader sent is no snapshot
            self._queue.happens_next(events.SnapshotFailed(effect.epoch))
            return
        self._replica.update_voters()
        self._queue.happens_next(events.SnapshotInstalled(effect.snapshot_id))
