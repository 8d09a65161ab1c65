"""Which files there are to dump, and what each of them is by its name."""

import re
from collections.abc import Iterator

from odradek.inspection import file_names
from odradek.reactor.ports import Disk

SEGMENT = "segment"  # batches: a .log, or a snapshot of the metadata log
OFFSET_INDEX = "offset index"
TIME_INDEX = "time index"
TRANSACTION_INDEX = "transaction index"
PRODUCER_SNAPSHOT = "producer snapshot"
TEXT = "text"

# What `--decode` knows, and the topic that holds it.
INTERNAL_TOPICS = {
    "offsets": "__consumer_offsets",
    "transactions": "__transaction_state",
    "share": "__share_group_state",
    "metadata": "__cluster_metadata",
}

_BY_SUFFIX = {
    f".{file_names.LOG}": SEGMENT,
    ".checkpoint": SEGMENT,
    f".{file_names.OFFSET_INDEX}": OFFSET_INDEX,
    f".{file_names.TIME_INDEX}": TIME_INDEX,
    f".{file_names.TRANSACTION_INDEX}": TRANSACTION_INDEX,
    f".{file_names.PRODUCER_SNAPSHOT}": PRODUCER_SNAPSHOT,
}
_TEXT_NAMES = {
    *file_names.CHECKPOINTS,
    file_names.LEADER_EPOCHS,
    file_names.PARTITION_METADATA,
    file_names.QUORUM_STATE,
    file_names.META_PROPERTIES,
    file_names.CLEAN_SHUTDOWN,
}
_STATE = re.compile(r"\.(?:deleted|cleaned|swap|part)$")  # what a segment is on its way to, behind its own suffix


class DumpFile:
    """`name` is how the output calls it: below the directory that was asked for, or the path as given."""

    __slots__ = ("kind", "name", "path", "size")

    def __init__(self, path: str, name: str, kind: str, size: int) -> None:
        self.path = path
        self.name = name
        self.kind = kind
        self.size = size

    @property
    def base_offset(self) -> int:
        """The offset in the file's name, which the entries of an index count from."""
        digits = self.path.rpartition("/")[2][:20]
        return int(digits) if len(digits) == 20 and digits.isascii() and digits.isdigit() else 0


def kind_of(name: str) -> str | None:
    if name in _TEXT_NAMES:
        return TEXT
    stem = _STATE.sub("", name)
    return next((kind for suffix, kind in _BY_SUFFIX.items() if stem.endswith(suffix)), None)


def named_file(disk: Disk, path: str) -> DumpFile | None:
    """The file at `path`, or None if its name does not say what it is."""
    kind = kind_of(path.rpartition("/")[2])
    return None if kind is None else DumpFile(path, path, kind, disk.size(path))


def files_under(disk: Disk, directory: str, below: str = "") -> Iterator[DumpFile]:
    """Every file of a log dir or a partition dir in order, those that wait for their deletion too."""
    for name in disk.list(directory):
        path, shown = f"{directory}/{name}", below + name
        if disk.is_dir(path):
            yield from files_under(disk, path, shown + "/")
        elif (kind := kind_of(name)) is not None:
            yield DumpFile(path, shown, kind, disk.size(path))


def is_of_another_topic(path: str, topic: str) -> bool:
    """Whether the directory of the file says that it belongs to a topic that is not `topic`."""
    found = file_names.partition_dir(path.rpartition("/")[0].rpartition("/")[2])
    return found is not None and found.topic != topic
