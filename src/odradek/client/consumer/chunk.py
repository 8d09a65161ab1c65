"""What one fetch has brought of one partition, until it was handed out: bytes at first, rows once somebody takes it.

It is scanned when it is taken, in the thread of who takes it: checked, decompressed, and without the records of aborted
transactions and the markers, which take offsets all the same.
"""

from collections.abc import Sequence

from odradek.client.consumer.records import walk
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition
from odradek.records.columns import AbortedTransaction, Columns, scan
from odradek.records.rows import FACTS_PER_BATCH, Buffer, Rows, Segment

_NOTHING = Rows()
_LAST_EPOCH = 3 - FACTS_PER_BATCH  # of the last batch, counted from the end of the facts


class Chunk:
    """`row` to `stop` are the rows that are still to be handed out. `error` is met behind the last of them."""

    __slots__ = (
        "_aborted",
        "_data",
        "columns",
        "error",
        "first_offset",
        "generation",
        "is_scanned",
        "leader_epoch",
        "next_offset",
        "place",
        "row",
        "rows",
        "segments",
        "size_bytes",
        "stop",
    )

    def __init__(
        self,
        place: TopicPartition,
        generation: int,
        first_offset: int,
        data: Buffer = b"",
        aborted: Sequence[AbortedTransaction] | None = None,
        error: KafkaError | None = None,
    ) -> None:
        self.place = place
        self.generation = generation
        self.first_offset = first_offset  # what was asked for: a batch may begin before it
        self._data = data
        self._aborted = aborted
        self.error = error
        self.size_bytes = len(data)
        self.next_offset, self.leader_epoch, _ = walk(data)
        self.is_scanned = not data
        self.columns: Columns | None = None
        self.rows = _NOTHING
        self.segments: list[Segment] = []
        self.row = self.stop = 0

    def __repr__(self) -> str:
        return f"Chunk({self.place} from {self.first_offset} to {self.next_offset}, {self.size_bytes} bytes)"

    @property
    def is_refused(self) -> bool:
        """All that is left of it is its error."""
        return self.error is not None and self.is_scanned and self.row == self.stop

    def scan(self, *, checks_crc: bool, limit_bytes: int) -> None:
        """Once; a second time after it was interrupted gives the same."""
        columns = scan(
            self._data,
            limit_bytes=limit_bytes,
            from_offset=self.first_offset,
            check_crc=checks_crc,
            aborted=self._aborted,
            keep_good=True,
        )
        self.columns = columns
        self.rows, self.segments = columns.rows, columns.segments
        self.stop = len(columns)
        if columns.error is not None:
            self.error = columns.error
            self.next_offset = self.first_offset if columns.next_offset is None else columns.next_offset
            facts = columns.rows.batch_facts
            self.leader_epoch = facts[_LAST_EPOCH] if facts else -1
        self.is_scanned = True
