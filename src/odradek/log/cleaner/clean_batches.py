"""What compaction leaves of a chunk of a segment, and the keys it finds there.

Plain batches go through the kernel, run by run. The others stop there and are taken here one at a time: a compressed
batch is unpacked into a plain one, given to the kernel, and packed again if it lost anything; control batches follow
their transactions; messages of magic 0 and 1 are chosen one by one.
"""

from collections.abc import Iterator

from odradek.log.cleaner.cleaned_transactions import CleanedTransactions
from odradek.log.cleaner.cleaner_kernel import KeyMap, filter_batches, index_keys
from odradek.log.cleaner.pure_cleaner import Retention, is_retained
from odradek.records import layout
from odradek.records.batch import RecordBatch, batch_size
from odradek.records.compression import compress
from odradek.records.crc import crc32c
from odradek.records.layout import LOG_APPEND_TIME, NO_TIMESTAMP
from odradek.records.legacy import LegacyBatch, message_set
from odradek.records.writer import BatchFields, empty_batch, record_batch

Bytes = bytes | memoryview


def whole_batch(chunk: memoryview, position: int) -> memoryview | None:
    """The batch at `position`; None if it is cut off at the end of the chunk."""
    size = batch_size(chunk, position)
    return None if size is None or position + size > len(chunk) else chunk[position : position + size]


class KeyIndexer:
    """Builds the map from the dirty section, chunk by chunk."""

    __slots__ = ("_from_offset", "_transactions", "is_full", "key_map")

    def __init__(self, key_map: KeyMap, from_offset: int, transactions: CleanedTransactions) -> None:
        self.key_map = key_map
        self._from_offset = from_offset
        self._transactions = transactions
        self.is_full = False

    def add(self, chunk: bytes) -> int:
        """Takes the whole batches of the chunk and returns their size; fewer if the map is full."""
        view = memoryview(chunk)
        position = 0
        while not self.is_full:
            position, self.is_full = self._add_run(chunk, position)
            batch = None if self.is_full else whole_batch(view, position)
            if batch is None:
                break
            self._add_other(batch)
            position += len(batch)
        return position

    def _add_run(self, source: bytes, position: int) -> tuple[int, bool]:
        return index_keys(source, position, self.key_map, self._from_offset, self._transactions)

    def _add_other(self, piece: memoryview) -> None:
        if piece[layout.MAGIC_OFFSET] != layout.MAGIC_MAX:
            self._add_messages(LegacyBatch(piece))
            return
        batch = RecordBatch(piece)
        batch.ensure_valid()
        if batch.is_control:
            self._transactions.on_control_batch(batch)
            self._advance(batch.last_offset)
        else:
            _, self.is_full = self._add_run(unpacked(batch), 0)

    def _add_messages(self, batch: LegacyBatch) -> None:
        batch.ensure_valid()
        for record in batch.records():
            if record.key is not None and record.offset >= self._from_offset:
                if self.key_map.size >= self.key_map.entries_max:
                    self.is_full = True
                    return
                self.key_map.put(record.key, record.offset)
        self._advance(batch.last_offset)

    def _advance(self, last_offset: int) -> None:
        if last_offset >= self._from_offset:
            self.key_map.advance(last_offset)


class CleanStats:
    __slots__ = ("batches_rewritten", "bytes_read", "bytes_written", "records_kept", "records_read")

    def __init__(self) -> None:
        self.records_read = 0
        self.records_kept = 0
        self.batches_rewritten = 0
        self.bytes_read = 0
        self.bytes_written = 0

    def __repr__(self) -> str:
        return f"CleanStats({', '.join(f'{name}={getattr(self, name)}' for name in self.__slots__)})"

    @property
    def is_unchanged(self) -> bool:
        return self.bytes_read == self.bytes_written and not self.batches_rewritten

    def add(self, other: "CleanStats") -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class LastRecord:
    """The newest that a producer has in the log: its last data, or if that is gone, a marker with its epoch."""

    __slots__ = ("last_data_offset", "producer_epoch")

    def __init__(self, last_data_offset: int | None, producer_epoch: int) -> None:
        self.last_data_offset = last_data_offset
        self.producer_epoch = producer_epoch


