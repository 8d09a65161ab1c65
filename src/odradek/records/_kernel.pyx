# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Check and scan over record sections of magic 2; `pure_walk.py` is the twin.

Everything that touches bytes is a `noexcept nogil` function over pointers that returns a fault number; the functions on
top take the buffers, release the GIL when the work is large enough to be worth it, and raise.
"""

from cpython cimport array
from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from odradek.records import crc
from odradek.records.faults import invalid_record

cdef extern from *:
    """
    #ifndef ODRADEK_SOURCE_HASH
    #define ODRADEK_SOURCE_HASH "unknown"
    #endif
    #if defined(__GNUC__) || defined(__clang__)
    #define odradek_likely(x) __builtin_expect(!!(x), 1)
    #else
    #define odradek_likely(x) (x)
    #endif
    """
    const char* ODRADEK_SOURCE_HASH
    bint likely "odradek_likely"(bint) noexcept nogil
    bint add_overflows "__builtin_add_overflow"(int64_t, int64_t, int64_t*) noexcept nogil
    bint subtract_overflows "__builtin_sub_overflow"(int64_t, int64_t, int64_t*) noexcept nogil

SOURCE_HASH = ODRADEK_SOURCE_HASH.decode()

cdef object crc32c = crc.crc32c

cdef enum:
    GIL_BYTES_MIN = 65536  # below this, releasing the GIL costs more than it gives
    # faults.py
    NO_FAULT = 0
    COUNT_BEYOND_SECTION = 1
    SECTION_ENDS_EARLY = 2
    FIELD_CUT_OFF = 3
    VARINT_TOO_LONG = 4
    RECORD_LENGTH = 5
    KEY_LENGTH = 6
    VALUE_LENGTH = 7
    HEADER_COUNT = 8
    NULL_HEADER_KEY = 9
    HEADER_KEY_LENGTH = 10
    HEADER_VALUE_LENGTH = 11
    LENGTH_MISMATCH = 12
    TRAILING_BYTES = 13
    RECORD_BYTES_MIN = 7
    HEADER_BYTES_MIN = 2
    # layout.py
    LOG_OVERHEAD = 12
    HEADER_SIZE = 61
    ATTRIBUTES_OFFSET = 21
    TIMESTAMP_TYPE_MASK = 0x08
    NOT_PLAIN = 0x27  # compression and control
    TRANSACTIONAL_MASK = 0x10
    # rows.py
    FACTS_PER_BATCH = 7

ctypedef const uint8_t* bytes_p

cdef struct Record:
    int64_t timestamp_delta
    int32_t offset_delta
    int32_t key_length
    int32_t value_length
    int32_t header_count
    bytes_p key
    bytes_p value


# --- varints: the cursor moves only on success, so that a fault is reported at the start of its field ---

cdef int long_varint(bytes_p* cursor, bytes_p end, int bytes_max, uint64_t* value) noexcept nogil:
    cdef uint64_t raw = 0
    cdef int i
    cdef Py_ssize_t remaining = end - cursor[0]
    for i in range(bytes_max):
        if i >= remaining:
            return FIELD_CUT_OFF
        raw |= <uint64_t>(cursor[0][i] & 0x7F) << (7 * i)
        if cursor[0][i] < 0x80:
            cursor[0] += i + 1
            value[0] = raw
            return NO_FAULT
    return VARINT_TOO_LONG


cdef inline int varint(bytes_p* cursor, bytes_p end, int32_t* value) noexcept nogil:
    cdef uint64_t wide
    cdef uint32_t raw
    cdef int fault
    cdef bytes_p at = cursor[0]
    if likely(end - at >= 2 and (at[0] & at[1] & 0x80) == 0):
        if at[0] < 0x80:
            raw = at[0]
            cursor[0] = at + 1
        else:
            raw = (at[0] & 0x7F) | (<uint32_t>at[1] << 7)
            cursor[0] = at + 2
    else:
        fault = long_varint(cursor, end, 5, &wide)
        if fault:
            return fault
        raw = <uint32_t>wide
    value[0] = <int32_t>((raw >> 1) ^ (0 - (raw & 1)))
    return NO_FAULT


cdef inline int varlong(bytes_p* cursor, bytes_p end, int64_t* value) noexcept nogil:
    cdef uint64_t raw
    cdef int fault
    cdef bytes_p at = cursor[0]
    if likely(at < end and at[0] < 0x80):
        raw = at[0]
        cursor[0] = at + 1
    else:
        fault = long_varint(cursor, end, 10, &raw)
        if fault:
            return fault
    value[0] = <int64_t>((raw >> 1) ^ (0 - (raw & 1)))
    return NO_FAULT


# --- one record ---

cdef int skip_headers(bytes_p* cursor, bytes_p end, int32_t count) noexcept nogil:
    cdef int32_t i, length
    cdef int fault
    cdef bytes_p field
    for i in range(count):
        field = cursor[0]
        fault = varint(cursor, end, &length)
        if fault:
            return fault
        if length < 0 or length > end - cursor[0]:
            cursor[0] = field
            return NULL_HEADER_KEY if length < 0 else HEADER_KEY_LENGTH
        cursor[0] += length
        field = cursor[0]
        fault = varint(cursor, end, &length)
        if fault:
            return fault
        if length < -1 or length > end - cursor[0]:
            cursor[0] = field
            return HEADER_VALUE_LENGTH
        if length > 0:
            cursor[0] += length
    return NO_FAULT


cdef inline int nullable_length(bytes_p* cursor, bytes_p end, int32_t* length, int fault_if_wrong) noexcept nogil:
    """A length with -1 for null, at most what remains; the cursor is left behind it."""
    cdef bytes_p field = cursor[0]
    cdef int fault = varint(cursor, end, length)
    if fault:
        return fault
    if length[0] < -1 or length[0] > end - cursor[0]:
        cursor[0] = field
        return fault_if_wrong
    return NO_FAULT


cdef inline int read_record(bytes_p* cursor, bytes_p section_end, Record* record) noexcept nogil:
    """On a fault the cursor stands at the field that shows it."""
    cdef int32_t length
    cdef int fault
    cdef bytes_p end
    cdef bytes_p field = cursor[0]
    if field == section_end:
        return SECTION_ENDS_EARLY
    fault = varint(cursor, section_end, &length)
    if fault:
        return fault
    if length < 0 or length > section_end - cursor[0]:
        cursor[0] = field
        return RECORD_LENGTH
    end = cursor[0] + length
    if length == 0:
        return FIELD_CUT_OFF
    cursor[0] += 1  # attributes, unused so far
    fault = varlong(cursor, end, &record.timestamp_delta)
    if fault:
        return fault
    fault = varint(cursor, end, &record.offset_delta)
    if fault:
        return fault
    fault = nullable_length(cursor, end, &record.key_length, KEY_LENGTH)
    if fault:
        return fault
    record.key = cursor[0]
    if record.key_length > 0:
        cursor[0] += record.key_length
    fault = nullable_length(cursor, end, &record.value_length, VALUE_LENGTH)
    if fault:
        return fault
    record.value = cursor[0]
    if record.value_length > 0:
        cursor[0] += record.value_length
    field = cursor[0]
    if likely(end - field == 1 and field[0] == 0):
        record.header_count = 0
        cursor[0] = end
        return NO_FAULT
    fault = varint(cursor, end, &record.header_count)
    if fault:
        return fault
    if record.header_count < 0 or <int64_t>record.header_count * HEADER_BYTES_MIN > end - cursor[0]:
        cursor[0] = field
        return HEADER_COUNT
    fault = skip_headers(cursor, end, record.header_count)
    if fault:
        return fault
    return NO_FAULT if cursor[0] == end else LENGTH_MISMATCH


# --- check ---

cdef class RecordsSummary:
    cdef readonly int64_t first_offset_delta
    cdef readonly int64_t last_offset_delta
    cdef readonly bint offsets_consecutive
    cdef readonly int64_t min_timestamp_delta
    cdef readonly int64_t max_timestamp_delta
    cdef readonly int64_t max_timestamp_index
    cdef readonly int64_t keyless_index
    cdef readonly int64_t null_value_count


cdef struct Summary:
    int64_t index
    int64_t first_offset_delta
    int64_t last_offset_delta
    int64_t min_timestamp_delta
    int64_t max_timestamp_delta
    int64_t max_timestamp_index
    int64_t keyless_index
    int64_t null_value_count
    bint offsets_consecutive


cdef int check_section(bytes_p* cursor, bytes_p end, int64_t count, Summary* out) noexcept nogil:
    cdef Record record
    cdef int fault
    cdef int64_t expected = 0
    cdef bytes_p at = cursor[0]
    for out.index in range(count):
        fault = read_record(&at, end, &record)
        if fault:
            cursor[0] = at
            return fault
        if out.index == 0:
            out.first_offset_delta = expected = record.offset_delta
            out.min_timestamp_delta = out.max_timestamp_delta = record.timestamp_delta
            out.max_timestamp_index = 0
        out.offsets_consecutive &= record.offset_delta == expected
        expected = <int64_t>record.offset_delta + 1
        if record.timestamp_delta > out.max_timestamp_delta:
            out.max_timestamp_delta = record.timestamp_delta
            out.max_timestamp_index = out.index
        elif record.timestamp_delta < out.min_timestamp_delta:
            out.min_timestamp_delta = record.timestamp_delta
        if record.key_length < 0 and out.keyless_index < 0:
            out.keyless_index = out.index
        out.null_value_count += record.value_length < 0
    out.index = count
    out.last_offset_delta = expected - 1
    cursor[0] = at
    return NO_FAULT if at == end else TRAILING_BYTES


cdef void begin_summary(Summary* out) noexcept nogil:
    memset(out, 0, sizeof(out[0]))
    out.last_offset_delta = out.max_timestamp_index = out.keyless_index = -1
    out.offsets_consecutive = True


def check_records(body, int64_t count):
    cdef Py_buffer view
    cdef Summary found
    cdef RecordsSummary summary
    cdef int fault
    cdef bytes_p cursor
    PyObject_GetBuffer(body, &view, PyBUF_SIMPLE)
    cursor = <bytes_p>view.buf
    try:
        if count < 0 or count > view.len // RECORD_BYTES_MIN:
            raise invalid_record(COUNT_BEYOND_SECTION, 0, 0)
        begin_summary(&found)
        if view.len >= GIL_BYTES_MIN:
            with nogil:
                fault = check_section(&cursor, cursor + view.len, count, &found)
        else:
            fault = check_section(&cursor, cursor + view.len, count, &found)
        if fault:
            raise invalid_record(fault, found.index, cursor - <bytes_p>view.buf)
    finally:
        PyBuffer_Release(&view)
    summary = RecordsSummary.__new__(RecordsSummary)
    summary.first_offset_delta = found.first_offset_delta
    summary.last_offset_delta = found.last_offset_delta
    summary.offsets_consecutive = found.offsets_consecutive
    summary.min_timestamp_delta = found.min_timestamp_delta
    summary.max_timestamp_delta = found.max_timestamp_delta
    summary.max_timestamp_index = found.max_timestamp_index
    summary.keyless_index = found.keyless_index
    summary.null_value_count = found.null_value_count
    return summary


cdef int64_t common_count(bytes_p at, Py_ssize_t size) noexcept nogil:
    """The count of the one batch that a producer has sent, 0 if its header is not what nearly all of them look like."""
    cdef int64_t count
    cdef int attributes
    if size < HEADER_SIZE or big_64(at) != 0 or at[16] != 2:
        return 0
    attributes = big_16(at + ATTRIBUTES_OFFSET)
    count = <int32_t>big_32(at + 57)
    if attributes & ~TRANSACTIONAL_MASK or <int64_t><int32_t>big_32(at + 8) + LOG_OVERHEAD != size:
        return 0
    if <int64_t><int32_t>big_32(at + 23) + 1 != count or count > (size - HEADER_SIZE) // RECORD_BYTES_MIN:
        return 0
    if big_64(at + 43) < 0:
        return 0 if attributes else count
    return 0 if signed_16(at + 51) < 0 or <int32_t>big_32(at + 53) < 0 else count


def check_batch(batch, int64_t bytes_max, bint needs_keys, int64_t now_ms, int64_t before_ms_max, int64_t after_ms_max):
    cdef Py_buffer view
    cdef Summary found
    cdef bytes_p at
    cdef bytes_p cursor
    cdef int64_t count, first_timestamp, last_timestamp
    cdef uint32_t checksum
    cdef int fault
    PyObject_GetBuffer(batch, &view, PyBUF_SIMPLE)
    at = <bytes_p>view.buf
    try:
        count = common_count(at, view.len)
        if count <= 0 or view.len > bytes_max:
            return None
        checksum = crc32c(
            PyMemoryView_FromMemory(<char*>at + ATTRIBUTES_OFFSET, view.len - ATTRIBUTES_OFFSET, PyBUF_READ)
        )
        if checksum != big_32(at + 17):
            return None
        begin_summary(&found)
        cursor = at + HEADER_SIZE
        if view.len >= GIL_BYTES_MIN:
            with nogil:
                fault = check_section(&cursor, at + view.len, count, &found)
        else:
            fault = check_section(&cursor, at + view.len, count, &found)
        if fault or not found.offsets_consecutive or (needs_keys and found.keyless_index >= 0):
            return None
        if add_overflows(big_64(at + 27), found.min_timestamp_delta, &first_timestamp):
            return None
        if add_overflows(big_64(at + 27), found.max_timestamp_delta, &last_timestamp):
            return None
        if before_ms_max >= 0 and not is_within(first_timestamp, last_timestamp, now_ms, before_ms_max, after_ms_max):
            return None
        return count, last_timestamp, found.max_timestamp_index, big_64(at + 35), big_64(at + 43)
    finally:
        PyBuffer_Release(&view)


cdef bint is_within(int64_t first, int64_t last, int64_t now, int64_t before_max, int64_t after_max) noexcept nogil:
    """A limit that lies beyond what 64 bits hold is none."""
    cdef int64_t earliest, latest
    if not subtract_overflows(now, before_max, &earliest) and first < earliest:
        return False
    return add_overflows(now, after_max, &latest) or last <= latest


# --- scan ---

cdef struct Section:
    bytes_p start
    bytes_p end
    int64_t count
    int64_t base_offset
    int64_t base_timestamp
    int64_t append_time
    bint is_append_time


# Pointers into the arrays of a Rows, which have room for every record that may come.
cdef struct Sink:
    bytes_p source
    int64_t from_offset
    int64_t rows
    int64_t capacity
    int64_t header_count
    int64_t* offsets
    int64_t* timestamps
    int32_t* key_positions
    int32_t* key_lengths
    int32_t* value_positions
    int32_t* value_lengths


cdef int scan_section(Section* section, Sink* sink, int64_t* index, bytes_p* cursor) noexcept nogil:
    """Adds all records or, on a fault, none."""
    cdef Record record
    cdef int fault
    cdef int64_t offset, i
    cdef int64_t row = sink.rows
    cdef int64_t header_count = sink.header_count
    cdef bytes_p at = section.start
    for i in range(section.count):
        fault = read_record(&at, section.end, &record)
        if fault:
            index[0] = i
            cursor[0] = at
            return fault
        offset = <int64_t>(<uint64_t>section.base_offset + <uint64_t><int64_t>record.offset_delta)
        if offset < sink.from_offset:
            continue
        sink.offsets[row] = offset
        if section.is_append_time:
            sink.timestamps[row] = section.append_time
        else:
            sink.timestamps[row] = <int64_t>(<uint64_t>section.base_timestamp + <uint64_t>record.timestamp_delta)
        sink.key_positions[row] = <int32_t>(record.key - sink.source)
        sink.key_lengths[row] = record.key_length
        sink.value_positions[row] = <int32_t>(record.value - sink.source)
        sink.value_lengths[row] = record.value_length
        header_count += record.header_count
        row += 1
    if at != section.end:
        index[0] = section.count
        cursor[0] = at
        return TRAILING_BYTES
    sink.rows = row
    sink.header_count = header_count
    return NO_FAULT


cdef int resize(rows, Py_ssize_t count) except -1:
    array.resize_smart(rows.offsets, count)
    array.resize_smart(rows.timestamps, count)
    array.resize_smart(rows.key_positions, count)
    array.resize_smart(rows.key_lengths, count)
    array.resize_smart(rows.value_positions, count)
    array.resize_smart(rows.value_lengths, count)
    return 0


cdef int open_sink(rows, int64_t more, int64_t from_offset, bytes_p source, Sink* sink) except -1:
    sink.rows = len(rows.offsets)
    sink.header_count = rows.header_count
    sink.from_offset = from_offset
    sink.source = source
    sink.capacity = sink.rows + more
    resize(rows, sink.capacity)
    sink.offsets = <int64_t*>(<array.array>rows.offsets).data.as_longlongs
    sink.timestamps = <int64_t*>(<array.array>rows.timestamps).data.as_longlongs
    sink.key_positions = <int32_t*>(<array.array>rows.key_positions).data.as_ints
    sink.key_lengths = <int32_t*>(<array.array>rows.key_lengths).data.as_ints
    sink.value_positions = <int32_t*>(<array.array>rows.value_positions).data.as_ints
    sink.value_lengths = <int32_t*>(<array.array>rows.value_lengths).data.as_ints
    return 0


cdef int close_sink(rows, Sink* sink) except -1:
    resize(rows, sink.rows)
    rows.header_count = sink.header_count
    return 0


def scan_records(
    source,
    Py_ssize_t start,
    Py_ssize_t end,
    int64_t count,
    int64_t base_offset,
    int64_t base_timestamp,
    append_time,
    int64_t from_offset,
    rows,
):
    cdef Py_buffer view
    cdef Section section
    cdef Sink sink
    cdef int64_t index = 0
    cdef bytes_p cursor = NULL
    cdef int fault
    PyObject_GetBuffer(source, &view, PyBUF_SIMPLE)
    try:
        if start < 0 or end < start or end > view.len:
            raise IndexError(f"section {start}:{end} is outside its source of {view.len} bytes")
        if count < 0 or count > (end - start) // RECORD_BYTES_MIN:
            raise invalid_record(COUNT_BEYOND_SECTION, 0, 0)
        section.start = <bytes_p>view.buf + start
        section.end = <bytes_p>view.buf + end
        section.count = count
        section.base_offset = base_offset
        section.base_timestamp = base_timestamp
        section.is_append_time = append_time is not None
        section.append_time = append_time if section.is_append_time else 0
        open_sink(rows, count, from_offset, <bytes_p>view.buf, &sink)
        if end - start >= GIL_BYTES_MIN:
            with nogil:
                fault = scan_section(&section, &sink, &index, &cursor)
        else:
            fault = scan_section(&section, &sink, &index, &cursor)
        close_sink(rows, &sink)
        if fault:
            raise invalid_record(fault, index, cursor - section.start)
    finally:
        PyBuffer_Release(&view)


# --- a run of plain batches: sized and CRC-checked first, then scanned in one go ---

cdef inline uint32_t big_32(bytes_p at) noexcept nogil:
    return (<uint32_t>at[0] << 24) | (<uint32_t>at[1] << 16) | (<uint32_t>at[2] << 8) | at[3]


cdef inline int64_t big_64(bytes_p at) noexcept nogil:
    return <int64_t>((<uint64_t>big_32(at) << 32) | big_32(at + 4))


cdef inline int big_16(bytes_p at) noexcept nogil:
    return (at[0] << 8) | at[1]


cdef inline int signed_16(bytes_p at) noexcept nogil:
    return ((at[0] << 8) | at[1]) - ((at[0] & 0x80) << 9)


cdef Py_ssize_t plain_batch(bytes_p at, Py_ssize_t remaining, int stop_mask) noexcept nogil:
    """The size of the plain batch that stands here, 0 if none does. Its count is checked against its bytes."""
    cdef Py_ssize_t size
    cdef int64_t count
    if remaining < HEADER_SIZE or at[16] != 2 or big_16(at + ATTRIBUTES_OFFSET) & (NOT_PLAIN | stop_mask):
        return 0
    size = <Py_ssize_t><int32_t>big_32(at + 8) + LOG_OVERHEAD
    count = <int32_t>big_32(at + 57)
    if size < HEADER_SIZE or size > remaining:
        return 0
    if count < 0 or count > (size - HEADER_SIZE) // RECORD_BYTES_MIN:
        return 0
    return size


cdef void read_header(bytes_p at, Py_ssize_t size, Section* section) noexcept nogil:
    section.start = at + HEADER_SIZE
    section.end = at + size
    section.count = <int32_t>big_32(at + 57)
    section.base_offset = big_64(at)
    section.base_timestamp = big_64(at + 27)
    section.append_time = big_64(at + 35)
    section.is_append_time = big_16(at + ATTRIBUTES_OFFSET) & TIMESTAMP_TYPE_MASK


cdef void write_facts(bytes_p at, int64_t first_row, int64_t* facts) noexcept nogil:
    facts[0] = first_row
    facts[1] = big_64(at)
    facts[2] = <int64_t>(<uint64_t>facts[1] + <uint64_t><int64_t><int32_t>big_32(at + 23))
    facts[3] = <int32_t>big_32(at + 12)
    facts[4] = big_64(at + 43)
    facts[5] = signed_16(at + 51)
    facts[6] = signed_16(at + ATTRIBUTES_OFFSET)


cdef Py_ssize_t scan_plain(
    bytes_p* cursor, bytes_p end, int stop_mask, Sink* sink, int64_t* facts, Py_ssize_t batches_max
) noexcept nogil:
    """Scans from the cursor up to `end`, leaves the cursor behind the last sound batch, returns how many there were.

    The bytes may be another thread's to change while the GIL is released: nothing that the sizing pass found is
    taken for granted where memory is written.
    """
    cdef Section section
    cdef int64_t index, first_row
    cdef bytes_p fault_at
    cdef Py_ssize_t size
    cdef Py_ssize_t batches = 0
    while cursor[0] < end and batches < batches_max:
        size = plain_batch(cursor[0], end - cursor[0], stop_mask)
        if size == 0:
            break
        read_header(cursor[0], size, &section)
        first_row = sink.rows
        if section.count > sink.capacity - first_row or scan_section(&section, sink, &index, &fault_at):
            break
        write_facts(cursor[0], first_row, facts + batches * FACTS_PER_BATCH)
        batches += 1
        cursor[0] += size
    return batches


def scan_run(source, Py_ssize_t position, int stop_mask, bint check_crc, int64_t from_offset, rows):
    cdef Py_buffer view
    cdef Sink sink
    cdef bytes_p at
    cdef bytes_p end
    cdef Py_ssize_t size, sound, old_facts
    cdef Py_ssize_t batches = 0
    cdef int64_t count = 0
    cdef int64_t* facts
    octets = memoryview(source)
    checksum = crc.crc32c
    PyObject_GetBuffer(source, &view, PyBUF_SIMPLE)
    try:
        if position < 0 or position > view.len:
            raise IndexError(f"position {position} is outside its source of {view.len} bytes")
        at = end = <bytes_p>view.buf + position
        while True:
            size = plain_batch(end, view.len - (end - <bytes_p>view.buf), stop_mask)
            if size == 0:
                break
            if check_crc:
                position = end - <bytes_p>view.buf
                if checksum(octets[position + ATTRIBUTES_OFFSET : position + size]) != big_32(end + 17):
                    break
            count += <int32_t>big_32(end + 57)
            batches += 1
            end += size
        if batches == 0:
            return at - <bytes_p>view.buf
        open_sink(rows, count, from_offset, <bytes_p>view.buf, &sink)
        old_facts = len(rows.batch_facts)
        array.resize_smart(rows.batch_facts, old_facts + batches * FACTS_PER_BATCH)
        facts = <int64_t*>(<array.array>rows.batch_facts).data.as_longlongs + old_facts
        if end - at >= GIL_BYTES_MIN:
            with nogil:
                sound = scan_plain(&at, end, stop_mask, &sink, facts, batches)
        else:
            sound = scan_plain(&at, end, stop_mask, &sink, facts, batches)
        close_sink(rows, &sink)
        array.resize_smart(rows.batch_facts, old_facts + sound * FACTS_PER_BATCH)
        return at - <bytes_p>view.buf
    finally:
        PyBuffer_Release(&view)
