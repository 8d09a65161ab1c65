"""A buffer of batches as columns: no Python object per record.

`scan` walks the batches and notes where each key and value is. Plain batches, the bulk of any log, are done in runs by
the kernel. What needs a decision stops a run and is done here, one batch at a time: compressed batches (decompressed
into a further source), transactional ones when some were aborted, control batches, magic 0 and 1, damaged ones.

A Columns owns its arrays and holds its sources; their bytes are copied only by the gathering calls, `keys`, `values`
and `headers`.
"""

from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol import errors
from odradek.records import fields, kernel, layout
from odradek.records.arrow import BinaryColumn, HeadersColumn, to_record_batch
from odradek.records.batch import RecordBatch, batch_size
from odradek.records.built import Batches
from odradek.records.compression import LIMIT_BYTES
from odradek.records.legacy import LegacyBatch
from odradek.records.record import signed_64
from odradek.records.rows import FACTS_PER_BATCH, Buffer, Rows, Segment

if TYPE_CHECKING:
    import pyarrow as pa

SOURCE_BYTES_MAX = 0x7FFF_FFFF  # positions are int32; a segment of Kafka's log is no larger
CONTROL_TYPE_ABORT = 0
_LAST_OFFSET = 2 - FACTS_PER_BATCH  # of the last batch, counted from the end of the facts

AbortedTransaction = tuple[int, int]  # producer id, first offset: as fetch responses list them


class BatchFacts(NamedTuple):
    """What the header of a batch says of its records, which begin at `first_row` and end where the next begins."""

    first_row: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    attributes: int


class ControlRecord(NamedTuple):
    offset: int
    timestamp: int
    producer_id: int
    producer_epoch: int
    key: bytes
    value: bytes

    @property
    def type(self) -> int:
        """0 abort, 1 commit, above that the quorum's own; the key is a version and a type, int16 each."""
        return int.from_bytes(self.key[2:4], "big", signed=True)


class Columns:
    """The records of a scan. `next_offset` and `end_position` are where the next fetch or scan goes on."""

    __slots__ = ("_rows", "_segments", "control_records", "end_position", "error", "next_offset")

    def __init__(self, rows: Rows, segments: list[Segment]) -> None:
        self._rows = rows
        self._segments = segments
        self.control_records: list[ControlRecord] = []
        self.end_position = 0
        self.next_offset: int | None = None
        self.error: errors.KafkaError | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Columns({len(self)} records, next_offset={self.next_offset})"

    @property
    def rows(self) -> Rows:
        return self._rows

    @property
    def segments(self) -> list[Segment]:
        return self._segments

    @property
    def header_count(self) -> int:
        return self._rows.header_count

    def batches(self) -> list[BatchFacts]:
        facts = self._rows.batch_facts
        return [BatchFacts(*facts[at : at + FACTS_PER_BATCH]) for at in range(0, len(facts), FACTS_PER_BATCH)]

    def batch_attributes(self) -> set[int]:
        """The attributes that occur in any batch: cheaper to look at than the facts of each."""
        return set(self._rows.batch_facts[FACTS_PER_BATCH - 1 :: FACTS_PER_BATCH])

    def offsets(self) -> "array[int]":
        return self._rows.offsets

    def timestamps(self) -> "array[int]":
        """Milliseconds, -1 for none; the append time where the topic has LogAppendTime."""
        return self._rows.timestamps

    def keys(self) -> BinaryColumn:
        return _gathered(self._rows.key_positions, self._rows.key_lengths, self._segments)

    def values(self) -> BinaryColumn:
        return _gathered(self._rows.value_positions, self._rows.value_lengths, self._segments)

    def headers(self) -> HeadersColumn:
        if self._rows.header_count == 0:
            none = BinaryColumn(0, bytes(4), b"")
            return HeadersColumn(len(self), bytes(4 * (len(self) + 1)), none, none)
        list_offsets, key_positions, key_lengths, value_positions, value_lengths, segments = kernel.locate_headers(
            self._rows.value_positions, self._rows.value_lengths, self._segments, self._rows.header_count
        )
        return HeadersColumn(
            len(self),
            list_offsets,
            _gathered(key_positions, key_lengths, segments),
            _gathered(value_positions, value_lengths, segments),
        )

    def to_arrow(self) -> "pa.RecordBatch":
        """Columns key, value, headers, offset, timestamp; null where there is no key, value or timestamp.

        Needs pyarrow; without it ImportError says how to install it.
        """
        return to_record_batch(self.keys(), self.values(), self.headers(), self.offsets(), self.timestamps())


