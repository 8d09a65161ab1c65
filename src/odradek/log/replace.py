"""Putting compacted segments in the place of those they were made from, so that a crash leaves the old or the new.

    job       the new files are complete as .cleaned and synced; .swap; directory synced      (swap_job)
    reactor   the old ones leave the list and become .deleted, the new ones enter it          (replace_segments)
    job       directory synced                                                                (sync_dir_job)
    reactor   .swap becomes the final name                                                    (finish_replace)
    job       the .deleted files are unlinked                                                 (Deletion)

Without the sync between the renames, a crash could keep the new name of one segment and the old file of another that it
replaces: two segments with the same offsets. From the first .swap on, loading finishes the work.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from odradek.broken_rule import require
from odradek.log import names
from odradek.log.dead_files import Deletion
from odradek.log.failpoint import failpoint
from odradek.log.failure import LogDirFailure
from odradek.log.loading.loaded import SegmentFacts
from odradek.log.segment.doubted_transactions import DoubtedTransactions
from odradek.log.segment.segment import Segment
from odradek.log.truncate import remove_segments
from odradek.reactor.ports import Disk, JobOf

if TYPE_CHECKING:
    from odradek.log.log import Log


def swap_job(disk: Disk, stems: Iterable[str], directory: str) -> JobOf[None]:
    """`stems` are the paths of all new files without `.cleaned`."""
    for stem in stems:
        _rename(disk, stem + names.CLEANED, stem + names.SWAP)
        yield 0
    disk.fsync_dir(directory)


def replace_segments(log: "Log", new: list[SegmentFacts], replaced: list[int]) -> Deletion:
    old = [segment for segment in log.segments if segment.base_offset in replaced]
    require(len(old) == len(replaced), "segments are replaced that the log has")
    require(log.active not in old, "the active segment is never replaced")
    require(not any(segment.files.suffix for segment in old), "a segment is replaced after its own swap has ended")
    log.generation += 1
    log.was_compacted = True
    log.forget_places()
    deletion = remove_segments(log, old)
    deletion.rename(log.storage.disk)
    failpoint("log.replace.after_old")
    for facts in new:
        log.segments.add(_segment(log, facts, old[-1].created_ms))
    return deletion


def _segment(log: "Log", facts: SegmentFacts, created_ms: int) -> Segment:
    segment = Segment(log.storage, log.directory, facts.base_offset, facts.size, created_ms)
    segment.max_timestamp = facts.max_timestamp
    segment.offset_of_max_timestamp = facts.offset_of_max_timestamp
    segment.indexes.has_transactions = facts.has_transaction_index
    segment.files.suffix = names.SWAP
    following = log.segments.higher(facts.base_offset)
    if following is not None and following.indexes.doubted is not None:
        segment.indexes.doubted = DoubtedTransactions(facts.size, None)
    return segment


def finish_replace(log: "Log") -> None:
    for segment in log.segments:
        if segment.files.suffix:
            _give_final_names(log, segment)
    failpoint("log.replace.after_new")
    log.has_new_names = True


def _give_final_names(log: "Log", segment: Segment) -> None:
    paths = segment.paths
    for path in paths:
        log.storage.forget(path)
        _rename(log.storage.disk, path, path.removesuffix(names.SWAP))
    segment.files.suffix = ""


def _rename(disk: Disk, old: str, new: str) -> None:
    try:
        disk.rename(old, new)
    except OSError as error:
        raise LogDirFailure(f"renaming failed: {error}", old) from error
