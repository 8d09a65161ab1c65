"""What can go wrong below a log, told apart by what has to happen next.

| raised | what it means | what the caller does |
|---|---|---|
| `LogDirFailure` | the disk refuses: EIO, a failed fsync | takes the dir offline, with every log in it |
| `LogDamaged` | what one log has on disk is not what was written | sets that log aside, the others go on |
| `DiskFull` | nothing was written: what went in has been cut off again | answers the error, the log goes on |
| `NotInCache` | not in memory, or (`NotChecked`) too much to check at once | `LogManager.read_ahead`, tries again |
| `UnexpectedAppendOffset` | a follower was handed records that do not follow its log | truncates and fetches again |

`LogManager.handle_failure` does what the first two ask for: whoever cannot go on hands them in.

An OSError never leaves this package bare: its errno alone does not say whether the log is still sound.
"""

from collections.abc import Iterator
from errno import EACCES, EDQUOT, EISDIR, ELOOP, EMFILE, ENFILE, ENOENT, ENOSPC, ENOTDIR, EPERM, EROFS
from typing import TypeVar

from odradek.protocol import errors
from odradek.reactor.file_range import File

# What is the matter with one file, and says nothing of the disk that it is on: it is gone, or somebody else's.
_OF_ONE_FILE = frozenset({ENOENT, EISDIR, ENOTDIR, ELOOP, EACCES, EPERM})

# What a system refuses whatever a file holds, and what an operator does about it.
_OWNER = "give its files to the user who runs this (chown -R), or run this as their owner"
_REMEDIES = {
    EACCES: _OWNER,
    EPERM: _OWNER,
    EROFS: "mount its file system so that it can be written",
    EMFILE: "allow this process more open files (ulimit -n, or LimitNOFILE= of its service)",
    ENFILE: "allow this system more open files (sysctl fs.file-max)",
}


class LogFailure(errors.KafkaStorageError):
    """`path` is the file or directory that failed, `position` the byte, if there is one to blame."""

    def __init__(self, reason: str, path: str, position: int | None = None) -> None:
        self.reason = reason
        self.path = path
        self.position = position
        where = path if position is None else f"{path}, byte {position}"
        super().__init__(f"{reason} ({where})")


class LogDirFailure(LogFailure):
    """Nothing in the dir can be relied on any more."""


class LogDamaged(LogFailure):
    """`path` is the directory of the log, or a file in it."""


class DiskFull(errors.KafkaStorageError):
    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"There is no space left on the disk of {path}; nothing was appended.")


class NotInCache(Exception):  # noqa: N818 - a state, not a fault
    """The range to read ahead. It holds no user of the file: `read_ahead` must be called before the file can close."""

    def __init__(self, file: File, position: int, size: int) -> None:
        super().__init__(file.disk_file.path, position, size)
        self.file = file
        self.position = position
        self.size = size


class UnexpectedAppendOffset(errors.UnknownServerError):
    def __init__(self, topic_partition: str, first_offset: int, log_end_offset: int) -> None:
        self.first_offset = first_offset
        self.log_end_offset = log_end_offset
        super().__init__(
            f"Records for {topic_partition} begin at offset {first_offset}, the log ends at {log_end_offset}."
        )


F = TypeVar("F", bound=LogFailure)


def file_error(error: OSError, doing: str, path: str) -> LogFailure:
    """What an OSError means for a log: it came from a file that should be there, or from the directory `path`."""
    return _made(LogDamaged if error.errno in _OF_ONE_FILE else LogDirFailure, error, doing, path)


def dir_failure(error: OSError, doing: str, path: str) -> LogDirFailure:
    """What an OSError means that leaves a dir of no use, whatever is behind it."""
    return _made(LogDirFailure, error, doing, path)


def storage_error(error: OSError, doing: str, path: str) -> errors.KafkaStorageError:
    return DiskFull(_file_of(error, path)) if is_disk_full(error) else dir_failure(error, doing, path)


def _made(kind: type[F], error: OSError, doing: str, path: str) -> F:
    made = kind(f"{doing} failed: {error.strerror or error}", _file_of(error, path))
    made.__cause__ = error  # some are told of it before it is raised
    return made


def _file_of(error: OSError, path: str) -> str:
    """The file, where the error tells which one of the directory `path` it is."""
    return error.filename if isinstance(error.filename, str) and error.filename.startswith(f"{path}/") else path


def is_disk_full(error: OSError) -> bool:
    return error.errno in (ENOSPC, EDQUOT)


def is_for_want_of_space(error: BaseException) -> bool:
    """Whether a full disk is what is behind it, and nothing is damaged."""
    return any(
        isinstance(cause, DiskFull) or (isinstance(cause, OSError) and is_disk_full(cause)) for cause in _causes(error)
    )


def remedy_for(error: BaseException) -> str | None:
    """What to do where the system has refused, whatever the file holds: nothing is damaged. None for all else."""
    codes = [cause.errno for cause in _causes(error) if isinstance(cause, OSError)]
    return next((_REMEDIES[code] for code in codes if code in _REMEDIES), None)


def with_remedy(error: BaseException) -> str:
    """What has failed, and behind it what to do, if that is known."""
    remedy = remedy_for(error)
    return str(error) if remedy is None else f"{error}; {remedy}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error itself, and what it came from."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__
