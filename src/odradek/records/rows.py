"""What a scan writes: one entry per record in each array, one stretch of facts per batch.

The arrays are plain `array`s in both executors: `offsets` and `timestamps` already have Arrow's layout, positions count
from the start of the record's source. There is no column for headers: they begin where the value ends.
"""

from array import array

Buffer = bytes | bytearray | memoryview
Segment = tuple[Buffer, int, int]  # a source, the first of the rows that lie in it, and the row behind the last

FACTS_PER_BATCH = 7  # first row, base offset, last offset, leader epoch, producer id, producer epoch, attributes


class Rows:
    __slots__ = (
        "batch_facts",
        "header_count",
        "key_lengths",
        "key_positions",
        "offsets",
        "timestamps",
        "value_lengths",
        "value_positions",
    )

    def __init__(self) -> None:
        self.offsets = array("q")
        self.timestamps = array("q")
        self.key_positions = array("i")
        self.key_lengths = array("i")  # -1: null
        self.value_positions = array("i")
        self.value_lengths = array("i")  # -1: null
        self.header_count = 0
        self.batch_facts = array("q")

    def __len__(self) -> int:
        return len(self.offsets)

    def truncate(self, rows: int) -> None:
        """Forgets the rows of a batch that turned out to be unwanted."""
        for column in (self.offsets, self.timestamps):
            del column[rows:]
        for place in (self.key_positions, self.key_lengths, self.value_positions, self.value_lengths):
            del place[rows:]
