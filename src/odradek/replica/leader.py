"""The leader of a partition, for one leader epoch: it appends, moves the high watermark, and hears of its followers.

**There is one append.** What a client produces, the markers of transactions and what coordinators decide all go through
`Leader.append`; they differ in what was checked before, and in what they wait for afterwards. In this order:

    log         the batch gets its offsets and is written; what the disk has against it is told to the log manager:
                a failure takes the dir or the log offline, a full disk is told to the operator
    flush       with flush.messages reached, the flush begins, and nothing is shown or acknowledged before it has ended
    commit      the high watermark moves as far as the in-sync replicas and the flush allow
    wake        whoever waits for the high watermark; followers, which read up to the end of the log, even if it stays

**The high watermark** is worked out by `isr.py` from what the followers have fetched. A leader without followers
commits by appending: for it `append` moves the high watermark to the end of the log without asking. That is what
`log_end_moved` would come to: with one replica the smallest end is our own, no flush is due (else we would wait for
it), and the end has just moved, so the high watermark moves too and nobody is left to be woken without it.
"""

from typing import TYPE_CHECKING

from odradek.log.append import CLIENT, COORDINATOR, AppendInfo, append_checked
from odradek.log.failure import DiskFull, LogFailure
from odradek.log.log import Log
from odradek.protocol import errors
from odradek.reactor.pending import Pending
from odradek.records.check import check
from odradek.records.checked import CheckedRecords, PlainRecords
from odradek.replica.isr import Isr
from odradek.replica.roles import Online

if TYPE_CHECKING:
    from odradek.replica.fetch_entry import FetchEntry
    from odradek.replica.partition import Partition


class Leader(Online):
    __slots__ = ("epoch", "isr", "partition")

    def __init__(self, partition: "Partition", isr: Isr, log: Log) -> None:
        self.partition = partition
        self.isr = isr
        self.log = log
        self.epoch = isr.leader_epoch

    def __repr__(self) -> str:
        return f"Leader(epoch={self.epoch}, {self.isr}, {self.log})"

    # Appending.

    def append(self, checked: CheckedRecords, now_ms: int, origin: int) -> AppendInfo:
        """`flushed` of what it returns is not None if the append has to wait for its flush."""
        log = self.log
        partition = self.partition
        try:
            info = append_checked(log, checked, self.epoch, now_ms, origin)
        except LogFailure as failure:
            partition.topic.manager.logs.handle_failure(failure)
            raise
        except DiskFull as full:
            partition.topic.manager.logs.dirs.full(full.path)
            raise
        if info.is_duplicate:
            if log.is_flush_due and info.last_offset >= log.recovery_point:
                info.flushed = self._begin_flush(log)  # a batch that came again waits for its flush as the first did
            return info
        if origin == CLIENT:
            topic = partition.topic
            topic.messages_in.count += checked.count
            topic.bytes_in.count += len(checked.buffer if type(checked) is PlainRecords else checked.batches[0].buffer)
        if log.log_end_offset >= log.flush_due_offset:
            info.flushed = self._begin_flush(log)
        elif self.isr.is_alone:  # `log_end_moved` with less to do: see the top of the file
            log.advance_high_watermark_to_end()
            if partition.watchers or partition.waiters:
                partition.wake()
        else:
            self.log_end_moved()
        return info

    def append_own(self, batch: bytearray, now_ms: int) -> AppendInfo:
        """Appends a batch that this broker has made, for a coordinator: as with acks=all, and its sequence is not
        asked for."""
        self.check_min_in_sync()
        checked = check(batch, self.log.rules, now_ms, is_from_client=False)
        return self.append(checked, now_ms, COORDINATOR)

    def check_min_in_sync(self) -> None:
        """For acks=all, before the append (R7)."""
        partition = self.partition
        if len(partition.isr) < partition.topic.effective_min_in_sync(len(partition.replicas)):
            raise errors.NotEnoughReplicas(
                f"{partition.name} has {len(partition.isr)} replicas in sync; min.insync.replicas asks for more."
            )

    def _begin_flush(self, log: Log) -> Pending[None]:
        return self.partition.topic.manager.loop.spawn(self._flush(log))

    async def _flush(self, log: Log) -> None:
        """flush.messages: neither acknowledged nor shown to consumers before it is on disk."""
        partition = self.partition
        await partition.topic.manager.logs.flush(log)
        leader = partition.leader
        if partition.log is not log:
            if leader is None:
                partition.check_online()
                raise errors.NotLeaderOrFollower(
                    f"{partition.name} has got another leader before the records were flushed."
                )
        elif leader is not None:
            leader.log_end_moved()

    # The high watermark.

    def log_end_moved(self) -> None:
        """After an append, or the flush that it waited for. Followers read up to the end of the log, not up to the high
        watermark, which waits for them: one that sleeps on would hold every acks=all write up."""
        if not self.advance_high_watermark() and self.partition.watchers:
            self.partition.wake_followers()

    def advance_high_watermark(self) -> bool:
        """After an append, a follower's fetch or a change of the ISR. Wakes whom it concerns; False if it stays."""
        log, isr = self.log, self.isr
        end_offset = log.log_end_offset
        if not isr.is_alone:
            manager = self.partition.topic.manager
            end_offset = isr.high_watermark(
                log.high_watermark, end_offset, manager.mono_ms(), manager.config.lag_time_max_ms
            )
        if log.is_flush_due:
            # What the flush has not reached is neither acknowledged nor shown yet.
            end_offset = min(end_offset, log.recovery_point)
        if log.high_watermark >= end_offset:
            return False  # within one leader epoch it only grows (R3), and this is what sees to it
        if end_offset == log.log_end_offset:
            log.advance_high_watermark_to_end()
        else:
            log.update_high_watermark(end_offset)
        self.partition.wake()
        return True

    # Followers.

    def isr_changed(self, in_sync: tuple[int, ...], partition_epoch: int) -> None:
        """The controller's word on who is in sync; an older one than we know changes nothing."""
        isr, partition = self.isr, self.partition
        if isr.committed(in_sync, partition_epoch):
            partition.isr = isr.in_sync
            partition.partition_epoch = partition_epoch
            self.advance_high_watermark()

    def check_replica(self, replica_id: int) -> None:
        partition = self.partition
        if replica_id not in partition.replicas:
            raise errors.NotLeaderOrFollower(f"Node {replica_id} is no replica of {partition.name}.")

    def follower_fetched(self, entry: "FetchEntry", replica_id: int, broker_epoch: int) -> None:
        """A follower that asks for `fetch_offset` has everything before it."""
        log, isr = self.log, self.isr
        partition = self.partition
        manager = partition.topic.manager
        isr.follower_fetched(
            replica_id, entry.fetch_offset, entry.log_start_offset, log.log_end_offset, manager.mono_ms(), broker_epoch
        )
        proposal = isr.maybe_expand(replica_id, log.high_watermark)
        if proposal is not None:
            manager.propose(partition, proposal)
        if not self.advance_high_watermark() and partition.waiters:
            partition.wake()

    def divergence(self, entry: "FetchEntry") -> tuple[int, int] | None:
        """(epoch, end offset) where the reader's log leaves ours, if it does."""
        epoch, end_offset = self.log.end_offset_for_epoch(entry.last_fetched_epoch)
        if epoch < 0 or end_offset < 0:
            raise errors.OffsetOutOfRange(
                f"The last fetched epoch {entry.last_fetched_epoch} of {self.partition.name} is not known here."
            )
        if epoch < entry.last_fetched_epoch or end_offset < entry.fetch_offset:
            return epoch, end_offset
        return None
