"""Writes the files of a cleaned segment under names that no reader knows: `.log.cleaned` and the like.

They are durable, names too, before anyone hears of them. A writer that does not get that far removes what it made; what
a crash leaves behind is removed when the log is loaded, as nothing has taken its place yet.
"""

from collections.abc import Sequence

from odradek.log import names
from odradek.log.cleaner.cleaner_kernel import SparseIndexes
from odradek.log.config import LogConfig
from odradek.log.failure import DiskFull
from odradek.log.index import transaction_index
from odradek.log.index.transaction_index import AbortedTransaction
from odradek.reactor.ports import Buffer, Disk, DiskFile


class CleanedSegment:
    """What stands in the `.cleaned` files of `base_offset`. `suffixes` are those of the files that were made."""

    __slots__ = ("base_offset", "largest_timestamp", "offset_of_largest_timestamp", "size_bytes", "suffixes")

    def __init__(
        self,
        base_offset: int,
        size_bytes: int,
        largest_timestamp: int,
        offset_of_largest_timestamp: int,
        suffixes: tuple[str, ...],
    ) -> None:
        self.base_offset = base_offset
        self.size_bytes = size_bytes
        self.largest_timestamp = largest_timestamp
        self.offset_of_largest_timestamp = offset_of_largest_timestamp
        self.suffixes = suffixes

    def __repr__(self) -> str:
        return f"CleanedSegment({self.base_offset}, {self.size_bytes} bytes)"


class CleanedSegmentWriter:
    __slots__ = ("_base_offset", "_directory", "_disk", "_indexes", "_log")

    def __init__(self, disk: Disk, directory: str, base_offset: int, config: LogConfig) -> None:
        self._disk = disk
        self._directory = directory
        self._base_offset = base_offset
        self._indexes = SparseIndexes(base_offset, config.index_interval_bytes, config.segment_index_bytes)
        remove_cleaned(disk, directory, base_offset)  # of a round that was cut short
        self._log = disk.open(self._path(names.LOG), create=True)

    def append(self, parts: Sequence[Buffer]) -> int:
        """Whole batches. Returns how many bytes they are."""
        expected = sum(len(part) for part in parts)
        if expected == 0:
            return 0
        _append_all(self._log, parts, expected)
        for part in parts:
            self._indexes.add(part)
        return expected

    def finish(self, aborted: Sequence[AbortedTransaction]) -> CleanedSegment:
        self._indexes.finish()
        self._log.fsync()
        self._log.close()
        files = {names.OFFSET_INDEX: self._indexes.offset_entries, names.TIME_INDEX: self._indexes.time_entries}
        if aborted:
            files[names.TRANSACTION_INDEX] = bytearray(transaction_index.encode(aborted))
        for suffix, data in files.items():
            self._write(suffix, data)
        self._disk.fsync_dir(self._directory)
        indexes = self._indexes
        return CleanedSegment(
            self._base_offset,
            indexes.position,
            indexes.largest_timestamp,
            indexes.offset_of_largest_timestamp,
            (names.LOG, *files),
        )

    def discard(self) -> None:
        self._log.close()
        remove_cleaned(self._disk, self._directory, self._base_offset)

    def _write(self, suffix: str, data: bytearray) -> None:
        file = self._disk.open(self._path(suffix), create=True)
        try:
            if data:
                _append_all(file, [data], len(data))
            file.fsync()
        finally:
            file.close()

    def _path(self, suffix: str) -> str:
        return cleaned_path(self._directory, self._base_offset, suffix)


def cleaned_path(directory: str, base_offset: int, suffix: str) -> str:
    return f"{directory}/{names.file_name(base_offset, suffix + names.CLEANED)}"


def remove_cleaned(disk: Disk, directory: str, base_offset: int) -> None:
    for suffix in names.SEGMENT_FILES:
        if disk.exists(path := cleaned_path(directory, base_offset, suffix)):
            disk.unlink(path)


def _append_all(file: DiskFile, parts: Sequence[Buffer], expected: int) -> None:
    """A short write is how a disk says that it has just filled up."""
    if file.append(parts) != expected:
        raise DiskFull(file.path)
