"""Where a segment's files are. The names change once at most: a segment that compaction made begins as `.swap`."""

from odradek.log import names
from odradek.log.failure import DiskFull, storage_error
from odradek.log.storage import Storage


class SegmentFiles:
    __slots__ = ("base_offset", "directory", "storage", "suffix")

    def __init__(self, storage: Storage, directory: str, base_offset: int) -> None:
        self.storage = storage
        self.directory = directory
        self.base_offset = base_offset
        self.suffix = ""

    def path(self, kind: str) -> str:
        return f"{self.directory}/{self.base_offset:020d}{kind}{self.suffix}"

    def forget(self) -> None:
        """Closes what is open and drops what is loaded, as far as others do not hold it."""
        for kind in names.SEGMENT_FILES:
            self.storage.forget(self.path(kind))

    def pwrite(self, kind: str, data: bytes, position: int) -> None:
        """Into the page cache, all of it or an error: what is written in part may be written again."""
        path = self.path(kind)
        try:
            file = self.storage.disk.open(path, create=True)
            try:
                written = file.pwrite(data, position)
            finally:
                file.close()
        except OSError as error:
            raise storage_error(error, "writing an index", path) from error
        if written != len(data):
            raise DiskFull(path)

    def set_size(self, kind: str, size: int) -> None:
        """Cuts off what follows, such as zeros that were reserved, or makes the file."""
        disk = self.storage.disk
        path = self.path(kind)
        try:
            if disk.exists(path) and disk.size(path) == size:
                return
            file = disk.open(path, create=True)
            file.truncate(size)
            file.close()
        except OSError as error:
            raise storage_error(error, "truncating", path) from error
