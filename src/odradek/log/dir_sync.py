"""Making names durable: the fsync of a directory, and what its failure means for a log."""

from odradek.log.failure import LogDirFailure
from odradek.reactor.ports import Disk, JobOf


def sync_dir_if_there(disk: Disk, directory: str) -> None:
    try:
        disk.fsync_dir(directory)
    except FileNotFoundError:
        return  # the whole partition has been renamed or is gone
    except OSError as error:
        raise _failed(directory, error) from error


def sync_dir_job(disk: Disk, directory: str) -> JobOf[None]:
    """Of a directory that has to be there."""
    try:
        disk.fsync_dir(directory)
    except OSError as error:
        raise _failed(directory, error) from error
    yield 0


def _failed(directory: str, error: OSError) -> LogDirFailure:
    return LogDirFailure(f"fsync of the directory failed: {error}", directory)
