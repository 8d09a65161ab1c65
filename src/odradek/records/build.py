"""Batches of magic 2 from columns, and one batch record by record.

Both leave the base offset 0 and the leader epoch -1: the broker that appends a batch assigns them. A batch is closed
when the next record would make it larger than `batch_bytes_max`, counted before compression; a record that is larger
than that has a batch of its own, and one that no request could carry is MessageTooLarge.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from odradek.records import kernel, layout
from odradek.records.arrow import BinaryColumn, HeadersColumn, timestamps_of
from odradek.records.compression import NONE, compress
from odradek.records.crc import crc32c
from odradek.records.rows import Buffer

if TYPE_CHECKING:
    import pyarrow as pa

Span = tuple[int, int, int, int]

BATCH_BYTES_MAX = 16384  # batch.size
REQUEST_BYTES_MAX = 1048576  # max.request.size
INT32_MAX = 0x7FFF_FFFF


class BatchIdentity:
    """Who sends a batch. The defaults are a producer that is neither idempotent nor transactional."""

    __slots__ = ("base_sequence", "is_transactional", "producer_epoch", "producer_id")

    def __init__(
        self,
        producer_id: int = layout.NO_PRODUCER_ID,
        producer_epoch: int = layout.NO_PRODUCER_EPOCH,
        base_sequence: int = layout.NO_SEQUENCE,
        is_transactional: bool = False,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.is_transactional = is_transactional

    def fields(self) -> tuple[int, int, int, int]:
        attributes = layout.TRANSACTIONAL_MASK if self.is_transactional else 0
        return attributes, self.producer_id, self.producer_epoch, self.base_sequence


NOBODY = BatchIdentity()


class Batches:
    """Finished batches, back to back in `data`. A span is first byte, end, first row and record count."""

    __slots__ = ("data", "spans")

    def __init__(self, data: Buffer, spans: list[Span]) -> None:
        self.data = data
        self.spans = spans

    def __len__(self) -> int:
        return len(self.spans)

    def __iter__(self) -> Iterator[memoryview]:
        view = memoryview(self.data)
        return (view[start:stop] for start, stop, _, _ in self.spans)

    def __repr__(self) -> str:
        return f"Batches({len(self.spans)} batches, {len(self.data)} bytes)"


def build(
    values: "BinaryColumn | Sequence[bytes | None] | pa.Array[Any] | None",
    *,
    keys: "BinaryColumn | Sequence[bytes | None] | pa.Array[Any] | None" = None,
    headers: "HeadersColumn | pa.Array[Any] | None" = None,
    timestamps: "Buffer | pa.Array[Any] | None" = None,
    default_timestamp: int,
    identity: BatchIdentity = NOBODY,
    codec: int = NONE,
    level: int | None = None,
    batch_bytes_max: int = BATCH_BYTES_MAX,
    request_bytes_max: int = REQUEST_BYTES_MAX,
) -> Batches:
    """Batches from columns: ours, pyarrow's with their memory shared, or lists. No values: every value is null.

    `timestamps` are int64 milliseconds in native order; without them, and for nulls among them, every record gets
    `default_timestamp`.
    """
    rows = len(values) if values is not None else len(keys) if keys is not None else 0
    data, spans = kernel.encode_batches(
        rows,
        _binary(keys),
        _binary(values),
        _headers(headers),
        _timestamps(timestamps, default_timestamp),
        default_timestamp,
        identity.fields(),
        batch_bytes_max,
        min(request_bytes_max, INT32_MAX),
        codec == NONE,
    )
    if codec == NONE:
        return Batches(data, spans)
    return _compressed(data, spans, codec, level)


def build_record_batch(batch: "pa.RecordBatch | pa.Table", *, default_timestamp: int, **options: Any) -> list[Batches]:
    """Batches from the columns value, and if they are there key, headers and timestamp, of pyarrow's tables.

    A table gives one item per chunk of its rows: nothing is copied to join them. Options are those of `build`.
    """
    pieces = batch.to_batches() if hasattr(batch, "to_batches") else [batch]
    return [_built_piece(piece, default_timestamp, options) for piece in pieces]


def _built_piece(piece: "pa.RecordBatch", default_timestamp: int, options: dict[str, Any]) -> Batches:
    columns = {name: piece.column(name) for name in ("key", "headers", "timestamp") if name in piece.schema.names}
    return build(
        piece.column("value"),
        keys=columns.get("key"),
        headers=columns.get("headers"),
        timestamps=columns.get("timestamp"),
        default_timestamp=default_timestamp,
        **options,
    )


class BatchBuilder:
    """One batch of a producer, record by record.

    `append(timestamp, key, value, headers=())` returns False, and has changed nothing, once a record does not fit. It
    is the kernel's own method: a wrapper would cost as much as the work.
    """

    __slots__ = ("_codec", "_level", "_writer", "append")

    def __init__(self, batch_bytes_max: int = BATCH_BYTES_MAX, codec: int = NONE, level: int | None = None) -> None:
        self._writer = kernel.RecordsWriter(batch_bytes_max)
        self._codec = codec
        self._level = level
        self.append = self._writer.append

    def __len__(self) -> int:
        return self._writer.count

    @property
    def size_bytes(self) -> int:
        """Of the batch so far, before compression."""
        return self._writer.size

    @property
    def max_timestamp(self) -> int:
        return self._writer.max_timestamp

    def build(self, identity: BatchIdentity = NOBODY) -> bytes:
        """The finished batch. The builder is as it was: a retry may build again with another identity."""
        writer = self._writer
        if writer.count == 0:
            raise ValueError("a batch without records cannot be produced")
        batch = writer.seal(*identity.fields(), self._codec == NONE)
        if self._codec == NONE:
            return batch
        return bytes(_compressed_batch(memoryview(batch), self._codec, self._level))


def estimated_size(key: Buffer | None, value: Buffer | None, headers_bytes: int = 0) -> int:
    """The most that a batch of this one record can take uncompressed, to compare with a limit before appending."""
    payload = (len(key) if key is not None else 0) + (len(value) if value is not None else 0) + headers_bytes
    return layout.HEADER_SIZE + RECORD_OVERHEAD_BYTES_MAX + payload


RECORD_OVERHEAD_BYTES_MAX = 5 + 1 + 10 + 5 + 5 + 5 + 5  # every varint at its longest


def _compressed(data: Buffer, spans: list[Span], codec: int, level: int | None) -> Batches:
    view = memoryview(data)
    out = bytearray()
    moved: list[Span] = []
    for start, stop, first_row, count in spans:
        at = len(out)
        out += _compressed_batch(view[start:stop], codec, level)
        moved.append((at, len(out), first_row, count))
    return Batches(out, moved)


def _compressed_batch(batch: memoryview, codec: int, level: int | None) -> bytearray:
    out = bytearray(batch[: layout.HEADER_SIZE])
    out += compress(codec, batch[layout.HEADER_SIZE :], level)
    (attributes,) = layout.ATTRIBUTES.unpack_from(out, layout.ATTRIBUTES_OFFSET)
    layout.LENGTH.pack_into(out, layout.LENGTH_OFFSET, len(out) - layout.LOG_OVERHEAD)
    layout.ATTRIBUTES.pack_into(out, layout.ATTRIBUTES_OFFSET, attributes | codec)
    layout.CRC.pack_into(out, layout.CRC_OFFSET, crc32c(memoryview(out)[layout.ATTRIBUTES_OFFSET :]))
    return out


def _binary(column: Any) -> BinaryColumn | None:
    if column is None or isinstance(column, BinaryColumn):
        return column
    if isinstance(column, (list, tuple)):
        return BinaryColumn.from_list(column)
    return BinaryColumn.from_pyarrow(_one(column))


def _headers(column: Any) -> HeadersColumn | None:
    return column if column is None or isinstance(column, HeadersColumn) else HeadersColumn.from_pyarrow(_one(column))


def _timestamps(column: Any, default_timestamp: int) -> Buffer | None:
    return timestamps_of(_one(column), default_timestamp) if hasattr(column, "null_count") else column


def _one(column: Any) -> Any:
    """A chunked array as one array; joining its chunks is the only copy that pyarrow columns ever cost."""
    return column.combine_chunks() if hasattr(column, "chunks") else column
