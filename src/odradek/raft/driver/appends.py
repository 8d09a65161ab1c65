"""Appends to the metadata log, and their fsync: a group commit, one in flight.

An append does not wait for the disk. All appends of one turn of the loop share an fsync, whose end is the event that
lets the core count them as durable; those that come meanwhile ride in the next one.
"""

from collections.abc import Callable, Sequence

from odradek.broken_rule import BrokenRuleError, require
from odradek.log.failure import DiskFull
from odradek.protocol import errors
from odradek.raft.batches import leader_change, quorum_records
from odradek.raft.core import effects, events
from odradek.raft.core.roles import Leader
from odradek.raft.driver.event_queue import EventQueue
from odradek.raft.driver.replica import Replica
from odradek.records.metadata_log import control_batch, values_batch

FULL_RETRY_MS = 1000


class Appends:
    __slots__ = ("_is_flush_due", "_on_appended", "_queue", "_replica")

    def __init__(self, replica: Replica, queue: EventQueue, on_appended: Callable[[], object]) -> None:
        """`on_appended` is called after each: fetches of followers may wait for it."""
        self._replica = replica
        self._queue = queue
        self._on_appended = on_appended
        self._is_flush_due = False

    # As the leader.

    def append_encoded(self, epoch: int, encoded: Sequence[bytes]) -> int:
        """One batch of records; the offset of the last one. Any error means that nothing was appended."""
        replica = self._replica
        role = replica.core.role
        if not replica.is_leader or role.epoch != epoch:
            raise errors.NotController(f"This node does not lead the quorum in epoch {epoch}; it is {role}.")
        require(encoded, "a batch has at least one record")
        batch = values_batch(encoded, replica.log.log.log_end_offset, epoch, replica.wall_ms)
        if len(batch) > replica.config.batch_bytes:
            raise errors.RecordListTooLarge(
                f"{len(encoded)} records of the metadata log make {len(batch)} bytes, more than the "
                f"{replica.config.batch_bytes} of one batch."
            )
        last_offset = replica.log.append_as_leader(batch)
        self._appended()
        return last_offset

    def append_leader_change(self, effect: effects.AppendLeaderChange) -> None:
        """The first record of our epoch. With the first leader of all, who votes goes to the log, too."""
        replica = self._replica
        role, log, voters = replica.core.role, replica.log, replica.core.voters
        if not isinstance(role, Leader) or role.epoch != effect.epoch:
            raise BrokenRuleError(f"only the leader of epoch {effect.epoch} begins it: {role!r}")
        controls = [leader_change(replica.me.id, voters, effect.granting_voters)]
        if log.are_voters_only_formatted():
            controls += quorum_records(log.kraft_version(), voters)
        log.append_as_leader(control_batch(controls, log.log.log_end_offset, effect.epoch, replica.wall_ms))
        role.has_begun = True
        self._appended()

    # As a follower.

    def append_records(self, effect: effects.AppendRecords) -> None:
        replica = self._replica
        try:
            replica.log.append_as_follower(effect.records)
        except errors.KafkaStorageError:
            raise
        except errors.KafkaError:
            # Not what a leader of this quorum writes: asked for again after a pause.
            replica.loop.after(replica.config.retry_backoff_ms, lambda: self._queue.happened(events.LogFlushed()))
            return
        replica.update_voters()
        self._appended()

    # Durability.

    def _appended(self) -> None:
        self._flush_soon()
        self._on_appended()

    def _flush_soon(self) -> None:
        if not self._is_flush_due:
            self._is_flush_due = True
            # Behind what else is queued: appends of the same turn share one fsync.
            self._replica.loop.soon(lambda _: self._replica.loop.spawn(self._flush()))

    async def _flush(self) -> None:
        replica = self._replica
        try:
            while replica.is_running and not replica.log.is_flushed:
                await replica.log.flush()
                self._queue.happened(events.LogFlushed())
        except DiskFull:
            # What was appended is not promised: it waits, uncommitted, until there is space. Reads go on meanwhile.
            replica.loop.after(FULL_RETRY_MS, self._flush_soon)
        except errors.KafkaStorageError as error:
            replica.fail(error)
        finally:
            self._is_flush_due = False
