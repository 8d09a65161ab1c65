"""A disk that forgets, tears, reorders, fills up, fails and slows down, as a seed decides.

What a program sees while it runs is what any file system shows: every write, truncation, rename and unlink at
once. What it finds after `crash(profile)` is decided there:

- **Content and size** that an fsync has reached survive. Of the rest, each 4 KB page keeps all, some or none
  of the writes to it, perhaps one of them torn, whatever happens to other pages and files; the size lands on
  its own (`inode.py`).
- **Names** that an fsync_dir has reached survive. Of the rest, each creation, rename, unlink, mkdir and rmdir
  is kept or undone as a whole; those of the same name in order (`names.py`). An fsync of a file does not make
  its name durable.
- **Locks, open files and injected faults** end with the crash, the quota stays; the page cache is cold.

With `KILLED` only the process ends: everything is there for the next one, and what was not synced still is not.

`crash` returns the disk as the next incarnation finds it. The old object is dead: every call on it or on its
files raises `SimCrash`, so that nothing which still holds it (a `finally` of a dropped job) can touch the
disk any more.

`crash_at(n)` raises `SimCrash` *before* the n-th operation from now on takes effect, and the disk is down
until `crash`. Only operations that change something or sync are counted: a crash before a read is a crash
before the change that follows. For every n this reaches every state between two operations; states inside a
write or an fsync are reached by the profile, because those differ from the state before or after only in
which pages have landed.

An fsync that is told to fail lands some pages and marks all of them clean, as Linux does: the next fsync
succeeds without them. Readers see the new bytes until the pages are evicted; after that, or after a crash,
those pages are as they were.

A full disk takes what fits, then raises ENOSPC. Slowness adds to `busy_us`, which the node spends as time of
its thread or of the job. `pread_nowait` gives None while a page is cold; reading it once warms it.
"""

import posixpath
from collections.abc import Callable, Sequence
from copy import deepcopy
from errno import EAGAIN, EBADF, EEXIST, EIO, ENOSPC

from odradek.reactor.atomic_write import write_atomically
from odradek.reactor.ports import Buffer
from odradek.sim.crash import KILLED, MIXED, MIXED_WHOLE_PAGES, CrashProfile, SimCrash
from odradek.sim.disk_faults import Fault
from odradek.sim.inode import Inode
from odradek.sim.names import Directory, Names
from odradek.sim.rng import SimRng, SimStream

FREE_BYTES_WITHOUT_QUOTA = 1 << 40


class Platter:
    """What outlives a crash, together with the page cache that does not."""

    __slots__ = ("names", "quota_bytes", "used_bytes")

    def __init__(self) -> None:
        self.names = Names()
        self.quota_bytes: int | None = None
        self.used_bytes = 0


class SimFile:
    __slots__ = ("_disk", "_inode", "_is_open", "_is_writable", "path")

    def __init__(self, disk: "SimDisk", path: str, inode: Inode, is_writable: bool) -> None:
        self._disk = disk
        self.path = path
        self._inode = inode
        self._is_writable = is_writable
        self._is_open = True
        inode.open_files += 1

    def size(self) -> int:
        self._check("size")
        return len(self._inode.seen)

    def append(self, parts: Sequence[Buffer]) -> int:
        self._check_writable()
        return self._disk.write(self, b"".join(parts), len(self._inode.seen))

    def pwrite(self, data: Buffer, position: int) -> int:
        self._check_writable()
        return self._disk.write(self, bytes(data), position)

    def pread(self, size: int, position: int) -> bytes:
        self._check("read")
        self._disk.look("read", self.path)
        return self._inode.read(size, position)

    def pread_nowait(self, size: int, position: int) -> bytes | None:
        self._check("read")
        if self._inode.would_block(size, position) or self._disk.stream.chance(self._disk.cold_percent):
            return None
        self._disk.look("read", self.path)
        return self._inode.read(size, position)

    def truncate(self, size: int) -> None:
        self._check_writable()
        self._disk.truncate(self, size)

    def fsync(self) -> None:
        self._check("fsync")
        self._disk.fsync(self)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._disk.closed(self._inode)

    @property
    def inode(self) -> Inode:
        return self._inode

    def _check(self, what: str) -> None:
        self._disk.check_up()
        if not self._is_open:
            raise OSError(EBADF, f"{what} of a closed file", self.path)

    def _check_writable(self) -> None:
        self._check("write")
        if not self._is_writable:
            raise OSError(EBADF, "opened for reading only", self.path)


class SimLock:
    __slots__ = ("_locked", "_path")

    def __init__(self, locked: set[str], path: str) -> None:
        self._locked = locked
        self._path = path

    def release(self) -> None:
        self._locked.discard(self._path)


