"""The loops of compaction in plain Python: the twins of those in `_cleaner.pyx`.

All of them work on runs of plain batches: whole, magic 2, neither compressed nor control. They stop in front of
anything else, return where, and leave it to the caller. A batch with a wrong crc is CorruptMessage, a malformed record
InvalidRecord: to copy it under a new crc would make damage look sound.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Protocol

from odradek.log.cleaner.key_map import KeyMap
from odradek.protocol import errors
from odradek.records import crc, kernel, layout
from odradek.records.record import signed_64
from odradek.records.varint import Buffer, read_varint, read_varlong, write_varint, write_varlong

_NOT_PLAIN = layout.COMPRESSION_MASK | layout.CONTROL_MASK
_KEPT_IN_EMPTY = layout.TIMESTAMP_TYPE_MASK | layout.TRANSACTIONAL_MASK
_ATTRIBUTES_KNOWN = 0x7F
_INT32 = Struct(">i")
_INT64 = Struct(">q")
_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")

# start, behind the timestamp delta, end, timestamp delta, offset delta, key or None, whether it has a value
_Walked = tuple[int, int, int, int, int, bytes | None, bool]


class Transactions(Protocol):
    def on_batch(self, producer_id: int, last_offset: int) -> bool:
        """Whether this batch, the next of a transactional producer, was aborted."""
        ...


class Retention:
    """What compaction keeps of records and batches, besides what the key map says. All of it is fixed for one round.

    That whole segments are deleted for their age or size is another matter (`log/retention.py`).
    """

    __slots__ = ("last_data_offsets", "new_delete_horizon_ms", "now_ms", "upper_bound_offset")

    def __init__(
        self, now_ms: int, delete_retention_ms: int, upper_bound_offset: int, last_data_offsets: dict[int, int]
    ) -> None:
        self.now_ms = now_ms
        self.new_delete_horizon_ms = now_ms + delete_retention_ms
        self.upper_bound_offset = upper_bound_offset  # the batch that ends here is kept, if need be empty
        self.last_data_offsets = last_data_offsets  # by producer id: the batch that ends there holds its sequence


def corrupt_batch(base_offset: int) -> errors.CorruptMessage:
    return errors.CorruptMessage(f"The batch at offset {base_offset} is corrupt: its crc is not that of its bytes.")


class _Batch:
    __slots__ = (
        "attributes",
        "base_offset",
        "base_timestamp",
        "count",
        "data",
        "is_aborted",
        "last_offset",
        "max_timestamp",
        "position",
        "producer_id",
    )

    def __init__(self, data: bytes, position: int, transactions: Transactions) -> None:
        self.data = data
        self.position = position
        (self.base_offset, _, _, _, found_crc, self.attributes, delta, *rest) = layout.HEADER.unpack_from(data)
        if crc.crc32c(memoryview(data)[layout.ATTRIBUTES_OFFSET :]) != found_crc:
            raise corrupt_batch(self.base_offset)
        self.last_offset = signed_64(self.base_offset + delta)
        self.base_timestamp, self.max_timestamp, self.producer_id, _, _, self.count = rest
        kernel.check_records(memoryview(data)[layout.HEADER_SIZE :], self.count)
        self.is_aborted = bool(self.attributes & layout.TRANSACTIONAL_MASK) and transactions.on_batch(
            self.producer_id, self.last_offset
        )

    @property
    def has_delete_horizon(self) -> bool:
        return bool(self.attributes & layout.DELETE_HORIZON_MASK)

    @property
    def is_append_time(self) -> bool:
        return bool(self.attributes & layout.TIMESTAMP_TYPE_MASK)

    def timestamp(self, delta: int) -> int:
        return self.max_timestamp if self.is_append_time else signed_64(self.base_timestamp + delta)

    def walk(self) -> Iterator[_Walked]:
        view = memoryview(self.data)
        end = len(view)
        start = layout.HEADER_SIZE
        for _ in range(self.count):
            length, at = read_varint(view, start, end)
            stop = at + length
            timestamp_delta, after_timestamp = read_varlong(view, at + 1, end)
            offset_delta, at = read_varint(view, after_timestamp, end)
            key_length, at = read_varint(view, at, end)
            key = None if key_length < 0 else bytes(view[at : at + key_length])
            value_length, _ = read_varint(view, at + max(key_length, 0), end)
            yield start, after_timestamp, stop, timestamp_delta, offset_delta, key, value_length >= 0
            start = stop


def _run(source: Buffer, position: int, transactions: Transactions) -> list[_Batch]:
    """The plain batches from `position` on; all of them are checked before any of them is used."""
    view = memoryview(source)
    found = []
    while len(view) - position >= layout.HEADER_SIZE:
        (length,) = layout.LENGTH.unpack_from(view, position + layout.LENGTH_OFFSET)
        (attributes,) = layout.ATTRIBUTES.unpack_from(view, position + layout.ATTRIBUTES_OFFSET)
        stop = position + layout.LOG_OVERHEAD + length
        if view[position + layout.MAGIC_OFFSET] != layout.MAGIC_MAX or attributes & _NOT_PLAIN:
            break
        if not position + layout.HEADER_SIZE <= stop <= len(view):
            break
        found.append(_Batch(bytes(view[position:stop]), position, transactions))
        position = stop
    return found


def _stop(run: list[_Batch], position: int) -> int:
    return run[-1].position + len(run[-1].data) if run else position


# --- building the map ---


def index_keys(
    source: Buffer, position: int, key_map: KeyMap, from_offset: int, transactions: Transactions
) -> tuple[int, bool]:
    """Puts the keys of a run into the map. Returns where it stopped, and whether the map was full there."""
    run = _run(source, position, transactions)
    for batch in run:
        if batch.last_offset < from_offset:
            continue
        if not batch.is_aborted and not _index_batch(batch, key_map, from_offset):
            return batch.position, True
        key_map.advance(batch.last_offset)
    return _stop(run, position), False


def _index_batch(batch: _Batch, key_map: KeyMap, from_offset: int) -> bool:
    for _, _, _, _, offset_delta, key, _ in batch.walk():
        offset = signed_64(batch.base_offset + offset_delta)
        if key is not None and offset >= from_offset:
            if key_map.size >= key_map.entries_max:
                return False
            key_map.put(key, offset)
    return True


# --- choosing and copying ---


def filter_batches(
    source: Buffer, position: int, key_map: KeyMap, retention: Retention, transactions: Transactions
) -> tuple[int, memoryview, int, int, int]:
    """What compaction leaves of a run: where it stopped, the bytes, records read and kept, batches rewritten."""
    run = _run(source, position, transactions)
    out = bytearray()
    records_kept = rewritten = 0
    for batch in run:
        kept = (
            []
            if batch.is_aborted
            else [record for record in batch.walk() if _is_kept(record, batch, key_map, retention)]
        )
        left = _left_of(batch, kept, retention)
        rewritten += left is not batch.data and bool(left)
        records_kept += len(kept)
        out += left
    return _stop(run, position), memoryview(out), sum(batch.count for batch in run), records_kept, rewritten


def _is_kept(record: _Walked, batch: _Batch, key_map: KeyMap, retention: Retention) -> bool:
    offset = signed_64(batch.base_offset + record[4])
    return is_retained(offset, record[5], record[6], key_map, _deletes_expired(batch, retention))


def is_retained(offset: int, key: bytes | None, has_value: bool, key_map: KeyMap, deletes_expired: bool) -> bool:
    """The rule of compaction for one record. The map knows nothing of what lies behind its latest offset."""
    if offset > key_map.latest_offset:
        return True
    if key is None or (deletes_expired and not has_value):
        return False
    return offset >= key_map.get(key)


def _deletes_expired(batch: _Batch, retention: Retention) -> bool:
    return batch.has_delete_horizon and batch.base_timestamp <= retention.now_ms


def _left_of(batch: _Batch, kept: list[_Walked], retention: Retention) -> bytes:
    if kept:
        return _with_records(batch, kept, retention)
    return _empty(batch) if _is_kept_empty(batch, retention) else b""


def _is_kept_empty(batch: _Batch, retention: Retention) -> bool:
    if signed_64(batch.last_offset + 1) == retention.upper_bound_offset:
        return True
    return batch.producer_id >= 0 and retention.last_data_offsets.get(batch.producer_id) == batch.last_offset


def _with_records(batch: _Batch, kept: list[_Walked], retention: Retention) -> bytes:
    has_tombstone = any(not record[6] for record in kept)
    if len(kept) == batch.count and (batch.has_delete_horizon or not has_tombstone):
        return batch.data
    timestamps = [batch.timestamp(record[3]) for record in kept]
    attributes = batch.attributes & _ATTRIBUTES_KNOWN
    base_timestamp = timestamps[0]
    if batch.has_delete_horizon:
        base_timestamp = batch.base_timestamp
    elif has_tombstone:
        base_timestamp = retention.new_delete_horizon_ms
        attributes |= layout.DELETE_HORIZON_MASK
    max_timestamp = batch.max_timestamp if batch.is_append_time else max(layout.NO_TIMESTAMP, *timestamps)
    return _rewritten(
        batch, _section(batch, kept, timestamps, base_timestamp), attributes, base_timestamp, max_timestamp, len(kept)
    )


def _section(batch: _Batch, kept: list[_Walked], timestamps: list[int], base_timestamp: int) -> bytearray:
    """The records; as they are, unless their timestamps now count from another one."""
    section = bytearray()
    is_same = base_timestamp == batch.base_timestamp and not batch.is_append_time
    for record, timestamp in zip(kept, timestamps, strict=True):
        if is_same:
            section += batch.data[record[0] : record[2]]
            continue
        _, attributes_at = read_varint(memoryview(batch.data), record[0], record[2])
        body = bytearray(batch.data[attributes_at : attributes_at + 1])
        write_varlong(body, signed_64(timestamp - base_timestamp))
        body += batch.data[record[1] : record[2]]
        write_varint(section, len(body))
        section += body
    return section


def _empty(batch: _Batch) -> bytes:
    attributes = batch.attributes & _KEPT_IN_EMPTY
    is_empty = len(batch.data) == layout.HEADER_SIZE and batch.base_timestamp == layout.NO_TIMESTAMP
    if is_empty and batch.attributes == attributes:
        return batch.data
    return _rewritten(batch, bytearray(), attributes, layout.NO_TIMESTAMP, batch.max_timestamp, 0)


def _rewritten(
    batch: _Batch, section: bytearray, attributes: int, base_timestamp: int, max_timestamp: int, count: int
) -> bytes:
    """The header of the old batch, but for what is given; offsets, leader epoch and the producer's fields stay."""
    out = bytearray(batch.data[: layout.HEADER_SIZE]) + section
    layout.LENGTH.pack_into(out, layout.LENGTH_OFFSET, len(out) - layout.LOG_OVERHEAD)
    layout.ATTRIBUTES.pack_into(out, layout.ATTRIBUTES_OFFSET, attributes)
    _INT64.pack_into(out, layout.BASE_TIMESTAMP_OFFSET, base_timestamp)
    _INT64.pack_into(out, layout.MAX_TIMESTAMP_OFFSET, max_timestamp)
    _INT32.pack_into(out, layout.RECORD_COUNT_OFFSET, count)
    layout.CRC.pack_into(out, layout.CRC_OFFSET, crc.crc32c(memoryview(out)[layout.ATTRIBUTES_OFFSET :]))
    return bytes(out)


