"""Reading a log for others: for consumers and followers, for share groups, for coordinators, and for a copy of the log.

All of them read through `read`: what the disk or the content of the log has against it is handed to the log manager
before it is raised, so that no reader can forget to tell. What is not in the page cache is brought there by a job:
`read_or_bring` begins it and waits; whoever must not wait takes `NotInCache` as it comes and calls `read_ahead`.

`content_of` takes the bytes of a range: of a small one at once, as a copy; a large one stays in its file for sendfile.
"""

from typing import TYPE_CHECKING

from odradek.log import read as log_read
from odradek.log.failure import LogFailure, NotInCache, storage_error
from odradek.log.log import Log
from odradek.log.read import FetchedRecords
from odradek.reactor.file_range import FileRange
from odradek.reactor.ports import Buffer

if TYPE_CHECKING:
    from odradek.log.manager.manager import LogManager

SENDFILE_BYTES_MIN = 128 * 1024


def read(
    logs: "LogManager", log: Log, offset: int, max_bytes: int, isolation: int, min_one_message: bool = True
) -> FetchedRecords:
    """`Log.read`, with failures told. The arguments are by place: a fetch is made in some microseconds."""
    try:
        return log_read.read(log, offset, max_bytes, isolation, min_one_message)
    except LogFailure as failure:
        logs.handle_failure(failure)
        raise


async def read_or_bring(
    logs: "LogManager", log: Log, offset: int, max_bytes: int, isolation: int
) -> FetchedRecords | None:
    """None if the records had to be brought into the page cache: then the caller looks whether it still wants them."""
    try:
        return read(logs, log, offset, max_bytes, isolation)
    except NotInCache as cold:
        await logs.read_ahead(log, cold)
        return None


def content_of(logs: "LogManager", records: FileRange) -> Buffer | FileRange:
    """The bytes of a small range, which is let go of; a large one as it is. NotInCache if that would have to wait."""
    file, position, size = records.disk_file, records.position, records.size
    content: Buffer | FileRange | None
    try:
        if size < SENDFILE_BYTES_MIN:
            content = file.pread_nowait(size, position)
        # Both ends in the page cache: what lies between was read ahead with them, or written lately.
        elif file.pread_nowait(1, position) is not None and file.pread_nowait(1, position + size - 1) is not None:
            return records
        else:
            content = None
    except OSError as error:
        raise _failed(logs, records, error) from error
    if content is None:
        raise _cold(records)
    records.release()
    return content


def bytes_of(logs: "LogManager", records: FileRange) -> Buffer:
    """The bytes of a range of any size, which is let go of. NotInCache if that would have to wait."""
    try:
        content = records.disk_file.pread_nowait(records.size, records.position)
    except OSError as error:
        raise _failed(logs, records, error) from error
    if content is None:
        raise _cold(records)
    records.release()
    return content


def _failed(logs: "LogManager", records: FileRange, error: OSError) -> Exception:
    failure = storage_error(error, "reading a segment", records.disk_file.path)
    records.release()
    if isinstance(failure, LogFailure):
        logs.handle_failure(failure)
    return failure


def _cold(records: FileRange) -> NotInCache:
    """The file stays open until the job has it: the log, or the cache of open files, holds it in this turn."""
    cold = NotInCache(records.file, records.position, records.size)
    records.release()
    return cold
