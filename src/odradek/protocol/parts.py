"""What an encoded message consists of: bytes, and between them records as they were handed in."""

from typing import Protocol


class FileRange(Protocol):
    """Records that stay in their file until they are sent."""

    @property
    def size(self) -> int: ...


Buffer = bytes | bytearray | memoryview
RecordsLike = Buffer | FileRange
Part = Buffer | FileRange


def records_size(value: RecordsLike) -> int:
    """The bytes of records: of a buffer its own, of a file range what it will send."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return memoryview(value).nbytes
    return value.size
