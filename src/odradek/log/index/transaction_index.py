"""The transaction index: the aborted transactions that ended in a segment, in the order of their markers.

    version int16 | producer id int64 | first offset int64 | last offset int64 | last stable offset int64

The last offset is that of the abort marker. The last stable offset is the one that held right after it: nothing that
is first open below it can still be aborted in this segment, which is where a search for a range may stop. The file is
made with its first entry; most segments have none.
"""

from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple

from odradek.log.index.sparse_index import CorruptIndex

_ENTRY = Struct(">hqqqq")
ENTRY_SIZE = _ENTRY.size
VERSION = 0


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def encode(entries: Iterable[AbortedTransaction]) -> bytes:
    return b"".join(_ENTRY.pack(VERSION, *entry) for entry in entries)


def decode(data: bytes, base_offset: int) -> list[AbortedTransaction]:
    if len(data) % ENTRY_SIZE:
        raise CorruptIndex(f"{len(data)} bytes are no whole number of entries of {ENTRY_SIZE}")
    entries = []
    for version, *fields in _ENTRY.iter_unpack(data):
        if version != VERSION:
            raise CorruptIndex(f"an entry has version {version}")
        entries.append(AbortedTransaction(*fields))
    _check(entries, base_offset)
    return entries


def _check(entries: list[AbortedTransaction], base_offset: int) -> None:
    previous = base_offset - 1
    for entry in entries:
        if entry.last_offset <= previous or entry.first_offset > entry.last_offset:
            raise CorruptIndex(f"{entry} does not follow an entry that ends at {previous}")
        previous = entry.last_offset


def search(
    entries: list[AbortedTransaction], fetch_offset: int, upper_bound_offset: int
) -> tuple[list[AbortedTransaction], bool]:
    """Those that touch [fetch offset, upper bound offset), and whether no later segment can add to them."""
    found = []
    for entry in entries:
        if entry.last_offset >= fetch_offset and entry.first_offset < upper_bound_offset:
            found.append(entry)
        if entry.last_stable_offset >= upper_bound_offset:
            return found, True
    return found, False
