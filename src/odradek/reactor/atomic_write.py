"""Replacing a small file so that a crash leaves the old or the new one, on any disk."""

import posixpath
from errno import ENOSPC

from odradek.reactor.ports import Disk, DiskFile


def write_atomically(disk: Disk, path: str, data: bytes, *, syncs_name: bool = True) -> None:
    """The name changes only after the new content is durable, and the call returns only after the name is.

    Who syncs the directory later anyway does without the second.
    """
    temporary = path + ".tmp"
    file = disk.open(temporary, create=True)
    try:
        file.truncate(0)  # an earlier attempt may have died half-way
        append_all(file, data)
        file.fsync()
    finally:
        file.close()
    disk.rename(temporary, path)
    if syncs_name:
        disk.fsync_dir(posixpath.dirname(path) or ".")


def append_all(file: DiskFile, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        written = file.append([rest])
        if written == 0:
            raise OSError(ENOSPC, "no space left on device", file.path)
        rest = rest[written:]