class SimDisk:
    __slots__ = (
        "_crash_at",
        "_faults",
        "_locked",
        "_note",
        "_platter",
        "_slow_us",
        "_wall_ms",
        "before_operation",
        "busy_us",
        "cold_percent",
        "is_down",
        "operations",
        "stream",
    )

    def __init__(
        self,
        stream: SimStream | None = None,
        wall_ms: Callable[[], int] = lambda: 0,
        note: Callable[[str], None] = lambda line: None,
        platter: Platter | None = None,
    ) -> None:
        self.stream = stream or SimRng(0).stream("disk")
        self._wall_ms = wall_ms
        self._note = note
        self._platter = platter or Platter()
        self._locked: set[str] = set()
        self._faults: list[Fault] = []
        self._slow_us: dict[str, int] = {}
        self._crash_at: int | None = None
        self.before_operation: Callable[[str, str], None] | None = None  # takes kind and path: a place to clone at
        self.busy_us = 0
        self.cold_percent = 0  # the chance that a pread_nowait finds its pages evicted
        self.is_down = False
        self.operations = 0

    # Faults

    def crash(self, profile: CrashProfile = MIXED) -> "SimDisk":
        """The disk as it is found after the crash. This object and its files are dead from now on."""
        self.is_down = True
        self._note(f"disk crash {profile}")
        platter = self._platter
        if profile is KILLED:
            platter.names.close_all()  # the next process finds it all, and a later loss of power may still take it
        else:
            platter.names.crash(profile, self.stream)
            for _, inode in platter.names.files():
                inode.crash(profile, self.stream)
        platter.used_bytes = sum(len(inode.seen) for _, inode in platter.names.files())
        return SimDisk(self.stream, self._wall_ms, self._note, platter)

    def crash_at(self, nth: int) -> None:
        """Goes down before the nth operation from now on takes effect."""
        self._crash_at = self.operations + nth

    def fail(self, kind: str, errno: int = EIO, *, nth: int = 1, times: int | None = 1, path: str = "") -> None:
        """Fails the nth operation of this kind on a path with `path` in it, and so many in all (None: for ever)."""
        self._faults.append(Fault(kind, errno, nth, times, path))

    def heal(self) -> None:
        """No more errors and no more slowness."""
        self._faults.clear()
        self._slow_us.clear()

    def slow(self, kind: str, microseconds: int) -> None:
        """Every operation of this kind takes that long on average."""
        self._slow_us[kind] = microseconds

    def set_quota(self, quota_bytes: int | None) -> None:
        self._platter.quota_bytes = quota_bytes

    def flip_bit(self, path: str, position: int, bit: int = 0) -> None:
        inode = self._platter.names.file(path)
        inode.damage(position, bytes((inode.seen[position] ^ 1 << bit,)))

    def damage(self, path: str, position: int, data: bytes) -> None:
        """Overwrites bytes behind everybody's back: a zeroed page, a misdirected write."""
        self._platter.names.file(path).damage(position, data)

    def evict(self, path: str | None = None) -> None:
        """Drops clean pages, of one file or of all, from the page cache."""
        for name, inode in self._platter.names.files():
            if path is None or posixpath.normpath(path) == name:
                inode.evict()

    # Looking at it from outside

    def snapshot(self) -> dict[str, bytes]:
        """Every file as a reader sees it now, by path."""
        return {path: bytes(inode.seen) for path, inode in self._platter.names.files()}

    def open_files(self) -> int:
        """How many files that have a name are open, each as often as it was opened."""
        return sum(inode.open_files for _, inode in self._platter.names.files())

    def clone(self, stream: SimStream | None = None) -> "SimDisk":
        """A disk in the same state, synced and unsynced, that goes its own way: to crash it in many ways."""
        clone = SimDisk(stream or deepcopy(self.stream), self._wall_ms, platter=deepcopy(self._platter))
        clone._locked = set(self._locked)
        return clone

    # The port

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> SimFile:
        self.look("open", path)
        names = self._platter.names
        if create and names.entry(path).node() is None:
            self._change("create", path)
            names.create(path, Inode(self._wall_ms()))
        return SimFile(self, path, names.file(path), writable)

    def read(self, path: str) -> bytes:
        self.look("read", path)
        inode = self._platter.names.file(path)
        return inode.read(len(inode.seen), 0)

    def write_atomically(self, path: str, data: bytes) -> None:
        write_atomically(self, path, data)

    def list(self, path: str) -> list[str]:
        self.look("list", path)
        return sorted(self._platter.names.directory(path).seen)

    def is_dir(self, path: str) -> bool:
        return isinstance(self._find(path), Directory)

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def size(self, path: str) -> int:
        self.check_up()
        return len(self._platter.names.file(path).seen)

    def mtime_ms(self, path: str) -> int:
        self.check_up()
        return self._platter.names.find(path).mtime_ms

    def mkdir(self, path: str) -> None:
        missing = posixpath.normpath("/" + path)
        parents = []
        while not self.exists(missing):
            parents.append(missing)
            missing = posixpath.dirname(missing)
        for parent in reversed(parents):
            self._change("mkdir", parent)
            self._platter.names.mkdir(parent, self._wall_ms())
        if not self.is_dir(path):
            raise FileExistsError(EEXIST, "file exists", path)

    def rename(self, old: str, new: str) -> None:
        self._change("rename", old, new)
        replaced = self._platter.names.rename(old, new)
        if replaced is not None:
            self._free_if_unused(replaced)

    def unlink(self, path: str) -> None:
        self._change("unlink", path)
        self._free_if_unused(self._platter.names.unlink(path))

    def rmdir(self, path: str) -> None:
        self._change("rmdir", path)
        self._platter.names.rmdir(path)

    def fsync_dir(self, path: str) -> None:
        self._change("fsync_dir", path)
        self._platter.names.fsync_dir(path)

    def free_bytes(self, path: str) -> int:
        self.check_up()
        quota_bytes = self._platter.quota_bytes
        return FREE_BYTES_WITHOUT_QUOTA if quota_bytes is None else max(0, quota_bytes - self._platter.used_bytes)

    def total_bytes(self, path: str) -> int:
        self.check_up()
        quota_bytes = self._platter.quota_bytes
        return FREE_BYTES_WITHOUT_QUOTA + self._platter.used_bytes if quota_bytes is None else quota_bytes

    def lock(self, path: str) -> SimLock:
        locked_path = posixpath.normpath("/" + path)
        self.check_up()
        if locked_path in self._locked:
            raise BlockingIOError(EAGAIN, "locked", path)
        self.open(path, create=True).close()
        self._locked.add(locked_path)
        return SimLock(self._locked, locked_path)

    # What its files ask for

    def write(self, file: SimFile, data: bytes, position: int) -> int:
        self._change("write", file.path, f"{position}+{len(data)}")
        inode = file.inode
        fits = data[: max(0, len(inode.seen) - position + self.free_bytes(file.path))]
        if data and not fits:
            raise OSError(ENOSPC, "no space left on device", file.path)
        before = len(inode.seen)
        inode.write(fits, position)
        inode.mtime_ms = self._wall_ms()
        self._platter.used_bytes += len(inode.seen) - before
        return len(fits)

    def truncate(self, file: SimFile, size: int) -> None:
        self._change("truncate", file.path, str(size))
        self._platter.used_bytes += size - len(file.inode.seen)
        file.inode.truncate(size)
        file.inode.mtime_ms = self._wall_ms()

    def fsync(self, file: SimFile) -> None:
        try:
            self._change("fsync", file.path)
        except OSError:
            file.inode.fail_fsync(MIXED_WHOLE_PAGES, self.stream)
            raise
        file.inode.fsync()

    def closed(self, inode: Inode) -> None:
        if not self.is_down:
            inode.open_files -= 1
            self._free_if_unused(inode)

    def look(self, kind: str, path: str) -> None:
        """An operation that changes nothing: it may be slow or fail, but it is not counted."""
        self.check_up()
        self._take_time(kind)
        self._maybe_fail(kind, path)

    # How an operation goes

    def _change(self, kind: str, path: str, detail: str = "") -> None:
        self.check_up()
        self.operations += 1
        if self.before_operation is not None:
            self.before_operation(kind, path)
        if self.operations == self._crash_at:
            self.is_down = True
            raise SimCrash(f"before operation {self.operations}: {kind} {path} {detail}")
        self._note(f"disk {kind} {path} {detail}")
        self._take_time(kind)
        self._maybe_fail(kind, path)

    def check_up(self) -> None:
        if self.is_down:
            raise SimCrash("the disk is down")

    def _take_time(self, kind: str) -> None:
        average_us = self._slow_us.get(kind)
        if average_us:
            self.busy_us += self.stream.below(2 * average_us) + 1

    def _maybe_fail(self, kind: str, path: str) -> None:
        for fault in self._faults:
            if fault.strikes(kind, path):
                self._note(f"disk {kind} {path} fails with {fault.errno}")
                raise OSError(fault.errno, "injected", path)

    def _find(self, path: str) -> Directory | Inode | None:
        self.check_up()
        try:
            return self._platter.names.find(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _free_if_unused(self, inode: Inode) -> None:
        if not inode.is_linked and not inode.open_files:
            self._platter.used_bytes -= len(inode.seen)
