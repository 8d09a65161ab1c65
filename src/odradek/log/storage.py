"""What all logs of a broker share: the disk, the open files, the loaded indexes, and the chance that spreads rolls."""

from collections import OrderedDict
from collections.abc import Callable

from odradek.log.index.offset_index import OffsetIndex
from odradek.log.index.time_index import TimeIndex
from odradek.reactor.file_range import FileCache
from odradek.reactor.ports import Disk, Rng, Stream

OPEN_FILES_MAX = 1000
INDEX_ENTRIES_MAX = 2_000_000  # about 24 MB of entries

Index = OffsetIndex | TimeIndex


class IndexCache:
    """The indexes of sealed segments by path, least recently used first, up to a number of entries in all."""

    __slots__ = ("_indexes", "entries", "entries_max")

    def __init__(self, entries_max: int = INDEX_ENTRIES_MAX) -> None:
        self._indexes: OrderedDict[str, Index] = OrderedDict()
        self.entries = 0
        self.entries_max = entries_max

    def __len__(self) -> int:
        return len(self._indexes)

    def get(self, path: str) -> Index | None:
        index = self._indexes.get(path)
        if index is not None:
            self._indexes.move_to_end(path)
        return index

    def add(self, path: str, index: Index) -> None:
        self.forget(path)
        self._indexes[path] = index
        self.entries += len(index)
        while self.entries > self.entries_max and len(self._indexes) > 1:
            _, oldest = self._indexes.popitem(last=False)
            self.entries -= len(oldest)

    def forget(self, path: str) -> None:
        index = self._indexes.pop(path, None)
        if index is not None:
            self.entries -= len(index)


class Storage:
    __slots__ = ("disk", "files", "indexes", "jitter", "on_index_damage")

    def __init__(self, disk: Disk, rng: Rng, *, open_files_max: int = OPEN_FILES_MAX) -> None:
        self.disk = disk
        self.files = FileCache(disk, open_files_max)
        self.indexes = IndexCache()
        self.jitter: Stream = rng.stream("log.segment.jitter")
        self.on_index_damage: Callable[[str, int], None] | None = None  # takes directory and base offset

    def index_damaged(self, directory: str, base_offset: int) -> None:
        if self.on_index_damage is not None:
            self.on_index_damage(directory, base_offset)

    def forget(self, path: str) -> None:
        """Before the file is renamed, removed or rewritten."""
        self.files.forget(path)
        self.indexes.forget(path)
