"""A partition's log: an unbroken run of offsets, kept in segments.

    log start offset ≤ last stable offset ≤ high watermark ≤ log end offset          (L4)

What lies below the log start offset is deleted or about to be. What lies below the recovery point is on disk. The high
watermark is told by replication; the last stable offset is the first offset of an open transaction, or the high
watermark (L6).

A log belongs to the reactor's thread: nobody else calls it, so there are no locks. It makes the disk calls that do not
wait for a disk: appends, reads from the page cache, and the few names that a roll or a truncation makes or changes (see
docs/decisions). What may wait (fsync, unlink, recovery, replays) is a job that is planned here, runs elsewhere on plain
values, and whose result is applied here, if `generation` is still that of the plan.

Offsets and the places that follow from them are kept here. The parts of the work have their own files: append, roll,
read (soundness: what was checked before it is served), lookup (by time), truncate, replace (compaction), retention,
durability (flush, close).
"""

from collections.abc import Callable

from odradek.log import append, durability, lookup, read, replace, retention, roll, truncate
from odradek.log.append import AppendInfo
from odradek.log.config import LogConfig
from odradek.log.dead_files import Deletion
from odradek.log.flush import FlushPlan
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.loading.loaded import LoadedLog, SegmentFacts
from odradek.log.lookup import FoundOffset
from odradek.log.producers.producer_rebuild import RebuildPlan
from odradek.log.producers.producer_state import PRODUCER_ID_EXPIRATION_MS, ProducerState
from odradek.log.read import HIGH_WATERMARK, FetchedRecords
from odradek.log.segment import unchecked
from odradek.log.segment.doubted_transactions import DoubtedTransactions
from odradek.log.segment.segment import Segment
from odradek.log.segment.segments import Segments
from odradek.log.soundness import soundness
from odradek.log.soundness.soundness import RangeCheck
from odradek.log.soundness.time_search import LargestTimestamp
from odradek.log.storage import Storage
from odradek.protocol import errors
from odradek.reactor.file_range import File
from odradek.reactor.ports import Buffer, JobOf


