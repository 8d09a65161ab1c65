"""What of the metadata log may go: segments and snapshots that a newer snapshot has made needless.

While log and snapshots together are larger than metadata.max.retention.bytes, or the oldest snapshot is older than
metadata.max.retention.ms, the log below the second oldest snapshot goes, and the oldest with it. The latest always
stays. Only then does the log start offset move, so that a snapshot stands at it or past it (C5).
"""

from odradek.log.dead_files import Deletion
from odradek.raft import snapshots
from odradek.raft.keys import OffsetAndEpoch
from odradek.raft.metadata_log import MetadataLog
from odradek.raft.snapshots import SnapshotFacts

INTERVAL_MS = 60_000


async def clean(log: MetadataLog, now_ms: int, limit_offset: int) -> int:
    """Returns how many snapshots went. `now_ms` is of the wall clock; somebody still reads from the limit on."""
    limit_offset = min(limit_offset, log.log.high_watermark)
    doomed: list[SnapshotFacts] = []
    while len(log.snapshots) > 1 and log.snapshots[1].id.offset <= limit_offset and _is_due(log, now_ms):
        doomed.append(log.snapshots.pop(0))
        log.log.increment_log_start_offset(log.snapshots[0].id.offset)
    if doomed or log.log.log_start_offset > log.log.segments.first.base_offset:
        await _remove(log, [facts.id for facts in doomed], now_ms)
    return len(doomed)


def _is_due(log: MetadataLog, now_ms: int) -> bool:
    config = log.config
    size = log.log.size + sum(facts.size for facts in log.snapshots)
    if 0 <= config.retention_bytes < size:
        return True
    age_ms = now_ms - log.snapshots[0].last_contained_log_timestamp
    return 0 <= config.retention_ms < age_ms


async def _remove(log: MetadataLog, doomed: list[OffsetAndEpoch], now_ms: int) -> None:
    disk = log.loop.ports.disk
    size = log.log.size
    deletion: Deletion | None = log.log.delete_old_segments(now_ms)
    log.cleaned_bytes += size - log.log.size
    if deletion is not None:
        await log.run(deletion.rename_job(disk))
        log.remove_later(deletion.paths)
    if doomed:
        await log.run(snapshots.retire_job(disk, log.directory, doomed))
        log.remove_later([f"{log.directory}/{snapshots.file_name(each)}" for each in doomed])