def scan(
    buffer: Buffer | Batches,
    *,
    limit_bytes: int = LIMIT_BYTES,
    from_offset: int | None = None,
    check_crc: bool = True,
    keep_control: bool = False,
    aborted: Sequence[AbortedTransaction] | None = None,
    keep_good: bool = False,
) -> Columns:
    """The records of every whole batch of the buffer; a batch that is cut off at the end is left out.

    `buffer` is what `build` returned or anything with contiguous bytes. `limit_bytes` bounds what all compressed
    batches together may decompress to. Records below `from_offset` are skipped. Control records go to
    `control_records`, with `keep_control` to the columns instead. With `aborted`, for read_committed, the records of
    those transactions are skipped.

    Raises, for what is in the buffer:
        CorruptMessage              a CRC, magic, length or compressed stream that is damaged
        InvalidRecord               a batch whose CRC is right, with records that do not parse
        UnsupportedCompressionType  a batch that names a codec there is not
        RecordListTooLarge          compressed batches that hold more than `limit_bytes`
    With `keep_good` none of these is raised: the sound batches before it are returned and the error is in `error`.

    Raises, for what the caller did: TypeError for a `buffer` without contiguous bytes or a number that is none,
    ValueError for a negative `limit_bytes` or a buffer above 2 GB, OverflowError for numbers above 64 bits.
    """
    limit_bytes = fields.natural("limit_bytes", limit_bytes)
    first = kernel.INT64_MIN if from_offset is None else fields.integer("from_offset", from_offset)
    work = _Scan(_contiguous(buffer), limit_bytes, first, check_crc)
    work.keep_control = keep_control
    if aborted is not None:
        work.filter_aborted(aborted)
    try:
        work.run()
    except errors.KafkaError as error:
        if not keep_good:
            raise
        work.columns.error = error
    return work.columns


def _contiguous(buffer: object) -> memoryview:
    data = buffer.data if isinstance(buffer, Batches) else buffer
    try:
        return memoryview(data).cast("B")  # type: ignore[arg-type]
    except TypeError:
        kind = "a view with gaps" if isinstance(data, memoryview) else type(data).__name__
        raise TypeError(f"scan takes Batches or contiguous bytes, not {kind}") from None


