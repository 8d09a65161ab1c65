"""What the offset index and the time index have in common.

Both are arrays of fixed-width entries, sorted, one about every `index.interval.bytes` of the log. A file that a crash
left behind may end in zeros, which a broker that maps its indexes reserves in advance: they are no entries. An index
holds nothing that the log does not say, so one that does not check out is dropped and rebuilt, never repaired.
"""

from array import array
from operator import lt


class CorruptIndex(Exception):  # noqa: N818 - what is found, not what went wrong here
    """The index does not describe its segment: rebuild it from the log."""


class InvalidOffset(Exception):  # noqa: N818 - Kafka's word for it
    """An entry that would break the order of an index: the log below it is out of order."""


def whole_entries(data: bytes, entry_size: int) -> int:
    """How many entries the bytes hold, without the zeros at the end."""
    if len(data) % entry_size:
        raise CorruptIndex(f"{len(data)} bytes are no whole number of entries of {entry_size}")
    used = len(data.rstrip(b"\0"))
    return -(-used // entry_size)  # an entry may end in zeros of its own


def is_increasing(values: "array[int]") -> bool:
    return all(map(lt, values, values[1:]))
