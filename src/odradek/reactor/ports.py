"""Everything outside the process, as interfaces that are handed in and never imported.

Each port has a real adapter (`reactor/adapters/`) and a simulated one (`sim/`), held to one conformance suite
(`tests/conformance/`). Code above this line names no file, socket, clock or source of chance of its own: a
test refuses `open`, `os`, `time`, `random`, `uuid`, `secrets`, `threading`, `socket` and `select` outside the
adapters. So a whole broker runs in one thread under simulated time, and the same seed gives the same trace.

Errors are `OSError` with its `errno`, from both kinds of adapter: ENOSPC, EIO, ENOENT, ECONNRESET and the
like.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol, TypeVar

Buffer = bytes | bytearray | memoryview

READABLE, WRITABLE = 1, 2


class Clock(Protocol):
    """`mono_ms` is for every timeout, `mono_us`, the same clock, for measuring how long something took; `cpu_us` is
    what this thread has worked, for telling that from a machine that let it wait. `wall_ms` is only for what is
    written, or compared with record timestamps.
    """

    def mono_ms(self) -> int: ...
    def mono_us(self) -> int: ...
    def cpu_us(self) -> int: ...
    def wall_ms(self) -> int: ...


class Stream(Protocol):
    """One component's own source of chance."""

    def below(self, bound: int) -> int: ...  # a whole number from 0 to bound - 1
    def fraction(self) -> float: ...  # from 0 up to, not including, 1
    def bytes(self, count: int) -> bytes: ...


class Rng(Protocol):
    def stream(self, name: str) -> Stream:
        """The stream called `name`: its draws do not depend on what other components draw."""
        ...


class DiskFile(Protocol):
    """An open file. Positions are absolute; there is no cursor but the end."""

    @property
    def path(self) -> str: ...
    def size(self) -> int: ...
    def append(self, parts: Sequence[Buffer]) -> int:
        """Writes at the end and returns how many bytes went in: fewer than given on a disk that has just filled up."""
        ...

    def pwrite(self, data: Buffer, position: int) -> int: ...
    def pread(self, size: int, position: int) -> bytes:
        """Up to `size` bytes; fewer only at the end of the file. May block: not for the reactor's thread."""
        ...

    def pread_nowait(self, size: int, position: int) -> bytes | bytearray | None:
        """What `pread` would return, if it is in the page cache; None if reading it would block."""
        ...

    def truncate(self, size: int) -> None: ...
    def fsync(self) -> None:
        """Makes content and size durable, not the name. May block; after an error the content is unknown."""
        ...

    def close(self) -> None: ...


class DiskLock(Protocol):
    def release(self) -> None: ...


class Disk(Protocol):
    """Files by path. A name (created, renamed, unlinked) is durable only after `fsync_dir` of its directory."""

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> DiskFile:
        """`create` makes the file if it is missing; without it a missing file is ENOENT."""
        ...

    def read(self, path: str) -> bytes:
        """A whole small file: checkpoints, properties. May block."""
        ...

    def write_atomically(self, path: str, data: bytes) -> None:
        """Replaces a small file: temporary name, fsync, rename, fsync_dir. A crash leaves the old or the new one."""
        ...

    def list(self, path: str) -> list[str]:
        """The names in a directory, sorted."""
        ...

    def is_dir(self, path: str) -> bool: ...
    def exists(self, path: str) -> bool: ...
    def size(self, path: str) -> int: ...
    def mtime_ms(self, path: str) -> int: ...
    def mkdir(self, path: str) -> None:
        """With its parents; nothing happens if it is there."""
        ...

    def rename(self, old: str, new: str) -> None: ...
    def unlink(self, path: str) -> None: ...
    def rmdir(self, path: str) -> None: ...
    def fsync_dir(self, path: str) -> None: ...
    def free_bytes(self, path: str) -> int: ...
    def total_bytes(self, path: str) -> int:
        """The size of the file system that holds the path."""
        ...

    def lock(self, path: str) -> DiskLock:
        """An exclusive lock that Java honours, on a file made if missing; BlockingIOError if it is held."""
        ...


