"""Check and scan in plain Python: the twins of those in `_kernel.pyx`, branch for branch.

One walk reads the records of a section field by field; everything else is what is done with each record it yields.
"""

from array import array
from collections.abc import Iterator

from odradek.protocol import errors
from odradek.records import crc, faults, layout
from odradek.records.faults import HEADER_BYTES_MIN, RECORD_BYTES_MIN, invalid_record
from odradek.records.rows import Buffer, Rows

# timestamp delta, offset delta, key position, key length, value position, value length, header count, end
WalkedRecord = tuple[int, int, int, int, int, int, int, int]

COMMON_BYTES = 96  # more than length 2, attributes 1, timestamp delta 6, offset delta 2, key 1 + 63, value length 2

_NOT_PLAIN = layout.COMPRESSION_MASK | layout.CONTROL_MASK
INT64_MIN = -(1 << 63)  # as `from_offset`: every record
_MASK_32 = (1 << 32) - 1
_MASK_64 = (1 << 64) - 1


class RecordsSummary:
    """What a broker must know of the records of one batch before it appends it."""

    __slots__ = (
        "first_offset_delta",
        "keyless_index",
        "last_offset_delta",
        "max_timestamp_delta",
        "max_timestamp_index",
        "min_timestamp_delta",
        "null_value_count",
        "offsets_consecutive",
    )

    def __init__(self) -> None:
        self.first_offset_delta = 0
        self.last_offset_delta = -1
        self.offsets_consecutive = True
        self.min_timestamp_delta = 0
        self.max_timestamp_delta = 0
        self.max_timestamp_index = -1
        self.keyless_index = -1
        self.null_value_count = 0


class _Fault(Exception):  # noqa: N818 -- never leaves this module
    def __init__(self, fault: int, position: int) -> None:
        self.fault = fault
        self.position = position


def check_records(body: Buffer, count: int) -> RecordsSummary:
    """Walks the uncompressed record section of one batch; raises InvalidRecord at the first fault."""
    summary = RecordsSummary()
    expected = 0
    for index, record in enumerate(_walk_or_raise(body, 0, len(body), count)):
        timestamp_delta, offset_delta, _, key_length, _, value_length, _, _ = record
        if index == 0:
            summary.first_offset_delta = expected = offset_delta
            summary.min_timestamp_delta = summary.max_timestamp_delta = timestamp_delta
            summary.max_timestamp_index = 0
        if offset_delta != expected:
            summary.offsets_consecutive = False
        expected = offset_delta + 1
        if timestamp_delta > summary.max_timestamp_delta:
            summary.max_timestamp_delta = timestamp_delta
            summary.max_timestamp_index = index
        elif timestamp_delta < summary.min_timestamp_delta:
            summary.min_timestamp_delta = timestamp_delta
        if key_length < 0 and summary.keyless_index < 0:
            summary.keyless_index = index
        if value_length < 0:
            summary.null_value_count += 1
    summary.last_offset_delta = expected - 1
    return summary


# Count, largest timestamp, index of the record that has it; the largest timestamp and the producer id in the header.
BatchFacts = tuple[int, int, int, int, int]


def check_batch(
    batch: Buffer, bytes_max: int, needs_keys: bool, now_ms: int, before_ms_max: int, after_ms_max: int
) -> BatchFacts | None:
    """What a broker must know of the one batch that a producer has sent, if it is as nearly all of them are: whole, of
    magic 2, from offset 0 on, not compressed, and nothing wrong with it. None for anything else.

    Timestamps may lie so long before and after now; with -1 for the first of these they are not looked at.
    """
    size = len(batch)
    if size < layout.HEADER_SIZE or size > bytes_max:
        return None
    header = layout.HEADER.unpack_from(batch)
    base_offset, length, _, magic, checksum, attributes, delta, base_timestamp, max_timestamp = header[:9]
    producer_id, epoch, sequence, count = header[9:]
    if (
        base_offset
        or magic != layout.MAGIC_MAX
        or attributes & ~layout.TRANSACTIONAL_MASK
        or length + layout.LOG_OVERHEAD != size
        or delta + 1 != count
        or count <= 0
        or (producer_id < 0 and attributes)
        or (producer_id >= 0 and (epoch < 0 or sequence < 0))
    ):
        return None
    view = memoryview(batch)
    if crc.crc32c(view[layout.ATTRIBUTES_OFFSET :]) != checksum:
        return None
    try:
        found = check_records(view[layout.HEADER_SIZE :], count)
    except errors.InvalidRecord:
        return None
    first_timestamp = base_timestamp + found.min_timestamp_delta
    last_timestamp = base_timestamp + found.max_timestamp_delta
    if not found.offsets_consecutive or first_timestamp < INT64_MIN or last_timestamp >= -INT64_MIN:
        return None
    if needs_keys and found.keyless_index >= 0:
        return None
    if before_ms_max >= 0 and (first_timestamp < now_ms - before_ms_max or last_timestamp > now_ms + after_ms_max):
        return None
    return count, last_timestamp, found.max_timestamp_index, max_timestamp, producer_id


