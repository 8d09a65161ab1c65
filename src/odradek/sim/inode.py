"""The content of one simulated file: what a reader sees, what is on the platter, and the writes between the two.

`seen` is the page cache: every write is in it at once. `durable` is what an fsync has reached. `pending` are
the writes and truncations since then, in order. A crash decides, page by page, how many of its pending writes
have landed:

- The writes to one page land in order: first none, then some, then all. Pages know nothing of each other: a
  later one may have landed and an earlier one not (it then has its old bytes, or zeros where the file was
  shorter).
- A torn page has the first or the last part of one write, cut at any byte.
- The size is the inode's and lands on its own, in order: the file may be longer than what landed (zeros) or
  shorter.
- A truncation lands with the inode. What was written after it is never seen without it: blocks that were
  given up and blocks that replace them are not both part of the file.
"""

from odradek.broken_rule import present
from odradek.reactor.ports import Buffer
from odradek.sim.crash import CrashProfile
from odradek.sim.rng import SimStream

PAGE_BYTES = 4096


class Write:
    """A write of `data` at `position`, or, without data, a truncation to `position`."""

    __slots__ = ("data", "position", "size_after")

    def __init__(self, position: int, data: bytes | None, size_after: int) -> None:
        self.position = position
        self.data = data
        self.size_after = size_after

    def pages(self) -> range:
        if not self.data:
            return range(0)
        return pages_of(self.position, len(self.data))

    def part_in(self, page: int) -> tuple[int, int]:
        """Where in the file its bytes in this page begin and end."""
        data = present(self.data, "only a write has pages")
        begin = max(self.position, page * PAGE_BYTES)
        return begin, min(self.position + len(data), (page + 1) * PAGE_BYTES)


def pages_of(position: int, size: int) -> range:
    return range(position // PAGE_BYTES, (position + size + PAGE_BYTES - 1) // PAGE_BYTES)


class Inode:
    __slots__ = ("cold", "durable", "is_linked", "mtime_ms", "open_files", "pending", "seen")

    def __init__(self, mtime_ms: int) -> None:
        self.seen = bytearray()
        self.durable = bytearray()
        self.pending: list[Write] = []
        self.cold: set[int] = set()  # pages that are not in the page cache: reading them blocks
        self.mtime_ms = mtime_ms
        self.is_linked = False
        self.open_files = 0

    def write(self, data: Buffer, position: int) -> None:
        copied = bytes(data)
        end = position + len(copied)
        if position > len(self.seen):
            self.seen.extend(bytes(position - len(self.seen)))
        self.seen[position:end] = copied
        self.pending.append(Write(position, copied, len(self.seen)))
        self.cold.difference_update(pages_of(position, len(copied)))

    def truncate(self, size: int) -> None:
        resize(self.seen, size)
        self.pending.append(Write(size, None, size))

    def read(self, size: int, position: int) -> bytes:
        self.cold.difference_update(pages_of(position, size))
        return bytes(self.seen[position : position + size])

    def would_block(self, size: int, position: int) -> bool:
        return bool(self.cold) and not self.cold.isdisjoint(pages_of(position, size))

    def fsync(self) -> None:
        """Dirty pages and the size reach the platter; a page that an earlier failure dropped is clean and does not."""
        for write in self.pending:
            if write.data is None:
                resize(self.durable, write.position)
        resize(self.durable, len(self.seen))
        for page in self._dirty_pages():
            begin, end = page * PAGE_BYTES, (page + 1) * PAGE_BYTES
            self.durable[begin:end] = self.seen[begin:end]
        self.pending.clear()

    def fail_fsync(self, profile: CrashProfile, stream: SimStream) -> None:
        """Some pages landed; all are clean now. Readers still see the new bytes, until the pages are evicted."""
        self.durable = self._landed(profile, stream)
        self.pending.clear()

    def crash(self, profile: CrashProfile, stream: SimStream) -> None:
        self.durable = self._landed(profile, stream)
        self.seen = bytearray(self.durable)
        self.pending.clear()
        self.open_files = 0
        self.evict()

    def evict(self) -> None:
        """Drops the clean pages from the page cache: the next read gets what is on the platter."""
        dirty = self._dirty_pages()
        self.cold = {page for page in pages_of(0, len(self.seen)) if page not in dirty}
        for page in self.cold:
            begin, end = page * PAGE_BYTES, min((page + 1) * PAGE_BYTES, len(self.seen))
            stored = self.durable[begin:end]
            self.seen[begin:end] = stored + bytes(end - begin - len(stored))

    def damage(self, position: int, data: bytes) -> None:
        """Changes bytes on the platter and in the cache, behind everybody's back."""
        for content in (self.seen, self.durable):
            end = min(position + len(data), len(content))
            if position < end:
                content[position:end] = data[: end - position]

    def _dirty_pages(self) -> set[int]:
        dirty: set[int] = set()
        for write in self.pending:
            if write.data is None:
                dirty.update(pages_of(write.position, 1))  # the page that was cut through
            else:
                dirty.update(write.pages())
        return {page for page in dirty if page * PAGE_BYTES < len(self.seen)}

    def _landed(self, profile: CrashProfile, stream: SimStream) -> bytearray:
        pending = self.pending
        inode_at = profile.landed_of(len(pending), stream)  # the size and the truncations have come this far
        horizon = next((i for i in range(inode_at, len(pending)) if pending[i].data is None), len(pending))
        parts = self._landed_parts(pending[:horizon], profile, stream)
        content = bytearray(self.durable)
        for index, write in enumerate(pending[:horizon]):
            if write.data is None:
                resize(content, write.position)
            for begin, end in parts.get(index, ()):
                resize(content, max(len(content), end))
                content[begin:end] = write.data[begin - write.position : end - write.position]  # type: ignore[index]
        resize(content, pending[inode_at - 1].size_after if inode_at else len(self.durable))
        return content

    def _landed_parts(
        self, writes: list[Write], profile: CrashProfile, stream: SimStream
    ) -> dict[int, list[tuple[int, int]]]:
        """By the number of the write, the byte ranges of it that have landed."""
        by_page: dict[int, list[int]] = {}
        for index, write in enumerate(writes):
            for page in write.pages():
                by_page.setdefault(page, []).append(index)
        parts: dict[int, list[tuple[int, int]]] = {}
        for page in sorted(by_page):
            indexes = by_page[page]
            is_torn = stream.chance(profile.tear_percent)
            whole = stream.below(len(indexes)) if is_torn else profile.landed_of(len(indexes), stream)
            for index in indexes[:whole]:
                parts.setdefault(index, []).append(writes[index].part_in(page))
            if is_torn:
                parts.setdefault(indexes[whole], []).append(_torn(writes[indexes[whole]].part_in(page), stream))
        return parts


def _torn(part: tuple[int, int], stream: SimStream) -> tuple[int, int]:
    begin, end = part
    cut = stream.between(begin, end)
    return (begin, cut) if stream.chance(50) else (cut, end)


def resize(content: bytearray, size: int) -> None:
    if size < len(content):
        del content[size:]
    else:
        content.extend(bytes(size - len(content)))
