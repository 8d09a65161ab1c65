"""Batches of magic 2 from columns, and one batch record by record.

Both leave the leader epoch -1 and, unless `build` is told otherwise, the base offset 0: the broker that appends a
batch assigns them. A batch is closed when the next record would make it larger than `batch_bytes_max`, counted before
compression; a record that is larger than that has a batch of its own, and one that no request could carry is
MessageTooLarge.
"""

from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from odradek.records import fields, kernel, layout
from odradek.records.arrow import BinaryColumn, HeadersColumn, timestamps_of
from odradek.records.built import Batches, Span
from odradek.records.compression import NONE, codec_of, compress
from odradek.records.crc import crc32c
from odradek.records.encode_check import checked_base_offset, checked_timestamp
from odradek.records.pure_encode import Header
from odradek.records.rows import Buffer

if TYPE_CHECKING:
    from typing import TypedDict, TypeGuard, Unpack

    import pyarrow as pa

    class BuildOptions(TypedDict, total=False):
        """What `build` takes beside columns and numbers of the records."""

        identity: "BatchIdentity"
        codec: int | str
        level: int | None
        batch_bytes_max: int
        request_bytes_max: int


__all__ = ["BatchBuilder", "BatchIdentity", "Batches", "build", "build_record_batch", "estimated_size"]

BATCH_BYTES_MAX = 16384  # batch.size
REQUEST_BYTES_MAX = 1048576  # max.request.size


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


def build(
    values: "BinaryColumn | Sequence[Buffer | None] | pa.Array | None",
    *,
    keys: "BinaryColumn | Sequence[Buffer | None] | pa.Array | None" = None,
    headers: "HeadersColumn | Sequence[Iterable[Header] | None] | pa.Array | None" = None,
    timestamps: "Buffer | array[int] | Sequence[int | None] | pa.Array | None" = None,
    default_timestamp: int,
    identity: BatchIdentity = NOBODY,
    codec: int | str = NONE,
    level: int | None = None,
    batch_bytes_max: int = BATCH_BYTES_MAX,
    request_bytes_max: int = REQUEST_BYTES_MAX,
    base_offset: int | None = None,
) -> Batches:
    """Batches from columns: ours, pyarrow's with their memory shared, or lists. No values: every value is null.

    `headers` in a list are one list of (key, value) pairs per record. `timestamps` are milliseconds: a list of ints,
    or an int64 buffer in native order (array("q"), numpy, raw bytes). Without them, and for None and nulls among
    them, a record gets `default_timestamp`; -1 is "no timestamp".

    `codec` is a code or a name such as "zstd". `batch_bytes_max` closes a batch, `request_bytes_max` is what no record
    may exceed.

    `base_offset` None leaves offset 0 at the start of every batch, which is what a broker wants from a producer: it
    numbers the records itself. With a number the records are numbered from there on across all batches, as they are
    in a log, so that a scan of the result gives every record an offset of its own.

    Raises MessageTooLarge for a record beyond `request_bytes_max`, UnsupportedCompressionType or InvalidConfig for a
    codec or level that there is not, TypeError, ValueError or OverflowError for columns and numbers that cannot be.
    """
    code, level = _chosen(codec, level)
    if not isinstance(identity, BatchIdentity):
        raise TypeError(f"identity is a BatchIdentity, not {type(identity).__name__}")
    default_timestamp = checked_timestamp("default_timestamp", default_timestamp)
    value_column, key_column = _binary("value", values), _binary("key", keys)
    sizing = key_column if value_column is None else value_column
    data, spans = kernel.encode_batches(
        0 if sizing is None else sizing.length,
        key_column,
        value_column,
        _headers(headers),
        _timestamps(timestamps, default_timestamp),
        default_timestamp,
        identity.fields(),
        batch_bytes_max,
        request_bytes_max,
        code == NONE,
        base_offset,
    )
    if code == NONE:
        return Batches(data, spans)
    return _compressed(data, spans, code, level)


def build_record_batch(
    batch: "pa.RecordBatch | pa.Table",
    *,
    default_timestamp: int,
    base_offset: int | None = None,
    **options: "Unpack[BuildOptions]",
) -> list[Batches]:
    """Batches from the columns value, and if they are there key, headers and timestamp, of pyarrow's tables.

    A table gives one item per chunk of its rows: nothing is copied to join them. Options are those of `build`; a
    `base_offset` numbers the records on across the items.
    """
    pieces = batch.to_batches() if hasattr(batch, "to_batches") else [batch]
    first = checked_base_offset(base_offset, 0)
    built = []
    for piece in pieces:
        built.append(_built_piece(piece, default_timestamp, first, options))
        first = None if first is None else first + len(piece)
    return built