class Socket(Protocol):
    """A non-blocking stream socket. An operation that would block raises BlockingIOError."""

    def fileno(self) -> int: ...
    @property
    def peer(self) -> tuple[str, int]: ...
    def recv_into(self, buffer: memoryview) -> int:
        """How many bytes came; 0 when the peer has closed."""
        ...

    def send(self, parts: Sequence[Buffer]) -> int: ...
    def send_one(self, part: Buffer) -> int:
        """Sends one part, as `send` does a list: nearly every answer is one part."""
        ...

    def send_file(self, file: DiskFile, position: int, size: int) -> int: ...
    def widen(self) -> None:
        """From now on more of what was sent may wait for a slow peer: for answers that are large."""
        ...

    def finish_connect(self) -> None:
        """After the first WRITABLE of a connecting socket: returns if it is connected, raises OSError if it failed."""
        ...

    def close(self) -> None: ...


class Listener(Protocol):
    def fileno(self) -> int: ...
    @property
    def address(self) -> tuple[str, int]: ...
    def accept(self) -> Socket: ...
    def close(self) -> None: ...


class Pollable(Protocol):
    """What a poller can watch: a socket, a listener, another poller of the same network."""

    def fileno(self) -> int: ...


class Poller(Protocol):
    """Readiness of many sockets, level-triggered. Its own `fileno` is pollable, so that one poller nests in another.

    A connection that has failed counts as ready for whatever it is watched for: the operation then raises the error.
    """

    def fileno(self) -> int: ...
    def watch(self, source: Pollable, interest: int, *, once: bool = False) -> None:
        """From now on reports READABLE, WRITABLE or both of `source`; 0 reports nothing, not even errors. With `once`
        it reports the next time only, until it is called again.
        """
        ...

    def unwatch(self, source: Pollable) -> None:
        """Before the source is closed: its number may belong to another one right after."""
        ...

    def poll(self, timeout_ms: int | None, events_max: int = 0) -> list[tuple[int, int]]:
        """(fileno, READABLE | WRITABLE) of the ready ones; None waits until something happens or `wake` is called.

        Of more than `events_max`, unless that is 0, the others come in their turn.
        """
        ...

    def wake(self) -> None:
        """Ends a `poll` from another thread, now or the next one."""
        ...

    def close(self) -> None: ...


class Network(Protocol):
    def listen(
        self, host: str, port: int, backlog: int = 128, *, send_buffer_bytes: int = -1, receive_buffer_bytes: int = -1
    ) -> Listener:
        """The sizes are asked for the kernel's buffers of the connections to come; -1 leaves them to the kernel."""
        ...

    def connect(self, host: str, port: int) -> Socket:
        """Begins to connect to an address (not a name). Whatever goes wrong is told by `finish_connect`."""
        ...

    def resolve(self, host: str, port: int) -> list[tuple[str, int]]:
        """The addresses of a name. May block: a job."""
        ...

    def poller(self) -> Poller: ...


# A job that takes long yields now and then: there it can be cancelled or throttled, and in simulation interleaved with
# others or crashed. What it yields is how many bytes it has moved since the last time.
R = TypeVar("R")
JobOf = Generator[int, None, R]  # a job that returns this
Job = JobOf[object]  # one of any kind: what it returns is for others to know


class JobHandle(Protocol):
    def cancel(self) -> None:
        """The job ends at its next yield with `Cancelled`; a job that has not begun never begins."""
        ...


class Executor(Protocol):
    """Runs jobs that may block, off the reactor's thread. A finished job's callback runs on the reactor's thread."""

    def submit(self, job: Job, done: "Done") -> JobHandle: ...
    def drain(self) -> int:
        """Calls `done` of the jobs that have ended, in the order of their ends; how many. For the reactor's thread."""
        ...

    def notify(self, wake: Callable[[], None]) -> None:
        """`wake` is called, from any thread, whenever there is something to drain."""
        ...

    def resize(self, workers: int) -> None:
        """From now on so many jobs run at a time; those that run already go on."""
        ...

    def close(self) -> None:
        """Cancels what has not ended, waits for it and drains."""
        ...


class Done(Protocol):
    def __call__(self, value: Any, error: BaseException | None) -> None:
        """`value` is what the job has returned, whatever that is; there is none if it has failed with `error`."""
        ...


class Cancelled(Exception):  # noqa: N818 - a state, not a fault
    """A job or a wait was given up before it ended."""


class Ports:
    """The five of them, as the composition root hands them down."""

    __slots__ = ("clock", "disk", "executor", "network", "rng")

    def __init__(self, clock: Clock, rng: Rng, disk: Disk, network: Network, executor: Executor) -> None:
        self.clock = clock
        self.rng = rng
        self.disk = disk
        self.network = network
        self.executor = executor
