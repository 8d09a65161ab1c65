# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: embedsignature=True, embedsignature.format=clinic
"""Builds batches of magic 2 from columns and from single records; `pure_encode.py` is the twin.

Columns are checked first, then sized, then written into memory of exactly that size: the writing loop has nothing left
to refuse. The CRC is taken over each finished batch. Plain arguments that fit are taken here; every other goes through
`fields.py` and `encode_check.py`, which the twin uses too.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_CheckExact
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc, PyMem_Realloc
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from odradek.records import crc, encode_check, fields
from odradek.records.pure_encode import refused

cdef extern from *:
    """
    #ifndef ODRADEK_SOURCE_HASH
    #define ODRADEK_SOURCE_HASH "unknown"
    #endif
    #if defined(__GNUC__) || defined(__clang__)
    #define odradek_bits(x) (64 - __builtin_clzll((x) | 1))
    #else
    static int odradek_bits(unsigned long long x) { int n = 1; while (x >>= 1) n++; return n; }
    #endif
    """
    const char* ODRADEK_SOURCE_HASH
    int bits_of "odradek_bits"(uint64_t) noexcept nogil

cdef extern from "Python.h":
    bint PyLong_CheckExact(object)
    long long PyLong_AsLongLongAndOverflow(object, int*) noexcept

SOURCE_HASH = ODRADEK_SOURCE_HASH.decode()

cdef enum:
    GIL_ROWS_MIN = 1024  # some 64 KB of output: below this, releasing the GIL costs more than it gives
    # pure_encode.py
    NO_FAULT = 0
    BAD_OFFSETS = 1
    NULL_HEADER_KEY = 2
    TOO_LARGE = 3
    NO_MEMORY = 4
    INT32_MAX = 0x7FFFFFFF
    # layout.py
    HEADER_SIZE = 61
    LOG_OVERHEAD = 12
    CRC_OFFSET = 17
    ATTRIBUTES_OFFSET = 21

ctypedef const uint8_t* bytes_p


# --- numbers in ---

cdef inline int64_t integer(str name, value) except? -1:
    cdef int overflow = 0
    cdef int64_t number
    if PyLong_CheckExact(value):
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if not overflow:
            return number
    return fields.integer(name, value)


cdef int64_t narrow_integer(str name, value, int bits) except? -1:
    cdef int overflow = 0
    cdef int64_t bound = <int64_t>1 << (bits - 1)
    cdef int64_t number
    if PyLong_CheckExact(value):
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if not overflow and -bound <= number < bound:
            return number
    return fields.integer(name, value, bits)


cdef int64_t size_limit(str name, value) except? -1:
    cdef int64_t number = integer(name, value)
    return number if 0 <= number <= INT32_MAX else fields.size_limit(name, value)


# --- bytes out ---

cdef inline int size_of(uint64_t raw) noexcept nogil:
    return (bits_of(raw) * 9 + 64) >> 6  # bits / 7, rounded up, without a division


cdef inline uint64_t zigzag(int64_t value) noexcept nogil:
    return (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)


cdef inline uint8_t* put_varint(uint8_t* at, uint64_t raw) noexcept nogil:
    while raw > 0x7F:
        at[0] = <uint8_t>(raw | 0x80)
        raw >>= 7
        at += 1
    at[0] = <uint8_t>raw
    return at + 1


cdef inline uint8_t* put_nullable(uint8_t* at, bytes_p data, int64_t length) noexcept nogil:
    at = put_varint(at, zigzag(length))
    if length > 0:
        memcpy(at, data, length)
        at += length
    return at


cdef inline int64_t size_of_nullable(int64_t length) noexcept nogil:
    return size_of(zigzag(length)) + (length if length > 0 else 0)


cdef inline void put_big(uint8_t* at, uint64_t value, int width) noexcept nogil:
    cdef int i
    for i in range(width):
        at[i] = <uint8_t>(value >> (8 * (width - 1 - i)))


cdef struct Identity:
    int attributes
    int64_t producer_id
    int producer_epoch
    int64_t base_sequence


cdef int set_identity(Identity* out, attributes, producer_id, producer_epoch, base_sequence) except -1:
    out.attributes = narrow_integer("attributes", attributes, 16)
    out.producer_id = integer("producer_id", producer_id)
    out.producer_epoch = narrow_integer("producer_epoch", producer_epoch, 16)
    out.base_sequence = narrow_integer("base_sequence", base_sequence, 32)
    return 0


cdef struct Span:
    int64_t first_row
    int64_t count
    int64_t size
    int64_t base_timestamp
    int64_t max_timestamp


cdef void put_header(uint8_t* at, Span* span, Identity* identity) noexcept nogil:
    memset(at, 0, HEADER_SIZE)  # base offset and crc stay 0
    put_big(at + 8, <uint64_t>(span.size - LOG_OVERHEAD), 4)
    put_big(at + 12, <uint64_t>-1, 4)
    at[16] = 2
    put_big(at + ATTRIBUTES_OFFSET, <uint64_t>identity.attributes, 2)
    put_big(at + 23, <uint64_t>(span.count - 1), 4)
    put_big(at + 27, <uint64_t>span.base_timestamp, 8)
    put_big(at + 35, <uint64_t>span.max_timestamp, 8)
    put_big(at + 43, <uint64_t>identity.producer_id, 8)
    put_big(at + 51, <uint64_t>identity.producer_epoch, 2)
    put_big(at + 53, <uint64_t>identity.base_sequence, 4)
    put_big(at + 57, <uint64_t>span.count, 4)


# --- columns in ---

cdef class Pin:
    """Holds one buffer for as long as its pointer is used."""
    cdef Py_buffer view
    cdef bint is_held

    def __cinit__(self, source):
        self.is_held = False
        self.view.buf = NULL
        self.view.len = 0
        if source is not None:
            PyObject_GetBuffer(source, &self.view, PyBUF_SIMPLE)
            self.is_held = True

    def __dealloc__(self):
        if self.is_held:
            PyBuffer_Release(&self.view)


# What binary and list columns share: offsets and validity, both counted from `first`.
cdef struct Layout:
    bytes_p validity
    const int32_t* ends
    const int64_t* large_ends
    int64_t first


cdef struct Binary:
    Layout layout
    bytes_p data
    int64_t data_bytes


cdef inline bint is_valid(Layout* column, int64_t row) noexcept nogil:
    row += column.first
    return column.validity == NULL or column.validity[row >> 3] >> (row & 7) & 1


cdef inline int64_t bound(Layout* column, int64_t row) noexcept nogil:
    if column.ends != NULL:
        return column.ends[column.first + row]
    return column.large_ends[column.first + row]


cdef inline int64_t string(Binary* column, int64_t row, bytes_p* data) noexcept nogil:
    """The length of a string, -1 if it is null, and where it is."""
    cdef int64_t start
    if column == NULL or not is_valid(&column.layout, row):
        return -1
    start = bound(&column.layout, row)
    data[0] = column.data + start
    return bound(&column.layout, row + 1) - start


cdef bint ascends(const int32_t* ends, int64_t rows) noexcept nogil:
    cdef int64_t row
    cdef int descends = 0
    for row in range(rows):
        descends |= ends[row + 1] < ends[row]
    return not descends


cdef int64_t first_bad_row(Layout* column, int64_t rows, int64_t limit) noexcept nogil:
    cdef int64_t row
    if column.ends != NULL and bound(column, 0) >= 0 and bound(column, rows) <= limit:
        if ascends(column.ends + column.first, rows):
            return -1
    for row in range(rows):
        if is_valid(column, row):
            if not 0 <= bound(column, row) <= bound(column, row + 1) <= limit:
                return row
    return -1


cdef int pin_layout(column, list pins, Layout* out) except -1:
    cdef Pin ends = Pin(column.offsets)
    cdef Pin validity = Pin(column.validity)
    pins += (ends, validity)
    out.first = column.first
    out.ends = NULL if column.is_large else <const int32_t*>ends.view.buf
    out.large_ends = <const int64_t*>ends.view.buf if column.is_large else NULL
    out.validity = <bytes_p>validity.view.buf
    return 0


cdef int pin_binary(column, int64_t rows, list pins, Binary* out) except -1:
    cdef Pin data = Pin(column.data)
    cdef int64_t bad
    pins.append(data)
    pin_layout(column, pins, &out.layout)
    out.data = <bytes_p>data.view.buf
    out.data_bytes = data.view.len
    bad = first_bad_row(&out.layout, rows, out.data_bytes)
    if bad >= 0:
        raise refused(BAD_OFFSETS, bad)
    return 0


# A column that was not given is a null pointer.
cdef struct Columns:
    Binary* keys
    Binary* values
    Layout* headers
    Binary* header_keys
    Binary* header_values
    const int64_t* timestamps
    int64_t default_timestamp
    int64_t rows


cdef inline int64_t timestamp_of(Columns* columns, int64_t row) noexcept nogil:
    return columns.default_timestamp if columns.timestamps == NULL else columns.timestamps[row]


cdef inline int64_t difference(int64_t a, int64_t b) noexcept nogil:
    return <int64_t>(<uint64_t>a - <uint64_t>b)


cdef int check_headers(Columns* columns, int64_t entries) except -1:
    cdef int64_t row, entry
    cdef Layout* lists = columns.headers
    for row in range(columns.rows):
        if is_valid(lists, row):
            if not 0 <= bound(lists, row) <= bound(lists, row + 1) <= entries:
                raise refused(BAD_OFFSETS, row)
            for entry in range(bound(lists, row), bound(lists, row + 1)):
                if not is_valid(&columns.header_keys.layout, entry):
                    raise refused(NULL_HEADER_KEY, row)
    return 0


# --- size ---

cdef int64_t size_of_headers(Columns* columns, int64_t row) noexcept nogil:
    cdef int64_t entry, first, stop, size
    cdef bytes_p data
    if not is_valid(columns.headers, row):
        return 1
    first = bound(columns.headers, row)
    stop = bound(columns.headers, row + 1)
    size = size_of(zigzag(stop - first))
    for entry in range(first, stop):
        size += size_of_nullable(string(columns.header_keys, entry, &data))
        size += size_of_nullable(string(columns.header_values, entry, &data))
    return size


cdef inline int64_t size_without_deltas(Columns* columns, int64_t row) noexcept nogil:
    cdef bytes_p data
    cdef int64_t size = 2 if columns.headers == NULL else 1 + size_of_headers(columns, row)
    size += size_of_nullable(string(columns.keys, row, &data))
    return size + size_of_nullable(string(columns.values, row, &data))


cdef class Plan:
    """The batches to write, and the length of each record without its prefix."""
    cdef Span* spans
    cdef Py_ssize_t count
    cdef Py_ssize_t capacity
    cdef int64_t bytes_total
    cdef int32_t* lengths

    def __cinit__(self, int64_t rows):
        self.count = 0
        self.capacity = 16
        self.bytes_total = 0
        self.spans = <Span*>PyMem_RawMalloc(self.capacity * sizeof(Span))
        self.lengths = <int32_t*>PyMem_RawMalloc((rows + 1) * sizeof(int32_t))
        if self.spans == NULL or self.lengths == NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_RawFree(self.spans)
        PyMem_RawFree(self.lengths)

    cdef bint add(self, Span span) noexcept nogil:
        cdef Span* spans
        if self.count == self.capacity:
            spans = <Span*>PyMem_RawRealloc(self.spans, 2 * self.capacity * sizeof(Span))
            if spans == NULL:
                return False
            self.spans = spans
            self.capacity *= 2
        self.spans[self.count] = span
        self.count += 1
        self.bytes_total += span.size
        return True

    cdef int lay_out(self, Columns* columns, int64_t batch_bytes_max, int64_t request_bytes_max, int64_t* bad_row
                     ) noexcept nogil:
        cdef Span span  # by value: its fields live in registers
        cdef int32_t* lengths = self.lengths
        cdef int64_t row, body, length, size, timestamp
        span.count = span.size = span.first_row = span.base_timestamp = span.max_timestamp = 0
        for row in range(columns.rows):
            timestamp = timestamp_of(columns, row)
            body = size_without_deltas(columns, row)
            length = body + size_of(zigzag(difference(timestamp, span.base_timestamp))) + size_of(zigzag(span.count))
            size = length + size_of(zigzag(length))
            if span.count == 0 or span.size + size > batch_bytes_max:
                length = body + 2  # both deltas are 0
                size = length + size_of(zigzag(length))
                if size + HEADER_SIZE > request_bytes_max:
                    bad_row[0] = row
                    return TOO_LARGE
                if span.count and not self.add(span):
                    return NO_MEMORY
                span.first_row = row
                span.count = 0
                span.size = HEADER_SIZE
                span.base_timestamp = span.max_timestamp = timestamp
            lengths[row] = <int32_t>length
            span.size += size
            span.count += 1
            if timestamp > span.max_timestamp:
                span.max_timestamp = timestamp
        return NO_FAULT if span.count == 0 or self.add(span) else NO_MEMORY


# --- write ---

cdef uint8_t* put_headers(uint8_t* at, Columns* columns, int64_t row) noexcept nogil:
    cdef int64_t entry, first, stop
    cdef bytes_p data = NULL
    cdef int64_t length
    if columns.headers == NULL or not is_valid(columns.headers, row):
        at[0] = 0
        return at + 1
    first = bound(columns.headers, row)
    stop = bound(columns.headers, row + 1)
    at = put_varint(at, zigzag(stop - first))
    for entry in range(first, stop):
        length = string(columns.header_keys, entry, &data)
        at = put_nullable(at, data, length)
        length = string(columns.header_values, entry, &data)
        at = put_nullable(at, data, length)
    return at


cdef void write_batch(uint8_t* at, Columns* columns, Span* span, const int32_t* lengths, Identity* identity
                      ) noexcept nogil:
    cdef int64_t i, row, length
    cdef bytes_p data = NULL
    put_header(at, span, identity)
    at += HEADER_SIZE
    for i in range(span.count):
        row = span.first_row + i
        at = put_varint(at, <uint64_t>lengths[row] << 1)
        at[0] = 0  # attributes, unused so far
        at = put_varint(at + 1, zigzag(difference(timestamp_of(columns, row), span.base_timestamp)))
        at = put_varint(at, <uint64_t>i << 1)
        length = string(columns.keys, row, &data)
        at = put_nullable(at, data, length)
        length = string(columns.values, row, &data)
        at = put_nullable(at, data, length)
        at = put_headers(at, columns, row)


cdef void write_batches(uint8_t* at, Columns* columns, Plan plan, Identity* identity) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(plan.count):
        write_batch(at, columns, plan.spans + i, plan.lengths, identity)
        at += plan.spans[i].size
        if identity.base_sequence >= 0:
            identity.base_sequence = (identity.base_sequence + plan.spans[i].count) & INT32_MAX


cdef void number_batches(uint8_t* at, Plan plan, int64_t base_offset) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(plan.count):
        put_big(at, <uint64_t>(base_offset + plan.spans[i].first_row), 8)
        at += plan.spans[i].size


cdef list finish(out, Plan plan, bint with_crc):
    cdef Py_ssize_t i
    cdef int64_t start = 0
    cdef int64_t stop
    octets = memoryview(out)
    checksum = crc.crc32c
    spans = []
    for i in range(plan.count):
        stop = start + plan.spans[i].size
        if with_crc:
            value = checksum(octets[start + ATTRIBUTES_OFFSET : stop])
            put_big(<uint8_t*>PyBytes_AS_STRING(out) + start + CRC_OFFSET, <uint32_t>value, 4)
        spans.append((start, stop, plan.spans[i].first_row, plan.spans[i].count))
        start = stop
    return spans


def encode_batches(
    rows,
    keys,
    values,
    headers,
    timestamps,
    default_timestamp,
    identity,
    batch_bytes_max,
    request_bytes_max,
    with_crc,
    base_offset=None,
):
    cdef Binary key_column, value_column, header_keys, header_values
    cdef Layout header_lists
    cdef Columns columns
    cdef Identity who
    cdef Pin times
    cdef Plan plan
    cdef int64_t bad_row = 0
    cdef int64_t batch_limit, request_limit, first_offset
    cdef bint has_crc
    cdef int fault
    cdef uint8_t* at
    rows, timestamps, default_timestamp = encode_check.checked_columns(
        rows, keys, values, headers, timestamps, default_timestamp
    )
    if not PyTuple_CheckExact(identity) or PyTuple_GET_SIZE(identity) != 4:
        identity = encode_check.checked_identity(identity)
    set_identity(&who, identity[0], identity[1], identity[2], identity[3])
    batch_limit, request_limit = encode_check.checked_limits(batch_bytes_max, request_bytes_max)
    first_offset = -1 if base_offset is None else encode_check.checked_base_offset(base_offset, rows)
    has_crc = bool(with_crc)
    pins = []
    memset(&columns, 0, sizeof(columns))
    columns.rows = rows
    columns.default_timestamp = default_timestamp
    if keys is not None:
        pin_binary(keys, rows, pins, &key_column)
        columns.keys = &key_column
    if values is not None:
        pin_binary(values, rows, pins, &value_column)
        columns.values = &value_column
    if headers is not None:
        pin_layout(headers, pins, &header_lists)
        pin_binary(headers.keys, headers.keys.length, pins, &header_keys)
        pin_binary(headers.values, headers.values.length, pins, &header_values)
        columns.headers = &header_lists
        columns.header_keys = &header_keys
        columns.header_values = &header_values
        check_headers(&columns, min(headers.keys.length, headers.values.length))
    if timestamps is not None:
        times = Pin(timestamps)
        columns.timestamps = <const int64_t*>times.view.buf
    plan = Plan(rows)
    with nogil:
        fault = plan.lay_out(&columns, batch_limit, request_limit, &bad_row)
    if fault == NO_MEMORY:
        raise MemoryError
    if fault:
        raise refused(fault, bad_row)
    out = PyBytes_FromStringAndSize(NULL, plan.bytes_total)
    at = <uint8_t*>PyBytes_AS_STRING(out)
    with nogil:
        write_batches(at, &columns, plan, &who)
        if first_offset >= 0:
            number_batches(at, plan, first_offset)
    return out, finish(out, plan, has_crc)


# --- one record at a time ---

cdef inline bytes as_bytes(str name, field):
    return field if field is None or PyBytes_CheckExact(field) else fields.octets(name, field)


cdef tuple NOTHING = ()  # the default, told faster by what it is than by its length
cdef bytes NO_HEADERS = b"\0"


cdef bytes varint_of(int64_t value):
    cdef uint8_t scratch[10]
    return PyBytes_FromStringAndSize(<char*>scratch, put_varint(scratch, zigzag(value)) - scratch)


cdef bytes encode_headers(headers):
    pairs = headers if PyList_CheckExact(headers) else fields.header_list(headers)
    out = bytearray(varint_of(len(pairs)))
    for pair in pairs:
        key = value = None
        if PyTuple_CheckExact(pair) and PyTuple_GET_SIZE(pair) == 2:
            key, value = <tuple>pair
            if PyUnicode_CheckExact(key):
                key = key.encode("utf-8", "surrogateescape")
        if not PyBytes_CheckExact(key) or not (value is None or PyBytes_CheckExact(value)):
            key, value = fields.header_pair(pair)
        out += varint_of(len(key))
        out += key
        if value is None:
            out.append(1)
        else:
            out += varint_of(len(value))
            out += value
    return bytes(out)


cdef class RecordsWriter:
    cdef uint8_t* out
    cdef int64_t capacity
    cdef readonly int64_t size
    cdef readonly int64_t count
    cdef readonly int64_t batch_bytes_max
    cdef readonly int64_t base_timestamp
    cdef readonly int64_t max_timestamp

    def __cinit__(self, batch_bytes_max):
        self.batch_bytes_max = size_limit("batch_bytes_max", batch_bytes_max)
        self.capacity = 1024
        self.size = HEADER_SIZE
        self.count = 0
        self.base_timestamp = self.max_timestamp = -1
        self.out = <uint8_t*>PyMem_Malloc(self.capacity)
        if self.out == NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_Free(self.out)

    cdef int reserve(self, int64_t more) except -1:
        cdef int64_t capacity = self.capacity
        if capacity - self.size >= more:
            return 0
        while capacity - self.size < more:
            capacity *= 2
        out = <uint8_t*>PyMem_Realloc(self.out, capacity)
        if out == NULL:
            raise MemoryError
        self.out = out
        self.capacity = capacity
        return 0

    cdef bint put(self, int64_t timestamp, bytes key, bytes value, bytes headers) except -1:
        cdef int64_t key_length = -1 if key is None else PyBytes_GET_SIZE(key)
        cdef int64_t value_length = -1 if value is None else PyBytes_GET_SIZE(value)
        cdef uint64_t delta = zigzag(difference(timestamp, self.base_timestamp)) if self.count else 0
        cdef int64_t length = 1 + size_of(delta) + size_of(zigzag(self.count)) + size_of_nullable(key_length) \
            + size_of_nullable(value_length) + PyBytes_GET_SIZE(headers)
        cdef int64_t size = length + size_of(zigzag(length))
        cdef uint8_t* at
        if self.count and self.size + size > self.batch_bytes_max:
            return False
        if self.size + size > INT32_MAX:
            raise fields.batch_too_large(self.size + size)
        self.reserve(size)
        at = put_varint(self.out + self.size, zigzag(length))
        at[0] = 0  # attributes, unused so far
        at = put_varint(at + 1, delta)
        at = put_varint(at, zigzag(self.count))
        at = put_nullable(at, NULL if key is None else <bytes_p>PyBytes_AS_STRING(key), key_length)
        at = put_nullable(at, NULL if value is None else <bytes_p>PyBytes_AS_STRING(value), value_length)
        memcpy(at, PyBytes_AS_STRING(headers), PyBytes_GET_SIZE(headers))
        if self.count == 0:
            self.base_timestamp = self.max_timestamp = timestamp
        elif timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        self.size += size
        self.count += 1
        return True

    def append(self, timestamp, key, value, headers=NOTHING):
        """False, and nothing has changed, if the record does not fit; the first record of a batch always does."""
        return self.put(
            integer("timestamp", timestamp),
            as_bytes("key", key),
            as_bytes("value", value),
            NO_HEADERS if headers is NOTHING or not headers else encode_headers(headers),
        )

    def records(self):
        return PyBytes_FromStringAndSize(<char*>self.out + HEADER_SIZE, self.size - HEADER_SIZE)

    def seal(self, attributes, producer_id, producer_epoch, base_sequence, with_crc=True):
        cdef Span span
        cdef Identity identity
        span.first_row = 0
        span.count = self.count
        span.size = self.size
        span.base_timestamp = self.base_timestamp
        span.max_timestamp = self.max_timestamp
        set_identity(&identity, attributes, producer_id, producer_epoch, base_sequence)
        put_header(self.out, &span, &identity)
        batch = PyBytes_FromStringAndSize(<char*>self.out, self.size)
        if with_crc:
            value = crc.crc32c(memoryview(batch)[ATTRIBUTES_OFFSET:])
            put_big(<uint8_t*>PyBytes_AS_STRING(batch) + CRC_OFFSET, <uint32_t>value, 4)
        return batch
