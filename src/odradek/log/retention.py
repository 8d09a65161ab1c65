"""Which old segments go: past retention.bytes, past retention.ms, or wholly below the log start offset.

Only whole segments from the front, and none that the high watermark has not passed: what is deleted has been
replicated. The log start offset moves with them. A log never loses its last segment: if all are due, it rolls first.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.log.dead_files import Deletion
from odradek.log.producers import producer_snapshot
from odradek.log.roll import roll
from odradek.log.truncate import remove_segments

if TYPE_CHECKING:
    from odradek.log.log import Log
    from odradek.log.segment.segment import Segment

IsDue = Callable[["Segment", "Segment | None"], bool]


def delete_old_segments(log: "Log", now_ms: int) -> Deletion | None:
    due = _due(log, lambda segment, following: _is_below_log_start(log, following))
    if log.config.is_deleted:
        due = max(due, _due(log, _is_past_bytes(log)), _due(log, _is_past_ms(log, now_ms)), key=len)
    return _delete(log, due, now_ms) if due else None


def _due(log: "Log", is_due: IsDue) -> list["Segment"]:
    """The segments from the front for which it holds, up to the first for which it does not."""
    due: list[Segment] = []
    for segment in log.segments:
        following = log.segments.higher(segment.base_offset)
        end_offset = log.log_end_offset if following is None else following.base_offset
        is_last_and_empty = following is None and not segment.size
        if is_last_and_empty or log.high_watermark < end_offset or not is_due(segment, following):
            break
        due.append(segment)
    return due


def _is_below_log_start(log: "Log", following: "Segment | None") -> bool:
    return following is not None and following.base_offset <= log.log_start_offset


def _is_past_bytes(log: "Log") -> IsDue:
    excess = log.size - log.config.retention_bytes

    def is_due(segment: "Segment", _: "Segment | None") -> bool:
        nonlocal excess
        if log.config.retention_bytes < 0 or excess < segment.size:
            return False
        excess -= segment.size
        return True

    return is_due


def _is_past_ms(log: "Log", now_ms: int) -> IsDue:
    """Nothing is deleted for a timestamp that may be wrong: `next_doubted` is to be looked at first."""
    return lambda segment, _: not segment.has_doubted_times and _is_old(log, segment, now_ms)


def _is_old(log: "Log", segment: "Segment", now_ms: int) -> bool:
    return 0 <= log.config.retention_ms < now_ms - segment.largest_timestamp()


def next_doubted(log: "Log", now_ms: int) -> "Segment | None":
    """The segment whose largest timestamp decides what else is due, if it was found on disk and not proved since.

    The last one is left alone while it seems to be young: most logs are small, and have no other.
    """
    if not log.config.is_deleted or log.config.retention_ms < 0:
        return None
    for segment in log.segments:
        is_old = _is_old(log, segment, now_ms)
        if segment.has_doubted_times and (is_old or segment is not log.active):
            return segment
        if not is_old:
            return None
    return None


def _delete(log: "Log", due: list["Segment"], now_ms: int) -> Deletion:
    if len(due) == len(log.segments):
        roll(log, now_ms, 0)
    deletion = remove_segments(log, due)
    _drop_snapshots(log, {segment.base_offset for segment in due}, deletion)
    log.increment_log_start_offset(log.segments.first.base_offset)
    return deletion


def _drop_snapshots(log: "Log", base_offsets: set[int], deletion: Deletion) -> None:
    doomed = [producer_snapshot.path_of(log.directory, kept) for kept in log.snapshots if kept in base_offsets]
    deletion.groups.append(doomed)
    log.snapshots = [kept for kept in log.snapshots if kept not in base_offsets]
    log.unsynced_snapshots = [kept for kept in log.unsynced_snapshots if kept not in base_offsets]
