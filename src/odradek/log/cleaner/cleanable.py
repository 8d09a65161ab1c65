"""Which part of a log can be cleaned, and which log needs it most.

    clean          dirty, cleanable             dirty, not yet
    |-------------|----------------------------|-----------------|
    first segment  first dirty offset           first uncleanable offset, the base of a segment

The cleaner has been up to the first dirty offset, which its checkpoint remembers. Never cleaned are the active segment,
what lies at or past the last stable offset (L8: a key's last value may still be aborted), and segments with a record
younger than `min.compaction.lag.ms`. A log is due when the dirty part is a large enough share of what could be cleaned
(`min.cleanable.dirty.ratio`), or when its oldest dirty record has waited longer than `max.compaction.lag.ms`.
"""

from collections.abc import Iterable

from odradek.log.log import Log
from odradek.log.segment.segment import Segment

LAG_UNLIMITED_MS = (1 << 63) - 1


class LogToClean:
    """A log, seen at one instant."""

    __slots__ = (
        "clean_bytes",
        "cleanable_bytes",
        "compaction_delay_ms",
        "first_dirty_offset",
        "first_uncleanable_offset",
        "log",
    )

    def __init__(
        self, log: Log, first_dirty_offset: int, first_uncleanable_offset: int, compaction_delay_ms: int
    ) -> None:
        self.log = log
        self.first_dirty_offset = first_dirty_offset
        self.first_uncleanable_offset = first_uncleanable_offset
        self.compaction_delay_ms = compaction_delay_ms
        self.clean_bytes = 0
        self.cleanable_bytes = 0
        for segment in log.segments:
            if segment.base_offset >= first_uncleanable_offset:
                break
            following = log.segments.higher(segment.base_offset)
            # The segment in which the last round stopped counts as both: else it might wait for ever for its rest.
            if segment.base_offset < first_dirty_offset:
                self.clean_bytes += segment.size
            if following is not None and following.base_offset > first_dirty_offset:
                self.cleanable_bytes += segment.size

    def __repr__(self) -> str:
        return (
            f"LogToClean({self.log.topic_partition}, {self.first_dirty_offset}-{self.first_uncleanable_offset}, "
            f"{self.cleanable_ratio:.2f} dirty)"
        )

    @property
    def total_bytes(self) -> int:
        return self.clean_bytes + self.cleanable_bytes

    @property
    def cleanable_ratio(self) -> float:
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    @property
    def is_due(self) -> bool:
        if self.cleanable_bytes == 0:
            return False
        return self.compaction_delay_ms > 0 or self.cleanable_ratio > self.log.config.min_cleanable_dirty_ratio


def log_to_clean(log: Log, checkpointed_offset: int | None, now_ms: int) -> LogToClean:
    first_dirty = first_dirty_offset(log, checkpointed_offset)
    return LogToClean(
        log,
        first_dirty,
        first_uncleanable_offset(log, first_dirty, now_ms),
        compaction_delay_ms(log, first_dirty, now_ms),
    )


def filthiest(logs: Iterable[LogToClean]) -> LogToClean | None:
    return max((log for log in logs if log.is_due), key=lambda log: log.cleanable_ratio, default=None)


def first_dirty_offset(log: Log, checkpointed_offset: int | None) -> int:
    """The checkpoint, unless the log has been cut on either side of it since."""
    if checkpointed_offset is None or not log.log_start_offset <= checkpointed_offset <= log.log_end_offset:
        return log.log_start_offset
    return checkpointed_offset


def first_uncleanable_offset(log: Log, first_dirty: int, now_ms: int) -> int:
    """Always the base offset of a segment: segments are cleaned whole."""
    limit = min(log.last_stable_offset, log.active.base_offset)
    if log.config.min_compaction_lag_ms > 0:
        since_ms = now_ms - log.config.min_compaction_lag_ms
        young = (each.base_offset for each in dirty_segments(log, first_dirty) if each.largest_timestamp() > since_ms)
        limit = min(limit, next(young, limit))
    # The segment that holds the limit cannot be cleaned. At its very base offset, the one before it still can.
    holder = log.segments.floor(limit)
    return log.segments.first.base_offset if holder is None else holder.base_offset


def compaction_delay_ms(log: Log, first_dirty: int, now_ms: int) -> int:
    """By how much the oldest dirty record has outstayed `max.compaction.lag.ms`; 0 if it has not."""
    if log.config.max_compaction_lag_ms == LAG_UNLIMITED_MS:
        return 0
    timestamps = [each.first_timestamp for each in dirty_segments(log, first_dirty) if each.first_timestamp > 0]
    clean_until_ms = now_ms - log.config.max_compaction_lag_ms
    return max(0, clean_until_ms - min(timestamps, default=clean_until_ms))


def dirty_segments(log: Log, first_dirty: int) -> list[Segment]:
    """Returns the sealed segments from the first dirty offset on; the first may begin with a clean part."""
    return [segment for segment in log.segments.from_offset(first_dirty) if segment is not log.active]
