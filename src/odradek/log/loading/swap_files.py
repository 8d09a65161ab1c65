"""Finishes or undoes what a crash interrupted: the files of a partition that end in .deleted, .cleaned or .swap.

    .deleted   on its way out: remove
    .cleaned   compaction was still writing it: remove, and with it every .swap of the same or a higher offset, which is
               part of the same unfinished replacement
    .swap      the replacement was complete and decided: remove what it replaces, give it its name

The order of the steps, with a sync of the directory between them, makes every interruption of this very work harmless:
a .cleaned file goes only after the .swap files that it condemns, and what is replaced goes before the .swap is renamed.
"""

from odradek.log import names
from odradek.log.dead_files import unlink_all, unlink_if_there
from odradek.log.failpoint import failpoint
from odradek.log.failure import LogDirFailure
from odradek.log.segment.segment_tail import next_offset_of
from odradek.reactor.ports import Disk

_STATES = (names.DELETED, names.CLEANED, names.SWAP)

Parsed = tuple[str, int, str, str]  # name, offset, kind, state


def finish_or_undo(disk: Disk, directory: str, listing: list[str]) -> list[str]:
    """Brings one directory in order, and returns the names that are there afterwards."""
    parsed = [(name, *parts) for name in listing if (parts := names.split(name)) is not None]
    in_transit = [item for item in parsed if item[3].endswith(_STATES)]
    if not in_transit:
        return listing
    try:
        _remove(disk, directory, [name for name, _, _, state in in_transit if state.endswith(names.DELETED)])
        failpoint("log.load.after_deleted")
        swaps = _without_unfinished(disk, directory, in_transit)
        failpoint("log.load.after_cleaned")
        _finish(disk, directory, swaps, [item for item in parsed if not item[3]])
        return disk.list(directory)
    except OSError as error:
        raise LogDirFailure(f"settling an interrupted replacement failed: {error}", directory) from error


def _remove(disk: Disk, directory: str, doomed: list[str]) -> None:
    unlink_all(disk, (f"{directory}/{name}" for name in doomed))


def _without_unfinished(disk: Disk, directory: str, in_transit: list[Parsed]) -> list[Parsed]:
    cleaned = [item for item in in_transit if item[3] == names.CLEANED]
    swaps = [item for item in in_transit if item[3] == names.SWAP]
    if not cleaned:
        return swaps
    first = min(offset for _, offset, _, _ in cleaned)
    _remove(disk, directory, [name for name, offset, _, _ in swaps if offset >= first])
    disk.fsync_dir(directory)
    _remove(disk, directory, [name for name, _, _, _ in cleaned])
    return [item for item in swaps if item[1] < first]


def _finish(disk: Disk, directory: str, swaps: list[Parsed], final: list[Parsed]) -> None:
    if not swaps:
        return
    replaced = _replaced(disk, directory, swaps)
    if replaced is not None:
        for name, offset, kind, _ in final:
            if kind in names.SEGMENT_FILES and replaced[0] <= offset < replaced[1]:
                unlink_if_there(disk, f"{directory}/{name}")
        disk.fsync_dir(directory)
    failpoint("log.load.after_old_segments")
    for name, _, _, _ in swaps:
        disk.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix(names.SWAP)}")
    disk.fsync_dir(directory)
    failpoint("log.load.after_swap")


def _replaced(disk: Disk, directory: str, swaps: list[Parsed]) -> tuple[int, int] | None:
    """The offsets, from and to, that the new segments stand for. None if their logs have their names already."""
    logs = [offset for _, offset, kind, _ in swaps if kind == names.LOG]
    if not logs:
        return None
    end = max(next_offset_of(disk, f"{directory}/{names.file_name(offset, '')}", offset, names.SWAP) for offset in logs)
    return min(logs), end
