"""Offsets by timestamp or by place, and by leader epoch: what ListOffsets and OffsetForLeaderEpoch ask a partition.

The ends of the log are told at once; a search by time reads batches, in a job. To consumers the log ends at the high
watermark, or at the last stable offset if they read committed records only. A new leader does not tell the end before
its high watermark has passed the start of its epoch: it may know less than the leader before it had told (R3).
"""

from typing import TYPE_CHECKING

from odradek.log import names
from odradek.log.failure import LogFailure
from odradek.log.log import Log
from odradek.log.lookup import EARLIEST, LATEST, NOTHING, FoundOffset
from odradek.log.soundness.time_search import LargestTimestamp
from odradek.protocol import errors
from odradek.records.layout import NO_TIMESTAMP
from odradek.replica.partition import Partition

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager

READ_COMMITTED = 1


class OffsetQuery:
    """`isolation_level` is None for a follower, which sees everything."""

    __slots__ = ("current_leader_epoch", "isolation_level", "only_leader", "timestamp")

    def __init__(
        self,
        timestamp: int,
        *,
        isolation_level: int | None = 0,
        current_leader_epoch: int = -1,
        only_leader: bool = True,
    ) -> None:
        self.timestamp = timestamp
        self.isolation_level = isolation_level
        self.current_leader_epoch = current_leader_epoch
        self.only_leader = only_leader


async def list_offset(replicas: "ReplicaManager", partition: Partition, query: OffsetQuery) -> FoundOffset:
    if query.only_leader:
        log = partition.leader_log(query.current_leader_epoch)
    else:
        log = partition.local_log(query.current_leader_epoch)
    timestamp = query.timestamp
    if timestamp == LATEST:
        _check_epoch_start(partition, log, query)
        return FoundOffset(NO_TIMESTAMP, _limit(log, query), partition.leader_epoch)
    is_place = timestamp >= EARLIEST or replicas.release.behaviour.refuses_unknown_timestamps
    found = log.special_offset(timestamp) if is_place else None
    if found is not None:
        return found
    found = await _search(replicas, log, timestamp)
    if found is None or found.offset < _limit(log, query):
        return found or NOTHING
    _check_epoch_start(partition, log, query)
    return NOTHING  # it is there, and not for this reader yet


def _limit(log: Log, query: OffsetQuery) -> int:
    if query.isolation_level is None:
        return log.log_end_offset
    return log.last_stable_offset if query.isolation_level == READ_COMMITTED else log.high_watermark


def _check_epoch_start(partition: Partition, log: Log, query: OffsetQuery) -> None:
    leader = partition.leader
    if query.isolation_level is None or leader is None or leader.isr.has_reached_epoch_start(log.high_watermark):
        return
    raise errors.OffsetNotAvailable(
        f"The high watermark {log.high_watermark} of {partition.name} is behind the start of leader epoch "
        f"{partition.leader_epoch}."
    )


async def _search(replicas: "ReplicaManager", log: Log, timestamp: int) -> FoundOffset | None:
    """A 3.3 takes every negative time that names no place for one before all records."""
    told: list[LargestTimestamp] = []
    generation = log.generation
    job = log.lookup_job(
        timestamp, tells_own_epoch=replicas.release.behaviour.tells_epoch_of_largest_timestamp, told=told
    )
    try:
        found: FoundOffset | None = await replicas.loop.submit(job)
    except LogFailure as failure:
        replicas.logs.handle_failure(failure)
        raise
    log.note_times(generation, told)
    return found


def legacy_offsets(
    partition: Partition, timestamp: int, max_count: int, now_ms: int, *, is_consumer: bool
) -> list[int]:
    """ListOffsets 0: where the segments begin that were last written to at or before `timestamp`, newest first."""
    log = partition.leader_log()
    disk = log.storage.disk
    starts = [
        (max(segment.base_offset, log.log_start_offset), disk.mtime_ms(segment.path(names.LOG)))
        for segment in log.segments
    ]
    if log.active.size:
        starts.append((log.log_end_offset, now_ms))
    if timestamp == EARLIEST:
        starts = starts[:1]
    elif timestamp != LATEST:
        starts = [start for start in starts if start[1] <= timestamp]
    found = [offset for offset, _ in reversed(starts)][: max(0, max_count)]
    if is_consumer and any(offset > log.high_watermark for offset in found):
        found = [log.high_watermark, *(offset for offset in found if offset < log.high_watermark)]
    return found


def epoch_end(partition: Partition, leader_epoch: int, current_leader_epoch: int) -> tuple[int, int]:
    """(epoch, end offset): where the largest epoch at or below `leader_epoch` ends; (-1, -1) if that is not known."""
    return partition.leader_log(current_leader_epoch).end_offset_for_epoch(leader_epoch)
