"""Standard output and standard error, whose own troubles must not look like those of any other file.

A disk that is full or a reader that has gone shows at whichever write happens to empty a buffer, at the latest in the
interpreter's last flush, where it is too late to say anything. So a command writes through a guard that turns every
such error into `OutputLost`, and all is flushed while there is still someone to catch it.
"""

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, ParamSpec, TextIO, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class OutputLost(Exception):  # noqa: N818 - and no OSError: that is a file's, and argparse swallows it
    """Standard output takes no more. `reader_left`: a pipe that nobody reads any longer, which is nobody's mistake."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output: {error.strerror}")
        self.reader_left = error.errno == errno.EPIPE


class Guard(io.BufferedIOBase):
    """The bytes below standard output. After the first error it swallows the rest: one error is told once."""

    name = "<stdout>"

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._bytes: BinaryIO | None = None if stream is None else stream.buffer
        self._is_lost = False

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def fileno(self) -> int:
        return io.BufferedIOBase.fileno(self) if self._stream is None else self._stream.fileno()

    def write(self, data: Any) -> int:  # Any: a buffer, which Python has no name for before 3.12
        left = memoryview(data).cast("B")
        size = len(left)
        while left and not self._is_lost:
            left = left[self._guarded(self._write_some, left) :]
        return size

    def flush(self) -> None:
        if self._bytes is not None and not self._is_lost:
            self._guarded(self._bytes.flush)

    def _write_some(self, data: memoryview) -> int:
        """An unbuffered stream may take a part only; one that is set not to block, nothing at all."""
        if self._bytes is None:
            raise OSError(errno.EBADF, "it is closed")
        written: int | None = self._bytes.write(data)
        if written is None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return written

    def _guarded(self, operation: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        try:
            return operation(*arguments, **named)
        except OSError as error:
            self._is_lost = True
            _send_nowhere(self._stream)
            raise OutputLost(error) from None


@contextmanager
def guarded_output() -> Iterator[None]:
    """While it lasts, an error of standard output is `OutputLost` wherever it is written; at its end all is flushed."""
    standard: TextIO | None = sys.stdout
    if standard is not None and not hasattr(standard, "buffer"):  # a caller's StringIO has no errors of its own
        yield
        return
    sys.stdout = text = _text_over(Guard(standard), standard)
    try:
        yield
    finally:
        sys.stdout = standard
        text.flush()


def _text_over(guard: Guard, standard: TextIO | None) -> io.TextIOWrapper:
    """A terminal that cannot show a character gets its number: no reason to fail."""
    return io.TextIOWrapper(
        guard,
        encoding="utf-8" if standard is None else standard.encoding,
        errors="backslashreplace",
        line_buffering=getattr(standard, "line_buffering", False),
        write_through=getattr(standard, "write_through", False),
    )


@contextmanager
def guarded_errors() -> Iterator[None]:
    """While it lasts there is a standard error; whoever closed it does not want to know what it says."""
    if sys.stderr is None:  # `print(file=None)` would speak on standard output
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - it stays until the end
    try:
        yield
    finally:
        try:
            sys.stderr.flush()
        except OSError:  # which the interpreter's last flush would turn into an exit status of its own, 120
            _send_nowhere(sys.stderr)


def complain(reason: object) -> None:
    """One line on standard error. Where that cannot be written either, the exit status has to do."""
    with suppress(OSError):
        print(f"odradek: {reason}", file=sys.stderr)


def _send_nowhere(stream: TextIO | None) -> None:
    """What is left in the stream's buffer cannot be taken back: let the interpreter's last flush of it succeed."""
    if stream is None:
        return
    with suppress(OSError):  # one that is no file has nothing to flush
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
