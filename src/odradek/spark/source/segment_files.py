"""The files of one partition in a log dir that this process can see: which segments there are, and their bytes.

A broker may work on them meanwhile: a file is opened once and read by its descriptor, so what has been opened stays
whole whatever becomes of its name. Files are read and not mapped: one that is cut short must be an error, not a signal.
"""

import logging
import os
from bisect import bisect_right
from collections.abc import Iterable

from odradek.inspection import file_forms, file_names
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import format_uuid
from odradek.records import layout

logger = logging.getLogger("odradek.spark")

_told: set[str] = set()


class UnfitSegment(Exception):  # noqa: N818 - it names what is found: the broker is asked instead
    """A segment cannot be read, or not be believed, from where the reader is."""


def tell_once(text: str) -> None:
    """Once in the life of a process: a stream has a task for each partition every second."""
    if text not in _told:
        _told.add(text)
        logger.warning("%s", text)


class SegmentFile:
    """An open segment; `end_offset` is where the next one begins, None for the last."""

    def __init__(self, path: str, base_offset: int, end_offset: int | None) -> None:
        self.path = path
        self.base_offset = base_offset
        self.end_offset = end_offset
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        status = os.fstat(self._fd)
        self.size = status.st_size
        self.identity = (status.st_dev, status.st_ino)

    def close(self) -> None:
        os.close(self._fd)

    def read(self, size: int, position: int) -> bytes:
        """So many bytes, fewer only at the end of the file."""
        pieces = []
        while size > 0 and (piece := os.pread(self._fd, size, position)):
            pieces.append(piece)
            size -= len(piece)
            position += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def read_into(self, buffer: memoryview, position: int) -> memoryview:
        """As much as the buffer takes, less only at the end of the file."""
        filled = 0
        while filled < len(buffer) and (count := os.preadv(self._fd, [buffer[filled:]], position + filled)):
            filled += count
        return buffer[:filled]

    def is_in_place(self) -> bool:
        """Whether it still is what its name stands for: not deleted, and not compacted into another."""
        try:
            status = os.stat(self.path)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self.identity


class SegmentDir:
    def __init__(self, path: str) -> None:
        self.path = path

    def base_offsets(self) -> list[int]:
        found = [file_names.parse_segment_file(name) for name in os.listdir(self.path)]
        return sorted(parts[0] for parts in found if parts is not None and parts[1] == file_names.LOG)

    def open_closed(self, offset: int) -> SegmentFile | None:
        """The segment that would hold the offset, unless it is the last one, which is written to."""
        bases = self.base_offsets()
        after = bisect_right(bases, offset)
        if not 0 < after < len(bases):
            return None
        return SegmentFile(self._path(bases[after - 1], file_names.LOG), bases[after - 1], bases[after])

    def open_at(self, base_offset: int) -> SegmentFile:
        """The segment of this name, the last one too."""
        return SegmentFile(self._path(base_offset, file_names.LOG), base_offset, None)

    def next_closed(self, offset: int) -> int | None:
        """Where the first closed segment behind the offset begins."""
        return next((base for base in self.base_offsets()[:-1] if base > offset), None)

    def position_of(self, file: SegmentFile, offset: int) -> int:
        """Where to begin to read for an offset. An index that leads behind it is not that of this file."""
        try:
            with open(self._path(file.base_offset, file_names.OFFSET_INDEX), "rb") as index:
                entries = file_forms.offset_index(index.read(), file.base_offset).entries
        except OSError:
            return 0
        at = bisect_right(entries, offset, key=lambda entry: entry[0])
        position = entries[at - 1][1] if at else 0
        first = file.read(layout.BASE_OFFSET.size, position)
        is_before = len(first) == layout.BASE_OFFSET.size and layout.BASE_OFFSET.unpack(first)[0] <= offset
        return position if is_before else 0

    def _path(self, base_offset: int, suffix: str) -> str:
        return os.path.join(self.path, file_names.segment_file(base_offset, suffix))


def segment_dir(log_dirs: Iterable[str], place: TopicPartition, topic_id: bytes) -> SegmentDir | None:
    """The directory of the partition; None, and a line in the log, if none of these log dirs has it."""
    reasons = []
    for log_dir in log_dirs:
        path = os.path.join(log_dir, f"{place.topic}-{place.partition}")
        reason = _unfit(path, topic_id)
        if reason is None:
            return SegmentDir(path)
        reasons.append(reason)
    tell_once(f"odradek.log.dirs: {'; '.join(reasons)}: the broker is asked")
    return None


def _unfit(path: str, topic_id: bytes) -> str | None:
    try:
        with open(os.path.join(path, file_names.PARTITION_METADATA), "rb") as metadata:
            found = file_forms.topic_id(metadata.read())
    except OSError as error:
        return f"{path} cannot be read ({error.strerror})"
    except file_forms.MalformedFile as error:
        return f"{path} does not tell its topic's id ({error})"
    if found != topic_id:
        return f"{path} is of another topic, with the id {format_uuid(found)} and not {format_uuid(topic_id)}"
    return None
