"""What a connection has still to send: buffers, and file ranges that are sent from their files."""

from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import cast

from odradek.reactor.file_range import FileRange
from odradek.reactor.ports import Buffer
from odradek.reactor.transport import Transport

Part = Buffer | FileRange

GATHER_PARTS_MAX = 512  # buffers in one system call
SEND_BYTES_MAX = 1024 * 1024 + 4096  # of one connection in one turn: a fetch of 1 MB with what is around it


class FileEndedEarly(Exception):  # noqa: N818 - it tells what happened
    """A file is shorter than the range that was promised: the length is on the wire already, only a close is honest."""


class SendQueue:
    __slots__ = ("_parts", "size_bytes")

    def __init__(self) -> None:
        self._parts: deque[Part] = deque()
        self.size_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._parts)

    def add(self, parts: Iterable[Part]) -> None:
        for part in parts:
            size = part.size if isinstance(part, FileRange) else len(part)
            if size:
                self._parts.append(part)
                self.size_bytes += size
            elif isinstance(part, FileRange):
                part.release()

    def flush(self, transport: Transport) -> int:
        """Sends what the transport takes, about SEND_BYTES_MAX at most; how many bytes went out."""
        sent = 0
        try:
            while self._parts and sent < SEND_BYTES_MAX:
                sent += self._send_some(transport, SEND_BYTES_MAX - sent)
        except BlockingIOError:
            pass
        self.size_bytes -= sent
        return sent

    def release(self) -> None:
        for part in self._parts:
            if isinstance(part, FileRange):
                part.release()
        self._parts.clear()
        self.size_bytes = 0

    def _send_some(self, transport: Transport, bytes_max: int) -> int:
        first = self._parts[0]
        if isinstance(first, FileRange):
            return self._send_file(transport, first, bytes_max)
        sent = transport.send(self._buffers())
        self._forget(sent)
        return sent

    def _send_file(self, transport: Transport, part: FileRange, bytes_max: int) -> int:
        sent = transport.send_file(part.disk_file, part.position, min(part.size, bytes_max))
        if not sent:
            raise FileEndedEarly(f"{part!r} is beyond the end of its file")
        part.skip(sent)
        if not part.size:
            self._parts.popleft()
            part.release()
        return sent

    def _buffers(self) -> list[Buffer]:
        buffers: list[Buffer] = []
        for part in islice(self._parts, GATHER_PARTS_MAX):
            if isinstance(part, FileRange):
                break
            buffers.append(part)
        return buffers

    def _forget(self, sent: int) -> None:
        parts = self._parts
        while sent:
            first = cast(Buffer, parts[0])
            size = len(first)
            if sent < size:
                parts[0] = memoryview(first)[sent:]
                return
            parts.popleft()
            sent -= size


def behind(buffers: list[Buffer], sent: int) -> list[Part]:
    """What is left of them after so many bytes."""
    left: list[Part] = []
    for buffer in buffers:
        size = len(buffer)
        if sent < size:
            left.append(memoryview(buffer)[sent:] if sent > 0 else buffer)
        sent -= size
    return left


def release_parts(parts: Iterable[Part]) -> None:
    """Lets go of the files in an answer that nobody will send."""
    for part in parts:
        if isinstance(part, FileRange):
            part.release()