class BatchCleaner:
    """Cleans chunks in order. `keep_legacy_tombstones` may change from segment to segment."""

    __slots__ = ("_active_producers", "_key_map", "_retention", "_transactions", "keep_legacy_tombstones", "stats")

    def __init__(
        self,
        key_map: KeyMap,
        retention: Retention,
        transactions: CleanedTransactions,
        active_producers: dict[int, LastRecord],
    ) -> None:
        self._key_map = key_map
        self._retention = retention
        self._transactions = transactions
        self._active_producers = active_producers
        self.keep_legacy_tombstones = True
        self.stats = CleanStats()

    def clean(self, chunk: bytes) -> tuple[int, list[Bytes]]:
        """How many bytes of whole batches the chunk began with, and what is left of them."""
        view = memoryview(chunk)
        left: list[Bytes] = []
        position = 0
        while True:
            position, kept = self._clean_run(chunk, position)
            left.append(kept)
            batch = whole_batch(view, position)
            if batch is None:
                break
            left.extend(self._clean_other(batch))
            position += len(batch)
        self.stats.bytes_read += position
        self.stats.bytes_written += sum(len(part) for part in left)
        return position, [part for part in left if part]

    def _clean_run(self, source: bytes, position: int) -> tuple[int, memoryview]:
        stop, kept, records_read, records_kept, rewritten = filter_batches(
            source, position, self._key_map, self._retention, self._transactions
        )
        self.stats.records_read += records_read
        self.stats.records_kept += records_kept
        self.stats.batches_rewritten += rewritten
        return stop, kept

    def _clean_other(self, piece: memoryview) -> Iterator[Bytes]:
        if piece[layout.MAGIC_OFFSET] != layout.MAGIC_MAX:
            yield self._clean_messages(LegacyBatch(piece))
            return
        batch = RecordBatch(piece)
        batch.ensure_valid()
        yield self._clean_control(batch) if batch.is_control else self._clean_compressed(batch)

    # --- compressed ---

    def _clean_compressed(self, batch: RecordBatch) -> Bytes:
        rewritten_before = self.stats.batches_rewritten
        _, kept = self._clean_run(unpacked(batch), 0)
        if not kept or self.stats.batches_rewritten == rewritten_before:
            return batch.buffer if kept else b""
        return packed(kept, batch.compression)

    # --- control ---

    def _clean_control(self, batch: RecordBatch) -> Bytes:
        """A marker that nothing needs any more gets a delete horizon in this round and goes in one behind it."""
        is_free = self._transactions.on_control_batch(batch)
        horizon_ms = batch.delete_horizon_ms
        is_expired = is_free and horizon_ms is not None and horizon_ms <= self._retention.now_ms
        self.stats.records_read += batch.count
        if is_expired or batch.count == 0:
            return self._emptied(batch) if self._is_kept_empty(batch) else b""
        self.stats.records_kept += batch.count
        if is_free and horizon_ms is None:
            self.stats.batches_rewritten += 1
            return with_delete_horizon(batch, self._retention.new_delete_horizon_ms)
        return batch.buffer

    def _emptied(self, batch: RecordBatch) -> Bytes:
        empty = empty_batch(fields_of(batch), batch.base_offset, batch.last_offset, batch.max_timestamp)
        self.stats.batches_rewritten += batch.buffer != empty
        return empty

    def _is_kept_empty(self, batch: RecordBatch) -> bool:
        """The last marker of a producer without data holds its epoch, which fences older ones."""
        if batch.next_offset == self._retention.upper_bound_offset:
            return True
        last = self._active_producers.get(batch.producer_id) if batch.has_producer_id else None
        if last is None:
            return False
        if last.last_data_offset is None:
            return batch.producer_epoch == last.producer_epoch
        return batch.last_offset == last.last_data_offset

    # --- magic 0 and 1 ---

    def _clean_messages(self, batch: LegacyBatch) -> Bytes:
        batch.ensure_valid()
        records = list(batch.records())
        expired = not self.keep_legacy_tombstones
        kept = [
            record
            for record in records
            if is_retained(record.offset, record.key, record.value is not None, self._key_map, expired)
        ]
        self.stats.records_read += len(records)
        self.stats.records_kept += len(kept)
        if len(kept) == len(records):
            return batch.buffer
        self.stats.batches_rewritten += bool(kept)
        append_time = batch.timestamp if batch.timestamp_type == LOG_APPEND_TIME else NO_TIMESTAMP
        return message_set(
            kept,
            batch.magic,
            codec=batch.compression,
            timestamp_type=batch.timestamp_type,
            log_append_time=append_time,
        )


def unpacked(batch: RecordBatch) -> bytes:
    """The batch with the same records, not compressed."""
    return _framed(batch.buffer, batch.body(), batch.attributes & ~layout.COMPRESSION_MASK)


def packed(plain: memoryview, codec: int) -> bytes:
    """A plain batch, compressed; one without records stays as it is."""
    batch = RecordBatch(plain)
    if batch.count == 0:
        return bytes(plain)
    return _framed(plain, compress(codec, plain[layout.HEADER_SIZE :]), batch.attributes | codec)


def _framed(header: memoryview, section: Bytes, attributes: int) -> bytes:
    out = bytearray(header[: layout.HEADER_SIZE])
    out += section
    layout.LENGTH.pack_into(out, layout.LENGTH_OFFSET, len(out) - layout.LOG_OVERHEAD)
    layout.ATTRIBUTES.pack_into(out, layout.ATTRIBUTES_OFFSET, attributes)
    layout.CRC.pack_into(out, layout.CRC_OFFSET, crc32c(memoryview(out)[layout.ATTRIBUTES_OFFSET :]))
    return bytes(out)


def with_delete_horizon(batch: RecordBatch, delete_horizon_ms: int) -> bytes:
    fields = fields_of(batch, delete_horizon_ms)
    return record_batch(batch.records(), fields, base_offset=batch.base_offset, last_offset=batch.last_offset)


def fields_of(batch: RecordBatch, delete_horizon_ms: int | None = None) -> BatchFields:
    return BatchFields(
        partition_leader_epoch=batch.partition_leader_epoch,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        is_transactional=batch.is_transactional,
        is_control=batch.is_control,
        log_append_time=batch.max_timestamp if batch.timestamp_type == LOG_APPEND_TIME else None,
        delete_horizon_ms=delete_horizon_ms,
    )