class _Scan:
    """One scan under way."""

    __slots__ = (
        "aborted",
        "aborted_ids",
        "check_crc",
        "columns",
        "from_offset",
        "keep_control",
        "limit_bytes",
        "position",
        "rows",
        "segments",
        "source",
        "stop_mask",
    )

    def __init__(self, source: memoryview, limit_bytes: int, from_offset: int, check_crc: bool) -> None:
        self.source = source
        if len(self.source) > SOURCE_BYTES_MAX:
            raise ValueError(f"a buffer of {len(self.source)} bytes is too large for one scan: 2 GB at most")
        self.limit_bytes = limit_bytes
        self.from_offset = from_offset
        self.check_crc = check_crc
        self.keep_control = False
        self.stop_mask = 0
        self.aborted: list[AbortedTransaction] = []
        self.aborted_ids: set[int] = set()
        self.position = 0
        self.rows = Rows()
        self.segments: list[Segment] = []
        self.columns = Columns(self.rows, self.segments)

    def filter_aborted(self, aborted: Iterable[AbortedTransaction]) -> None:
        self.aborted = sorted(aborted, key=lambda transaction: -transaction[1])  # the earliest is popped first
        self.stop_mask = layout.TRANSACTIONAL_MASK

    def run(self) -> None:
        while True:
            first_row = len(self.rows)
            position = kernel.scan_run(
                self.source, self.position, self.stop_mask, self.check_crc, self.from_offset, self.rows
            )
            if position > self.position:
                self._claim(self.source, first_row)
                self.columns.next_offset = self.rows.batch_facts[_LAST_OFFSET] + 1
            self.position = self.columns.end_position = position
            size = batch_size(self.source, self.position)
            if size is None or self.position + size > len(self.source):
                return
            self._one(self.source[self.position : self.position + size])
            self.position += size

    def _one(self, piece: memoryview) -> None:
        if piece[layout.MAGIC_OFFSET] < layout.MAGIC_MAX:
            self._legacy(LegacyBatch(piece))
            return
        batch = RecordBatch(piece)
        if self.check_crc:
            batch.ensure_valid()
        if batch.is_control and not self.keep_control:
            self._control(batch)
        elif not self._is_aborted(batch):
            self._add(batch, self.rows, self.from_offset)
        self.columns.next_offset = batch.next_offset

    def _add(self, batch: RecordBatch, rows: Rows, from_offset: int) -> memoryview:
        """Appends the batch to `rows` and returns the source that they point into."""
        source, start, end = self.source, self.position + layout.HEADER_SIZE, self.position + batch.size
        if batch.compression:
            source = batch.body(self.limit_bytes)
            self.limit_bytes -= len(source)
            start, end = 0, len(source)
        append_time = batch.max_timestamp if batch.attributes & layout.TIMESTAMP_TYPE_MASK else None
        first_row = len(rows)
        kernel.scan_records(
            source, start, end, batch.count, batch.base_offset, batch.base_timestamp, append_time, from_offset, rows
        )
        if rows is self.rows:
            self._claim(source, first_row)
            self._note(batch, first_row)
        return source

    def _note(self, batch: RecordBatch, first_row: int) -> None:
        facts = (batch.partition_leader_epoch, batch.producer_id, batch.producer_epoch, batch.attributes)
        self.rows.batch_facts.extend((first_row, batch.base_offset, signed_64(batch.last_offset), *facts))

    def _claim(self, source: Buffer, first_row: int) -> None:
        """The rows from `first_row` on lie in `source`."""
        stop = len(self.rows)
        if stop == first_row:
            return
        if self.segments and self.segments[-1][0] is source:
            first_row = self.segments.pop()[1]
        self.segments.append((source, first_row, stop))

    def _is_aborted(self, batch: RecordBatch) -> bool:
        if not batch.has_producer_id:
            return False
        self._open_aborted_up_to(batch.last_offset)
        return batch.is_transactional and not batch.is_control and batch.producer_id in self.aborted_ids

    def _open_aborted_up_to(self, offset: int) -> None:
        while self.aborted and self.aborted[-1][1] <= offset:
            self.aborted_ids.add(self.aborted.pop()[0])

    def _control(self, batch: RecordBatch) -> None:
        rows = Rows()
        source = self._add(batch, rows, kernel.INT64_MIN)
        segments: list[Segment] = [(source, 0, len(rows))]
        keys = _gathered(rows.key_positions, rows.key_lengths, segments).to_list()
        values = _gathered(rows.value_positions, rows.value_lengths, segments).to_list()
        self._open_aborted_up_to(batch.last_offset)
        for row, (key, value) in enumerate(zip(keys, values, strict=True)):
            times = rows.offsets[row], rows.timestamps[row]
            record = ControlRecord(*times, batch.producer_id, batch.producer_epoch, key or b"", value or b"")
            if record.type == CONTROL_TYPE_ABORT:
                self.aborted_ids.discard(batch.producer_id)
            if record.offset >= self.from_offset:
                self.columns.control_records.append(record)

    def _legacy(self, batch: LegacyBatch) -> None:
        """Magic 0 and 1 go record by record: their keys and values are copied into a source of their own."""
        if self.check_crc:
            batch.ensure_valid()
        records = list(batch.records(self.limit_bytes))
        rows, first_row, source = self.rows, len(self.rows), bytearray()
        for record in records:
            offset = signed_64(record.offset)
            if offset < self.from_offset:
                continue
            rows.offsets.append(offset)
            rows.timestamps.append(record.timestamp)
            rows.key_positions.append(len(source))
            rows.key_lengths.append(-1 if record.key is None else len(record.key))
            source += record.key or b""
            rows.value_positions.append(len(source))
            rows.value_lengths.append(-1 if record.value is None else len(record.value))
            source += record.value or b""
            source.append(0)  # no headers: where they begin, every source must have a count
        if batch.compression:
            self.limit_bytes -= len(source)
        self._claim(bytes(source), first_row)
        nothing = (layout.NO_LEADER_EPOCH, layout.NO_PRODUCER_ID, layout.NO_PRODUCER_EPOCH, batch.attributes)
        rows.batch_facts.extend((first_row, signed_64(records[0].offset), batch.last_offset, *nothing))
        self.columns.next_offset = batch.next_offset


def _gathered(positions: "array[int]", lengths: "array[int]", segments: list[Segment]) -> BinaryColumn:
    is_large, null_count, validity, offsets, data = kernel.gather(positions, lengths, segments)
    return BinaryColumn(len(lengths), offsets, data, validity, null_count=null_count, is_large=is_large)
