"""Files of this machine. The hot calls, append and pread_nowait, are one system call each."""

import fcntl
import os
import stat
from collections.abc import Sequence
from errno import EACCES, EAGAIN, EISDIR, EOPNOTSUPP

from odradek.reactor.atomic_write import write_atomically
from odradek.reactor.ports import Buffer

IOV_MAX = 1024  # the most buffers that one system call takes

# A lock of fcntl belongs to the process: a second one on the same file would succeed, and letting it go would release
# both. So the files that this process has locked, by device and inode, are remembered here for all its disks.
_locked: set[tuple[int, int]] = set()


class SystemFile:
    __slots__ = ("_is_appending", "_refuses_nowait", "fd", "path")

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self.fd = fd
        self._is_appending = False
        self._refuses_nowait = False

    def size(self) -> int:
        return os.fstat(self.fd).st_size

    def append(self, parts: Sequence[Buffer]) -> int:
        if len(parts) == 1:  # a plain write costs a third less than one that tells where to and how
            if not self._is_appending and self.fd >= 0:
                self._set_appending(True)
            return os.write(self.fd, parts[0])
        if len(parts) <= IOV_MAX:
            return os.pwritev(self.fd, parts, 0, os.RWF_APPEND)
        return self._append_many(parts)

    def _append_many(self, parts: Sequence[Buffer]) -> int:
        total = 0
        for start in range(0, len(parts), IOV_MAX):
            some = parts[start : start + IOV_MAX]
            try:
                written = os.pwritev(self.fd, some, 0, os.RWF_APPEND)
            except OSError:
                if total:
                    break  # what went in is told first; the next append meets the error again
                raise
            total += written
            if written < sum(memoryview(part).nbytes for part in some):
                break
        return total

    def _set_appending(self, is_appending: bool) -> None:
        flags = fcntl.fcntl(self.fd, fcntl.F_GETFL)
        fcntl.fcntl(self.fd, fcntl.F_SETFL, flags | os.O_APPEND if is_appending else flags & ~os.O_APPEND)
        self._is_appending = is_appending

    def pwrite(self, data: Buffer, position: int) -> int:
        if self._is_appending and self.fd >= 0:
            self._set_appending(False)  # Linux would append this, too, whatever the position
        return os.pwrite(self.fd, data, position)

    def pread(self, size: int, position: int) -> bytes:
        return os.pread(self.fd, size, position)

    def pread_nowait(self, size: int, position: int) -> bytes | bytearray | None:
        if self._refuses_nowait:
            return os.pread(self.fd, size, position)
        buffer = bytearray(size)
        try:
            count = os.preadv(self.fd, [buffer], position, os.RWF_NOWAIT)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno != EOPNOTSUPP:
                raise
            self._refuses_nowait = True  # the file system cannot tell; tmpfs and the like never block anyway
            return os.pread(self.fd, size, position)
        if count == size:
            return buffer
        # Short: the file ends here, or the rest is not in the page cache.
        return buffer[:count] if position + count >= self.size() else None

    def truncate(self, size: int) -> None:
        os.ftruncate(self.fd, size)

    def fsync(self) -> None:
        os.fsync(self.fd)

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


class SystemLock:
    __slots__ = ("_fd", "_key")

    def __init__(self, fd: int, key: tuple[int, int]) -> None:
        self._fd = fd
        self._key = key

    def release(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            _locked.discard(self._key)
            os.close(fd)  # which lets go of the lock


class SystemDisk:
    __slots__ = ()

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> SystemFile:
        flags = (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC
        if create:
            flags |= os.O_CREAT
        fd = os.open(path, flags, 0o644)
        if not writable and stat.S_ISDIR(os.fstat(fd).st_mode):
            os.close(fd)
            raise IsADirectoryError(EISDIR, "is a directory", path)
        return SystemFile(path, fd)

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def write_atomically(self, path: str, data: bytes) -> None:
        write_atomically(self, path, data)

    def list(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(path)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def mtime_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def mkdir(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        os.rename(old, new)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def rmdir(self, path: str) -> None:
        os.rmdir(path)

    def fsync_dir(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def free_bytes(self, path: str) -> int:
        status = os.statvfs(path)
        return status.f_bavail * status.f_frsize

    def total_bytes(self, path: str) -> int:
        status = os.statvfs(path)
        return status.f_blocks * status.f_frsize

    def lock(self, path: str) -> SystemLock:
        _refuse_own(path)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            return _lock(fd, path)
        except BaseException:
            os.close(fd)
            raise


def _refuse_own(path: str) -> None:
    """Looks before opening: closing any descriptor of a file gives up the lock that the process has on it."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return
    if (status.st_dev, status.st_ino) in _locked:
        raise BlockingIOError(EAGAIN, "locked by this process", path)


def _lock(fd: int, path: str) -> SystemLock:
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (EACCES, EAGAIN):  # systems differ in which of them they say
            raise
        raise BlockingIOError(EAGAIN, "locked by another process", path) from None
    status = os.fstat(fd)
    key = (status.st_dev, status.st_ino)
    _locked.add(key)
    return SystemLock(fd, key)