# --- the indexes of what was written ---


class SparseIndexes:
    """Offset and time index entries of a segment that is written batch by batch, as recovery would make them.

    `finish` adds the last time entry. An index that is full takes no more: what lies behind is found by a longer walk.
    """

    __slots__ = (
        "_base_offset",
        "_index_bytes_max",
        "_indexed_position",
        "_indexed_timestamp",
        "_interval_bytes",
        "largest_timestamp",
        "last_offset",
        "offset_entries",
        "offset_of_largest_timestamp",
        "position",
        "time_entries",
    )

    def __init__(self, base_offset: int, interval_bytes: int, index_bytes_max: int) -> None:
        self._base_offset = base_offset
        self._interval_bytes = interval_bytes
        self._index_bytes_max = index_bytes_max
        self._indexed_position = 0
        self._indexed_timestamp = layout.NO_TIMESTAMP
        self.position = 0
        self.largest_timestamp = layout.NO_TIMESTAMP
        self.offset_of_largest_timestamp = base_offset
        self.last_offset = base_offset - 1
        self.offset_entries = bytearray()
        self.time_entries = bytearray()

    def add(self, data: Buffer) -> None:
        """Whole batches of any magic, which follow those added before."""
        view = memoryview(data)
        at = 0
        while at < len(view):
            self._see(view, at)
            if self.position - self._indexed_position > self._interval_bytes:
                self._add_entries()
            size = layout.LOG_OVERHEAD + layout.LENGTH.unpack_from(view, at + layout.LENGTH_OFFSET)[0]
            self.position += size
            at += size

    def finish(self) -> None:
        self._add_time_entry()

    def _see(self, view: memoryview, at: int) -> None:
        magic = view[at + layout.MAGIC_OFFSET]
        (self.last_offset,) = layout.BASE_OFFSET.unpack_from(view, at)
        timestamp = layout.NO_TIMESTAMP
        if magic == layout.MAGIC_MAX:
            (delta,) = _INT32.unpack_from(view, at + layout.LAST_OFFSET_DELTA_OFFSET)
            self.last_offset = signed_64(self.last_offset + delta)
            (timestamp,) = layout.TIMESTAMP.unpack_from(view, at + layout.MAX_TIMESTAMP_OFFSET)
        elif magic == 1:
            (timestamp,) = layout.TIMESTAMP.unpack_from(view, at + layout.LEGACY_TIMESTAMP_OFFSET)
        if timestamp > self.largest_timestamp:
            self.largest_timestamp = timestamp
            self.offset_of_largest_timestamp = self.last_offset

    def _add_entries(self) -> None:
        if len(self.offset_entries) + _OFFSET_ENTRY.size > self._index_bytes_max:
            return
        if len(self.time_entries) + 2 * _TIME_ENTRY.size > self._index_bytes_max:  # one is for `finish`
            return
        self.offset_entries += _OFFSET_ENTRY.pack(self.last_offset - self._base_offset, self.position)
        self._indexed_position = self.position
        self._add_time_entry()

    def _add_time_entry(self) -> None:
        if self.largest_timestamp <= self._indexed_timestamp:
            return
        self.time_entries += _TIME_ENTRY.pack(
            self.largest_timestamp, self.offset_of_largest_timestamp - self._base_offset
        )
        self._indexed_timestamp = self.largest_timestamp