class Log:
    __slots__ = (
        "_high_watermark_place",
        "_recovery_point",
        "_stable_place",
        "active",
        "config",
        "deletions",
        "directory",
        "epochs",
        "first_unstable_offset",
        "flush_due_offset",
        "generation",
        "has_new_names",
        "has_stale_producers",
        "high_watermark",
        "index_interval_bytes",
        "is_append_time",
        "last_flushed_ms",
        "log_end_offset",
        "log_start_offset",
        "on_roll",
        "producer_id_expiration_ms",
        "producers",
        "refusal",
        "roll_bytes",
        "rules",
        "segments",
        "snapshots",
        "storage",
        "topic_partition",
        "unflushed",
        "unsynced_snapshots",
        "was_compacted",
    )

    def __init__(
        self,
        storage: Storage,
        loaded: LoadedLog,
        config: LogConfig,
        now_ms: int,
        *,
        producer_id_expiration_ms: int = PRODUCER_ID_EXPIRATION_MS,
        on_roll: "Callable[[Log], None] | None" = None,
    ) -> None:
        """`on_roll` is told of every roll: a flush should follow soon."""
        self.storage = storage
        self.directory = loaded.directory
        self.topic_partition = loaded.topic_partition
        self.producer_id_expiration_ms = producer_id_expiration_ms
        self.on_roll = on_roll
        self.segments = Segments(_segments(storage, loaded, now_ms))
        self.active: Segment = self.segments.last
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.high_watermark = loaded.log_start_offset
        self._recovery_point = loaded.recovery_point
        self.generation = 0
        self.epochs: LeaderEpochs = loaded.epochs
        self.producers: ProducerState = loaded.producers
        self.snapshots: list[int] = loaded.snapshots  # the offsets of the files that are there, sorted
        self.unsynced_snapshots: list[int] = loaded.unsynced_snapshots
        self.unflushed: dict[int, File | None] = dict.fromkeys(loaded.unflushed)  # sealed, by base offset
        self.has_new_names = loaded.has_new_names
        self.has_stale_producers = False  # a truncation has cut off markers that they still count
        self.first_unstable_offset: int | None = None
        self._high_watermark_place: tuple[int, int, int] | None = None  # offset, base offset of the segment, position
        self._stable_place: tuple[int, int, int] | None = None
        self.deletions: list[Deletion] = []  # renamed by a truncation, to be unlinked by a job
        self.was_compacted = False  # ever, so that there may be gaps whatever the policy is now
        self.last_flushed_ms = now_ms
        self.refusal: str | None = None  # why there are no appends: closed, or its producers are being read again
        self.update_config(config)
        self.find_first_unstable_offset()

    def __repr__(self) -> str:
        return (
            f"Log({self.topic_partition}, {self.log_start_offset}-{self.log_end_offset}, {len(self.segments)} segments)"
        )

    def update_config(self, config: LogConfig) -> None:
        """A change at run time; the active segment keeps its index size and its jitter."""
        self.config = config
        self.flush_due_offset = self._recovery_point + config.flush_messages
        self.rules = config.produce_rules(self.topic_partition)
        self.roll_bytes = config.roll_bytes
        self.index_interval_bytes = config.index_interval_bytes
        self.is_append_time = self.rules.is_append_time

    @property
    def is_closed(self) -> bool:
        return self.refusal == durability.CLOSED

    # Offsets.

    @property
    def size(self) -> int:
        return self.segments.size

    @property
    def last_stable_offset(self) -> int:
        unstable = self.first_unstable_offset
        return self.high_watermark if unstable is None or unstable > self.high_watermark else unstable

    @property
    def recovery_point(self) -> int:
        """Everything before this offset is on disk."""
        return self._recovery_point

    @recovery_point.setter
    def recovery_point(self, offset: int) -> None:
        self._recovery_point = offset
        self.flush_due_offset = offset + self.config.flush_messages

    @property
    def is_flush_due(self) -> bool:
        """Whether flush.messages records wait for a flush: until it has ended, a leader neither acknowledges nor shows
        them. `flush_due_offset` is the log end offset at which that is so; the append compares it by itself."""
        return self.log_end_offset >= self.flush_due_offset

    @property
    def unflushed_messages(self) -> int:
        return self.log_end_offset - self._recovery_point

    def update_high_watermark(self, offset: int, place: tuple[int, int] | None = None) -> int:
        """Sets it, within what the log holds: it may go back when the leader changes (R3). Returns the new one.

        `place`, if the caller knows it, is where the offset lies: base offset of the segment and position.
        """
        offset = max(self.log_start_offset, min(offset, self.log_end_offset))
        self.high_watermark = offset
        self._high_watermark_place = None if place is None else (offset, *place)
        self.producers.high_watermark_moved(offset)
        self.find_first_unstable_offset()
        return offset

    def advance_high_watermark_to_end(self) -> None:
        """The high watermark is the end of the log: the caller knows that every replica in sync has it.

        It is `update_high_watermark`, spelled out for the hot path.
        """
        self.high_watermark = self.log_end_offset
        if self.producers.has_unreplicated:
            self.producers.high_watermark_moved(self.log_end_offset)
            self.find_first_unstable_offset()

    def find_first_unstable_offset(self) -> None:
        """An open transaction may begin below a log start offset that was moved since; anywhere, if it is unknown."""
        unstable = self.log_start_offset if self.has_stale_producers else self.producers.first_unstable_offset
        self.first_unstable_offset = None if unstable is None else max(unstable, self.log_start_offset)

    def high_watermark_place(self) -> tuple[int, int]:
        """(base offset of the segment, position) of the high watermark: where a reader stops."""
        known = self._high_watermark_place
        if known is None or known[0] != self.high_watermark:
            known = self._high_watermark_place = (self.high_watermark, *read.place_of(self, self.high_watermark))
        return known[1], known[2]

    def stable_place(self) -> tuple[int, int]:
        """The segment and position of the last stable offset."""
        offset = self.last_stable_offset
        if offset == self.high_watermark:
            return self.high_watermark_place()
        known = self._stable_place
        if known is None or known[0] != offset:
            known = self._stable_place = (offset, *read.place_of(self, offset))
        return known[1], known[2]

    def forget_places(self) -> None:
        self._high_watermark_place = self._stable_place = None

    def increment_log_start_offset(self, offset: int) -> bool:
        """Deletes the records before `offset` as far as readers can tell; retention removes their segments."""
        if offset > self.high_watermark:
            raise errors.OffsetOutOfRange(
                f"The log start offset of {self.topic_partition} cannot move to {offset}, past the high watermark "
                f"{self.high_watermark}."
            )
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        self.producers.log_start_moved(offset)
        self.find_first_unstable_offset()
        return True

    # Appends.

    def append_as_follower(self, records: Buffer, now_ms: int) -> AppendInfo:
        """Appends what the leader sent, offsets and epochs as they are; a batch that is cut off at the end is left."""
        return append.append_as_follower(self, records, now_ms)

    def assign_epoch_start_offset(self, leader_epoch: int, start_offset: int) -> None:
        """A leader begins its epoch, before its first append."""
        self.epochs.assign(leader_epoch, start_offset)

    def roll(self, now_ms: int, expected_next_offset: int = 0) -> Segment:
        return roll.roll(self, now_ms, expected_next_offset)

    # Reads.

    def read(
        self, offset: int, max_bytes: int, *, isolation: int = HIGH_WATERMARK, min_one_message: bool = True
    ) -> FetchedRecords:
        """Batches from the one that holds `offset` on, every byte of them checked in the life of this process. With
        `min_one_message` the first is whole, even if it is larger than `max_bytes` (KIP-74); the last may be cut off.

        NotInCache if that would have to wait: `LogManager.read_ahead`, then try again. LogDamaged for damage.
        """
        return read.read(self, offset, max_bytes, isolation, min_one_message)

    def note_checked(self, check: RangeCheck | None) -> None:
        """What a job of `read_ahead` has found. LogDamaged if it is damage; nothing if the log has changed since."""
        if check is not None:
            soundness.note(self, check)

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """(epoch, end offset) for OffsetsForLeaderEpoch; (-1, -1) if it is not known."""
        return self.epochs.end_offset_for(leader_epoch, self.log_end_offset)

    def special_offset(self, timestamp: int) -> FoundOffset | None:
        """The answer to earliest (-2), latest (-1) and the like; None if it takes `lookup_job`."""
        return lookup.special_offset(self, timestamp)

    def lookup_job(
        self, timestamp: int, *, tells_own_epoch: bool = True, told: list[LargestTimestamp] | None = None
    ) -> JobOf[FoundOffset | None]:
        """The first record at or after `timestamp`, or the one with the largest (-3): returns FoundOffset or None.

        What it learns of segments whose times are doubted enters `told`, for `note_times` of the same generation.
        """
        return lookup.lookup_job(self, timestamp, tells_own_epoch=tells_own_epoch, told=told)

    def note_times(self, generation: int, told: list[LargestTimestamp]) -> None:
        lookup.note_times(self, generation, told)

    # What changes the past.

    def truncate_to(self, offset: int, now_ms: int) -> RebuildPlan | None:
        """Drops everything from `offset` on. A plan means: appends must wait for `rebuild_job` and `install`."""
        return truncate.truncate_to(self, offset, now_ms)

    def recovery_point_for(self, offset: int) -> int:
        """The recovery point to have on disk before `truncate_to(offset)`."""
        return truncate.recovery_point_for(self, offset)

    def truncate_fully_and_start_at(self, offset: int, now_ms: int) -> None:
        """Drops everything; the log is empty and begins at `offset`."""
        truncate.truncate_fully_and_start_at(self, offset, now_ms)

    def install(self, plan: RebuildPlan, producers: ProducerState) -> bool:
        """The result of `rebuild_job`; False if the log has changed since, and the job must run again."""
        return truncate.install(self, plan, producers)

    def replace_segments(self, new: list[SegmentFacts], replaced: list[int]) -> Deletion:
        """Compaction: the new segments, in `.swap` files that are durable, step in for those at `replaced`."""
        return replace.replace_segments(self, new, replaced)

    def finish_replace(self) -> None:
        """The names that `replace_segments` changed are durable: the new segments take their final ones."""
        replace.finish_replace(self)

    def delete_old_segments(self, now_ms: int) -> Deletion | None:
        """Retention: takes segments out of the log. Their files are renamed, later unlinked, by the deletion's jobs."""
        return retention.delete_old_segments(self, now_ms)

    def remove_expired_producers(self, now_ms: int) -> int:
        return self.producers.remove_expired(now_ms, self.producer_id_expiration_ms)

    # Durability.

    def begin_flush(self, now_ms: int) -> FlushPlan | None:
        """What `flush_job` has to do; None if nothing changed since the last one."""
        return durability.begin_flush(self, now_ms)

    def flushed(self, plan: FlushPlan) -> bool:
        """The job has ended well: moves the recovery point, unless the log has changed its past since."""
        return durability.flushed(self, plan)

    def not_flushed(self, plan: FlushPlan) -> None:
        durability.not_flushed(self, plan)

    def begin_close(self, now_ms: int) -> FlushPlan:
        """No appends from now on. After the job, `closed` lets go of the files."""
        return durability.begin_close(self, now_ms)

    def closed(self, plan: FlushPlan) -> None:
        durability.closed(self, plan)

    def abandon(self) -> None:
        """Lets go of everything and writes nothing: the dir has failed, or the partition is being deleted."""
        durability.abandon(self)


def _segments(storage: Storage, loaded: LoadedLog, now_ms: int) -> list[Segment]:
    """Backwards: a transaction index is believed if its own segment, and all behind it, were read by this process."""
    found: list[Segment] = []
    is_doubted = False
    for facts in reversed(loaded.segments):
        segment = _segment(storage, loaded.directory, facts, now_ms)
        is_doubted |= not facts.is_checked and facts.size > 0
        if is_doubted:
            segment.indexes.doubted = DoubtedTransactions(facts.size, None if found else loaded.log_end_offset)
        found.append(segment)
    return found[::-1]


def _segment(storage: Storage, directory: str, facts: SegmentFacts, now_ms: int) -> Segment:
    segment = Segment(storage, directory, facts.base_offset, facts.size, now_ms)
    segment.max_timestamp = facts.max_timestamp
    segment.offset_of_max_timestamp = facts.offset_of_max_timestamp
    segment.indexes.has_transactions = facts.has_transaction_index
    if not facts.is_checked:
        segment.unchecked = unchecked.whole(facts.size)
        segment.has_doubted_times = facts.size > 0
    return segment