def scan_records(
    source: Buffer,
    start: int,
    end: int,
    count: int,
    base_offset: int,
    base_timestamp: int,
    append_time: int | None,
    from_offset: int,
    rows: Rows,
) -> None:
    """Adds the records of one section, `source[start:end]`, to the rows; on InvalidRecord none is added."""
    if not isinstance(source, bytes):
        source, shift = bytes(memoryview(source)[start:end]), start  # indexing is faster; one copy per batch
    else:
        shift = 0
    walked = list(_walk_or_raise(source, start - shift, end - shift, count))
    if from_offset > INT64_MIN:
        walked = [record for record in walked if _wrap_64(base_offset + record[1]) >= from_offset]
    if not walked:
        return
    columns = zip(*walked, strict=True)
    timestamp_deltas, offset_deltas, key_positions, key_lengths, value_positions, value_lengths, headers, _ = columns
    rows.offsets.extend(_int64s([base_offset + delta for delta in offset_deltas]))
    if append_time is None:
        rows.timestamps.extend(_int64s([base_timestamp + delta for delta in timestamp_deltas]))
    else:
        rows.timestamps.extend([append_time] * len(walked))
    rows.key_positions.extend([position + shift for position in key_positions])
    rows.key_lengths.extend(key_lengths)
    rows.value_positions.extend([position + shift for position in value_positions])
    rows.value_lengths.extend(value_lengths)
    rows.header_count += sum(headers)


def scan_run(source: Buffer, position: int, stop_mask: int, check_crc: bool, from_offset: int, rows: Rows) -> int:
    """Scans the plain batches that stand at `position`, one after the other, and returns where it stopped.

    Plain: whole, magic 2, not compressed, not control, no attribute of `stop_mask`, and sound. It never raises:
    whatever else it meets, a damaged batch too, is left to the caller, at the position returned.
    """
    view = memoryview(source)
    end = len(view)
    while end - position >= layout.HEADER_SIZE:
        header = layout.HEADER.unpack_from(view, position)
        stop = position + layout.LOG_OVERHEAD + header[1]
        if header[3] != 2 or header[5] & (_NOT_PLAIN | stop_mask):
            return position
        if stop > end or stop < position + layout.HEADER_SIZE:
            return position
        if check_crc and crc.crc32c(view[position + layout.ATTRIBUTES_OFFSET : stop]) != header[4]:
            return position
        if not scan_batch(source, position, stop, header, from_offset, rows):
            return position
        position = stop
    return position


def scan_batch(source: Buffer, position: int, stop: int, header: tuple[int, ...], from_offset: int, rows: Rows) -> bool:
    first_row = len(rows)
    append_time = header[8] if header[5] & layout.TIMESTAMP_TYPE_MASK else None
    body = position + layout.HEADER_SIZE
    try:
        scan_records(source, body, stop, header[12], header[0], header[7], append_time, from_offset, rows)
    except errors.InvalidRecord:
        return False
    last_offset = _wrap_64(header[0] + header[6])
    rows.batch_facts.extend((first_row, header[0], last_offset, header[2], header[9], header[10], header[5]))
    return True


def _walk_or_raise(body: Buffer, start: int, end: int, count: int) -> Iterator[WalkedRecord]:
    if count < 0 or count * RECORD_BYTES_MIN > end - start:
        raise invalid_record(faults.COUNT_BEYOND_SECTION, 0, 0)
    index = 0
    position = start
    try:
        for index in range(count):  # noqa: B007 -- the fault names it
            record = _read_common_record(body, position, end) or _read_record(body, position, end)
            position = record[7]
            yield record
        index = count
        if position != end:
            raise _Fault(faults.TRAILING_BYTES, position)
    except _Fault as fault:
        raise invalid_record(fault.fault, index, fault.position - start) from None


