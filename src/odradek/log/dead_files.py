"""Files on their way out: first renamed, so that a restart knows them for dead, unlinked after a delay.

The delay (file.delete.delay.ms) is for readers that open by name; ours hold the file itself. Old segments go one by
one, the oldest first, each durably before the next: otherwise a crash could bring back one from before a gap.
"""

from collections.abc import Iterable, Sequence

from odradek.log import names
from odradek.log.dir_sync import sync_dir_if_there
from odradek.log.failpoint import failpoint
from odradek.log.failure import LogDirFailure
from odradek.reactor.ports import Disk, JobOf


class Deletion:
    """`groups` are the files of one segment each, by their names before the rename."""

    __slots__ = ("directory", "groups")

    def __init__(self, directory: str, groups: Sequence[list[str]]) -> None:
        self.directory = directory
        self.groups = list(groups)

    def __repr__(self) -> str:
        return f"Deletion({self.groups})"

    @property
    def paths(self) -> list[str]:
        return [path for group in self.groups for path in group]

    def rename(self, disk: Disk) -> None:
        """At once, and not yet durable: for files whose names may be needed again."""
        failpoint("log.retention.before_rename")
        for path in self.paths:
            _rename(disk, path)
        failpoint("log.retention.after_rename")

    def rename_job(self, disk: Disk) -> JobOf[None]:
        for group in self.groups:
            failpoint("log.retention.before_rename")
            for path in group:
                _rename(disk, path)
            failpoint("log.retention.after_rename")
            sync_dir_if_there(disk, self.directory)
            yield 0

    def unlink_job(self, disk: Disk) -> JobOf[None]:
        """Unlinks what was renamed. A file that was not, because it was not there, is not looked for."""
        failpoint("log.retention.before_unlink")
        for path in self.paths:
            unlink_if_there(disk, path + names.DELETED)
            yield 0
        failpoint("log.retention.after_unlink")
        sync_dir_if_there(disk, self.directory)


def _rename(disk: Disk, path: str) -> None:
    try:
        disk.rename(path, path + names.DELETED)
    except FileNotFoundError:
        return  # a file that this segment never had, or renamed before a crash
    except OSError as error:
        raise LogDirFailure(f"renaming failed: {error}", path) from error


def unlink_if_there(disk: Disk, path: str) -> None:
    try:
        disk.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise LogDirFailure(f"unlinking failed: {error}", path) from error


def unlink_all(disk: Disk, paths: Iterable[str]) -> None:
    for path in paths:
        unlink_if_there(disk, path)
