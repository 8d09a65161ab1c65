"""Where a segment's files are. The names change once at most: a segment that compaction made begins as `.swap`."""

from odradek.log import names
from odradek.log.failure import DiskFull, storage_error
from odradek.log.storage import Storage


class SegmentFiles:
    __slots__ = ("_paths", "_suffix", "base_offset", "directory", "storage")

    def __init__(self, storage: Storage, directory: str, base_offset: int) -> None:
        self.storage = storage
        self.directory = directory
        self.base_offset = base_offset
        self._suffix = ""
        self._paths: dict[str, str] | None = None  # of a segment that somebody reads

    @property
    def suffix(self) -> str:
        return self._suffix

    @suffix.setter
    def suffix(self, suffix: str) -> None:
        self._suffix = suffix
        self._paths = None

    def path(self, kind: str) -> str:
        return f"{self.directory}/{self.base_offset:020d}{kind}{self._suffix}"

    def known_path(self, kind: str) -> str:
        """The path of the log or of its offset index, kept: they are asked for at every read."""
        paths = self._paths
        if paths is None:
            paths = self._paths = {each: self.path(each) for each in (names.LOG, names.OFFSET_INDEX)}
        return paths[kind]

    def forget(self) -> None:
        """Closes what is open and drops what is loaded, as far as others do not hold it."""
        self._paths = None
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