def _read_common_record(body: Buffer, start: int, end: int) -> WalkedRecord | None:
    """The record at `start` if every varint in it is short, it has no headers, and it is sound; else None.

    This is nearly every record, at half the time: no call and no bounds check per field. The fields before the value
    take less than COMMON_BYTES, so that reading them cannot leave the section; a value that does fails the last test.
    """
    if end - start < COMMON_BYTES:
        return None
    length = body[start]
    at = start + 2
    if length >= 0x80:
        high = body[start + 1]
        length = length & 0x7F | high << 7
        at = start + 3
        if high >= 0x80:
            return None
    record_end = at - 1 + (length >> 1)
    raw = body[at]
    at += 1
    if raw >= 0x80:
        raw &= 0x7F
        for shift in (7, 14, 21, 28, 35):
            high = body[at]
            at += 1
            raw |= (high & 0x7F) << shift
            if high < 0x80:
                break
        else:
            return None
    timestamp_delta = (raw >> 1) ^ -(raw & 1)
    offset_delta = body[at]
    at += 1
    if offset_delta >= 0x80:
        high = body[at]
        at += 1
        if high >= 0x80:
            return None
        offset_delta = offset_delta & 0x7F | high << 7
    key_length = body[at]
    key = at = at + 1
    if key_length == 1:
        key_length = -1
    elif key_length & 0x81:
        return None
    else:
        key_length >>= 1
        at += key_length
    value_length = body[at]
    value = at = at + 1
    if value_length >= 0x80:
        high = body[at]
        value = at = at + 1
        if high >= 0x80:
            return None
        value_length = value_length & 0x7F | high << 7
    if value_length & 1 or offset_delta & 1 or length & 1:  # negative
        return None
    value_length >>= 1
    at += value_length
    if at + 1 != record_end or record_end > end or body[at]:
        return None
    return timestamp_delta, offset_delta >> 1, key, key_length, value, value_length, 0, record_end


def _read_record(body: Buffer, position: int, end: int) -> WalkedRecord:
    if position == end:
        raise _Fault(faults.SECTION_ENDS_EARLY, position)
    length, field = _varint(body, position, end)
    if length < 0 or length > end - field:
        raise _Fault(faults.RECORD_LENGTH, position)
    end = field + length
    if field == end:
        raise _Fault(faults.FIELD_CUT_OFF, field)
    timestamp_delta, field = _varlong(body, field + 1, end)
    offset_delta, field = _varint(body, field, end)
    key_length, key = _varint(body, field, end)
    if key_length < -1 or key_length > end - key:
        raise _Fault(faults.KEY_LENGTH, field)
    field = key + key_length if key_length > 0 else key
    value_length, value = _varint(body, field, end)
    if value_length < -1 or value_length > end - value:
        raise _Fault(faults.VALUE_LENGTH, field)
    field = value + value_length if value_length > 0 else value
    header_count, after = _varint(body, field, end)
    if header_count:
        if header_count < 0 or header_count * HEADER_BYTES_MIN > end - after:
            raise _Fault(faults.HEADER_COUNT, field)
        after = _skip_headers(body, after, end, header_count)
    if after != end:
        raise _Fault(faults.LENGTH_MISMATCH, after)
    return timestamp_delta, offset_delta, key, key_length, value, value_length, header_count, end


def _skip_headers(body: Buffer, field: int, end: int, header_count: int) -> int:
    for _ in range(header_count):
        key_length, key = _varint(body, field, end)
        if key_length < 0:
            raise _Fault(faults.NULL_HEADER_KEY, field)
        if key_length > end - key:
            raise _Fault(faults.HEADER_KEY_LENGTH, field)
        field = key + key_length
        value_length, value = _varint(body, field, end)
        if value_length < -1 or value_length > end - value:
            raise _Fault(faults.HEADER_VALUE_LENGTH, field)
        field = value + value_length if value_length > 0 else value
    return field


def _varint(body: Buffer, position: int, end: int) -> tuple[int, int]:
    if position >= end:
        raise _Fault(faults.FIELD_CUT_OFF, position)
    raw = body[position]
    if raw < 0x80:
        return (raw >> 1) ^ -(raw & 1), position + 1
    raw, after = _long_varint(body, position, end, 5)
    raw &= _MASK_32
    return (raw >> 1) ^ -(raw & 1), after


def _varlong(body: Buffer, position: int, end: int) -> tuple[int, int]:
    if position >= end:
        raise _Fault(faults.FIELD_CUT_OFF, position)
    raw = body[position]
    if raw < 0x80:
        return (raw >> 1) ^ -(raw & 1), position + 1
    raw, after = _long_varint(body, position, end, 10)
    raw &= _MASK_64
    return (raw >> 1) ^ -(raw & 1), after


def _long_varint(body: Buffer, position: int, end: int, bytes_max: int) -> tuple[int, int]:
    raw = shift = 0
    for after in range(position, min(end, position + bytes_max)):
        byte = body[after]
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return raw, after + 1
        shift += 7
    fault = faults.VARINT_TOO_LONG if end - position >= bytes_max else faults.FIELD_CUT_OFF
    raise _Fault(fault, position)


def _int64s(values: list[int]) -> "array[int]":
    """Sums that leave 64 bits wrap around, as they do in every other executor of this format."""
    try:
        return array("q", values)
    except OverflowError:
        return array("q", [_wrap_64(value) for value in values])


def _wrap_64(value: int) -> int:
    return ((value + (1 << 63)) & _MASK_64) - (1 << 63)
