"""Making a log durable: which files, in which order, and when the recovery point may move.

The plan is drawn up on the reactor, the job runs elsewhere, and its end is applied on the reactor if the log is still
what it was (`generation`). The order in the job: log files, indexes, producer snapshots, leader epochs, the directory
for new names. The recovery point moves when all of that is on disk, so that recovery never has to look below it.

An fsync that fails is the end of the dir: what the kernel could not write it may have marked clean, a second try would
succeed without the bytes.
"""

from odradek.log import names
from odradek.log.dir_sync import sync_dir_if_there
from odradek.log.failpoint import failpoint
from odradek.log.failure import LogDirFailure, storage_error
from odradek.reactor.file_range import File
from odradek.reactor.ports import Disk, JobOf


class FlushPlan:
    """Plain values and files that are held open until `release`."""

    __slots__ = (
        "base_offsets",
        "directory",
        "epochs",
        "files",
        "generation",
        "index_paths",
        "log_paths",
        "offset",
        "snapshot_paths",
        "snapshots",
        "syncs_dir",
    )

    def __init__(self, directory: str, generation: int, offset: int) -> None:
        self.directory = directory
        self.generation = generation
        self.offset = offset  # the log is durable up to here when the job has ended
        self.files: list[File] = []
        self.base_offsets: list[int] = []  # of the sealed segments among them
        self.log_paths: list[str] = []
        self.index_paths: list[str] = []
        self.snapshots: list[int] = []
        self.snapshot_paths: list[str] = []
        self.epochs: bytes | None = None  # the file's new content
        self.syncs_dir = False

    def __repr__(self) -> str:
        return f"FlushPlan({self.directory}, offset={self.offset}, generation={self.generation})"

    def release(self) -> None:
        """On the reactor, when the job has ended in any way."""
        files, self.files = self.files, []
        for file in files:
            file.release()


def flush_job(disk: Disk, plan: FlushPlan) -> JobOf[int]:
    failpoint("log.flush.before_fsync")
    for file in plan.files:
        _fsync(file)
        yield 0
    for path in plan.log_paths:
        _fsync_path(disk, path)
        yield 0
    failpoint("log.flush.after_log")
    for path in plan.index_paths + plan.snapshot_paths:
        _fsync_path(disk, path)
        yield 0
    failpoint("log.flush.after_indexes")
    if plan.epochs is not None:
        write_epochs(disk, plan.directory, plan.epochs)
    failpoint("log.flush.after_epochs")
    if plan.syncs_dir:
        sync_dir_if_there(disk, plan.directory)
    failpoint("log.flush.after_dir")
    return plan.offset


def write_epochs(disk: Disk, directory: str, data: bytes) -> None:
    path = f"{directory}/{names.LEADER_EPOCHS}"
    try:
        disk.write_atomically(path, data)
    except FileNotFoundError:
        return  # the partition's directory was renamed since: the plan's generation is an old one
    except OSError as error:
        raise storage_error(error, "writing the leader epochs", path) from error  # without space the old ones stand


def _fsync(file: File) -> None:
    try:
        file.disk_file.fsync()
    except OSError as error:
        raise LogDirFailure(f"fsync failed: {error}", file.disk_file.path) from error


def _fsync_path(disk: Disk, path: str) -> None:
    """A file that is gone was deleted or replaced since: then the plan's generation is an old one."""
    try:
        file = disk.open(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise LogDirFailure(f"opening for fsync failed: {error}", path) from error
    try:
        file.fsync()
    except OSError as error:
        raise LogDirFailure(f"fsync failed: {error}", path) from error
    finally:
        file.close()