def _built_piece(
    piece: "pa.RecordBatch", default_timestamp: int, base_offset: int | None, options: "BuildOptions"
) -> Batches:
    columns = {name: piece.column(name) for name in ("key", "headers", "timestamp") if name in piece.schema.names}
    return build(
        piece.column("value"),
        keys=columns.get("key"),
        headers=columns.get("headers"),
        timestamps=columns.get("timestamp"),
        default_timestamp=default_timestamp,
        base_offset=base_offset,
        **options,
    )


class BatchBuilder:
    """One batch of a producer, record by record.

    An instance's `append` is the kernel's own method, in its dictionary: a wrapper would cost as much as the work.
    """

    __slots__ = ("__dict__", "_codec", "_level", "_writer")

    def __init__(
        self, batch_bytes_max: int = BATCH_BYTES_MAX, codec: int | str = NONE, level: int | None = None
    ) -> None:
        self._codec, self._level = _chosen(codec, level)
        self._writer = kernel.RecordsWriter(batch_bytes_max)
        self.__dict__["append"] = self._writer.append

    def append(self, timestamp: int, key: Buffer | None, value: Buffer | None, headers: Iterable[Header] = ()) -> bool:
        """Adds a record; False, and nothing has changed, if it does not fit. The first record of a batch always does.

        `timestamp` is in milliseconds, -1 for none; `headers` are (key, value) pairs. Raises TypeError, ValueError or
        OverflowError for fields that cannot be, and MessageTooLarge for a record of 2 GB.
        """
        return self._writer.append(timestamp, key, value, headers)

    def __len__(self) -> int:
        return self._writer.count

    @property
    def size_bytes(self) -> int:
        """The bytes of the batch so far, before compression."""
        return self._writer.size

    @property
    def max_timestamp(self) -> int:
        """The latest timestamp so far, -1 before the first record."""
        return self._writer.max_timestamp

    def build(self, identity: BatchIdentity = NOBODY) -> bytes:
        """The finished batch. The builder is as it was: a retry may build again with another identity."""
        if not isinstance(identity, BatchIdentity):
            raise TypeError(f"identity is a BatchIdentity, not {type(identity).__name__}")
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


def _chosen(codec: int | str, level: int | None) -> tuple[int, int | None]:
    """Refused here, not at the first batch that is compressed. What is not compressed has no level."""
    if codec == NONE:
        return NONE, None
    chosen = codec_of(codec)
    return chosen.code, None if chosen.code == NONE else chosen.checked_level(level)


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


# The columns of a caller: `build` says what they should be, and these find out what they are.


def _binary(name: str, column: object) -> BinaryColumn | None:
    if column is None or isinstance(column, BinaryColumn):
        return column
    if isinstance(column, (list, tuple)):
        return BinaryColumn.from_list(column, name)
    if not _is_pyarrow(column):
        raise TypeError(f"{name}s are a list of bytes, a BinaryColumn or a pyarrow array, not {type(column).__name__}")
    return BinaryColumn.from_pyarrow(_one(column))


def _headers(column: object) -> HeadersColumn | None:
    if column is None or isinstance(column, HeadersColumn):
        return column
    if isinstance(column, (list, tuple)):
        return HeadersColumn.from_list(column)
    if not _is_pyarrow(column):
        kind = type(column).__name__
        raise TypeError(f"headers are a list of lists of (key, value), a HeadersColumn or a pyarrow array, not {kind}")
    return HeadersColumn.from_pyarrow(_one(column))


def _timestamps(column: Any, default_timestamp: int) -> memoryview | None:
    """The column as a buffer; whether it holds an int64 for every row is the kernel's check. Any: whether it is one at
    all is for `memoryview` to say.
    """
    if column is None:
        return None
    if isinstance(column, (list, tuple)):
        return memoryview(_listed_timestamps(column, default_timestamp))
    if _is_pyarrow(column):
        return timestamps_of(_one(column), default_timestamp)
    try:
        return memoryview(column)
    except TypeError:
        kind = type(column).__name__
        raise TypeError(f"timestamps are a list of ints, an int64 buffer or a pyarrow array, not {kind}") from None


def _listed_timestamps(listed: Sequence[int | None], default_timestamp: int) -> "array[int]":
    times = [default_timestamp if time is None else time for time in listed]
    try:
        return array("q", times)
    except (TypeError, OverflowError):  # without saying which
        return array("q", [fields.integer(f"record {row}: timestamp", time) for row, time in enumerate(times)])


def _is_pyarrow(column: object) -> "TypeGuard[pa.Array | pa.ChunkedArray]":
    """An array, chunked or not; without importing pyarrow, which need not be there."""
    return hasattr(column, "null_count") and hasattr(column, "type")


def _one(column: "pa.Array | pa.ChunkedArray") -> "pa.Array":
    """A chunked array as one array; joining its chunks is the only copy that pyarrow columns ever cost."""
    return column.combine_chunks() if hasattr(column, "chunks") else column
