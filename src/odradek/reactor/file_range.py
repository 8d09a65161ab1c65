"""Who may still read a file, counted, so that a descriptor is never closed, and its number reused, under a
queued send.

A `File` begins with one user, its opener. Everyone who keeps it acquires it and releases it; the last release
closes it. A response in the queue of a connection holds a `FileRange`, which is such a user.
"""

from collections import OrderedDict

from odradek.broken_rule import BrokenRuleError
from odradek.reactor.ports import Disk, DiskFile


class File:
    __slots__ = ("_users", "disk_file")

    def __init__(self, disk_file: DiskFile) -> None:
        self.disk_file = disk_file
        self._users = 1

    @property
    def is_open(self) -> bool:
        return self._users > 0

    def acquire(self) -> "File":
        if self._users <= 0:
            raise BrokenRuleError(f"{self.disk_file.path} is closed")
        self._users += 1
        return self

    def release(self) -> None:
        if self._users <= 0:
            raise BrokenRuleError(f"{self.disk_file.path} was released more often than acquired")
        self._users -= 1
        if not self._users:
            self.disk_file.close()

    def range(self, position: int, size: int) -> "FileRange":
        return FileRange(self, position, size)


class FileRange:
    """Bytes that stay in their file until they are sent. It is a user of the file until it is released."""

    __slots__ = ("_file", "position", "size")

    def __init__(self, file: File, position: int, size: int) -> None:
        self._file: File | None = file.acquire()
        self.position = position
        self.size = size

    @property
    def disk_file(self) -> DiskFile:
        if self._file is None:
            raise BrokenRuleError("this range was released")
        return self._file.disk_file

    @property
    def file(self) -> File:
        if self._file is None:
            raise BrokenRuleError("this range was released")
        return self._file

    def skip(self, sent_bytes: int) -> None:
        """Forgets the bytes that have gone out."""
        if not 0 <= sent_bytes <= self.size:
            raise BrokenRuleError(f"{sent_bytes} of {self.size} bytes sent")
        self.position += sent_bytes
        self.size -= sent_bytes

    def release(self) -> None:
        """May be called twice: a send ends by success, by an error and by the close of its connection."""
        file, self._file = self._file, None
        if file is not None:
            file.release()

    def __repr__(self) -> str:
        path = self._file.disk_file.path if self._file is not None else "released"
        return f"FileRange({path}, {self.position}, {self.size})"


class FileCache:
    """The open files, least recently used first. One that is put out closes when its other users have let go."""

    __slots__ = ("_disk", "_files", "limit")

    def __init__(self, disk: Disk, limit: int) -> None:
        self._disk = disk
        self._files: OrderedDict[str, File] = OrderedDict()
        self.limit = limit

    def __len__(self) -> int:
        return len(self._files)

    def get(self, path: str) -> File:
        """The file, acquired for the caller; opened if it has to be, which may block."""
        file = self._files.get(path)
        if file is None:
            return self.add(path, self._disk.open(path))
        self._files.move_to_end(path)
        return file.acquire()

    def get_if_open(self, path: str) -> File | None:
        """The file, acquired for the caller, or None: then a job may open it and `add` take it in."""
        file = self._files.get(path)
        if file is None:
            return None
        self._files.move_to_end(path)
        return file.acquire()

    def add(self, path: str, disk_file: DiskFile) -> File:
        """Takes over an opened file and returns it acquired for the caller. Of two, the first to come stays."""
        known = self.get_if_open(path)
        if known is not None:
            disk_file.close()
            return known
        file = self._files[path] = File(disk_file)
        file.acquire()
        while len(self._files) > self.limit:
            _, oldest = self._files.popitem(last=False)
            oldest.release()
        return file

    def forget(self, path: str) -> None:
        """Before a rename or an unlink, or when its content is not to be served any more."""
        file = self._files.pop(path, None)
        if file is not None:
            file.release()

    def close(self) -> None:
        while self._files:
            _, file = self._files.popitem()
            file.release()
