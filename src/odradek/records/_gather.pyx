# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Gathers what a scan found into buffers of Arrow's layout; `pure_gather.py` is the twin.

Two passes: the first adds up sizes, the second copies into memory of exactly that size. A scan has checked every
position and length, but the bytes may be another thread's to change: headers that no longer parse, or that are not as
many as the scan has counted, are an error and never a write outside the arrays.
"""

from cpython cimport array
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

cdef extern from *:
    """
    #ifndef ODRADEK_SOURCE_HASH
    #define ODRADEK_SOURCE_HASH "unknown"
    #endif
    """
    const char* ODRADEK_SOURCE_HASH

SOURCE_HASH = ODRADEK_SOURCE_HASH.decode()

CHANGED = "the bytes behind these columns have changed since they were scanned"

cdef enum:
    GIL_ROWS_MIN = 1024  # some 64 KB of output: below this, releasing the GIL costs more than it gives
    INT32_MAX = 0x7FFFFFFF

ctypedef const uint8_t* bytes_p

ctypedef fused offset_t:
    int32_t
    int64_t


# --- one binary column ---

cdef int64_t total_length(const int32_t* lengths, Py_ssize_t rows, int64_t* null_count) noexcept nogil:
    cdef int64_t total = 0
    cdef int64_t nulls = 0
    cdef Py_ssize_t row
    for row in range(rows):
        total += lengths[row]
        nulls += lengths[row] < 0
    null_count[0] = nulls
    return total + nulls  # each null has counted as -1


cdef void write_validity(const int32_t* lengths, Py_ssize_t rows, uint8_t* validity) noexcept nogil:
    cdef Py_ssize_t row
    memset(validity, 0, (rows + 7) // 8)
    for row in range(rows):
        validity[row >> 3] |= (lengths[row] >= 0) << (row & 7)


cdef int64_t copy_column(
    bytes_p source,
    const int32_t* positions,
    const int32_t* lengths,
    Py_ssize_t first,
    Py_ssize_t stop,
    int64_t at,
    offset_t* offsets,
    uint8_t* data,
) noexcept nogil:
    """Copies the rows of one source; `offsets` gets the end of each, its first entry is already there."""
    cdef Py_ssize_t row
    cdef int32_t length
    for row in range(first, stop):
        length = lengths[row]
        if length > 0:
            memcpy(data + at, source + positions[row], length)
            at += length
        offsets[row + 1] = <offset_t>at
    return at


cdef int check_extent(const int32_t* positions, const int32_t* lengths, Py_ssize_t first, Py_ssize_t stop,
                      Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t row
    cdef int beyond = 0
    for row in range(first, stop):
        beyond |= positions[row] < 0
        beyond |= <int64_t>positions[row] + lengths[row] > size
    return beyond


def gather(array.array positions, array.array lengths, list segments, large=None):
    cdef Py_ssize_t rows = len(lengths)
    cdef const int32_t* position = <const int32_t*>positions.data.as_ints
    cdef const int32_t* length = <const int32_t*>lengths.data.as_ints
    cdef int64_t null_count = 0
    cdef int64_t at = 0
    cdef int64_t total
    cdef bint is_large
    cdef Py_ssize_t first, stop
    cdef Py_buffer view
    cdef uint8_t* out
    cdef uint8_t* ends
    if positions.ob_descr.itemsize != 4 or lengths.ob_descr.itemsize != 4 or len(positions) != rows:
        raise TypeError("positions and lengths are int32 arrays of one size")
    with nogil:
        total = total_length(length, rows, &null_count)
    is_large = total > INT32_MAX if large is None else large
    validity = None
    if null_count:
        validity = PyBytes_FromStringAndSize(NULL, (rows + 7) // 8)
        write_validity(length, rows, <uint8_t*>PyBytes_AS_STRING(validity))
    data = PyBytes_FromStringAndSize(NULL, total)
    offsets = PyBytes_FromStringAndSize(NULL, (rows + 1) * (8 if is_large else 4))
    out = <uint8_t*>PyBytes_AS_STRING(data)
    ends = <uint8_t*>PyBytes_AS_STRING(offsets)
    memset(ends, 0, 8 if is_large else 4)
    for source, first, stop in checked(segments, rows):
        PyObject_GetBuffer(source, &view, PyBUF_SIMPLE)
        try:
            if check_extent(position, length, first, stop, view.len):
                raise IndexError("a row lies outside its source")
            if stop - first >= GIL_ROWS_MIN:
                with nogil:
                    if is_large:
                        at = copy_column(<bytes_p>view.buf, position, length, first, stop, at, <int64_t*>ends, out)
                    else:
                        at = copy_column(<bytes_p>view.buf, position, length, first, stop, at, <int32_t*>ends, out)
            elif is_large:
                at = copy_column(<bytes_p>view.buf, position, length, first, stop, at, <int64_t*>ends, out)
            else:
                at = copy_column(<bytes_p>view.buf, position, length, first, stop, at, <int32_t*>ends, out)
        finally:
            PyBuffer_Release(&view)
    return is_large, null_count, validity, offsets, data


cdef checked(list segments, Py_ssize_t rows):
    """Segments follow one another from the first row to the last, or the outputs would have holes."""
    cdef Py_ssize_t expected = 0
    cdef Py_ssize_t first, stop
    for _, first, stop in segments:
        if first != expected or stop < first:
            raise IndexError(f"a segment {first}:{stop} does not follow row {expected}")
        expected = stop
    if expected != rows:
        raise IndexError(f"the segments end at row {expected} of {rows}")
    return segments


# --- headers: a list of (key, value) per record ---

cdef struct HeadersOut:
    int64_t count
    int64_t capacity
    int32_t* list_offsets
    int32_t* key_positions
    int32_t* key_lengths
    int32_t* value_positions
    int32_t* value_lengths


cdef inline bint varint(bytes_p* cursor, bytes_p end, int32_t* value) noexcept nogil:
    cdef uint32_t raw = 0
    cdef uint8_t byte
    cdef int i
    for i in range(5):
        if cursor[0] >= end:
            return False
        byte = cursor[0][0]
        cursor[0] += 1
        raw |= <uint32_t>(byte & 0x7F) << (7 * i)
        if byte < 0x80:
            value[0] = <int32_t>((raw >> 1) ^ (0 - (raw & 1)))
            return True
    return False


cdef bint locate(bytes_p source, bytes_p cursor, bytes_p end, HeadersOut* out) noexcept nogil:
    """The headers of one record, whose count stands at the cursor."""
    cdef int32_t count, i, length
    cdef int64_t at = out.count
    if not varint(&cursor, end, &count) or count < 0 or count > out.capacity - at:
        return False
    for i in range(count):
        if not varint(&cursor, end, &length) or length < 0 or length > end - cursor:
            return False
        out.key_positions[at] = <int32_t>(cursor - source)
        out.key_lengths[at] = length
        cursor += length
        if not varint(&cursor, end, &length) or length < -1 or length > end - cursor:
            return False
        out.value_positions[at] = <int32_t>(cursor - source)
        out.value_lengths[at] = length
        if length > 0:
            cursor += length
        at += 1
    out.count = at
    return True


cdef bint locate_rows(
    bytes_p source,
    Py_ssize_t size,
    const int32_t* positions,
    const int32_t* lengths,
    Py_ssize_t first,
    Py_ssize_t stop,
    HeadersOut* out,
) noexcept nogil:
    cdef Py_ssize_t row
    cdef int64_t position
    for row in range(first, stop):
        position = <int64_t>positions[row] + (lengths[row] if lengths[row] > 0 else 0)
        if positions[row] < 0 or position > size or not locate(source, source + position, source + size, out):
            return False
        out.list_offsets[row + 1] = <int32_t>out.count
    return True


def locate_headers(array.array positions, array.array lengths, list segments, int64_t header_count):
    cdef Py_ssize_t rows = len(lengths)
    cdef const int32_t* position = <const int32_t*>positions.data.as_ints
    cdef const int32_t* length = <const int32_t*>lengths.data.as_ints
    cdef HeadersOut out
    cdef Py_buffer view
    cdef Py_ssize_t first, stop
    cdef int64_t before
    cdef bint sound
    if positions.ob_descr.itemsize != 4 or lengths.ob_descr.itemsize != 4 or len(positions) != rows:
        raise TypeError("positions and lengths are int32 arrays of one size")
    if header_count > INT32_MAX:
        raise OverflowError(f"{header_count} headers are more than one list column can hold")
    list_offsets = PyBytes_FromStringAndSize(NULL, 4 * (rows + 1))
    found = [array.clone(lengths, header_count, zero=False) for _ in range(4)]
    out.count = 0
    out.capacity = header_count
    out.list_offsets = <int32_t*>PyBytes_AS_STRING(list_offsets)
    out.list_offsets[0] = 0
    out.key_positions = <int32_t*>(<array.array>found[0]).data.as_ints
    out.key_lengths = <int32_t*>(<array.array>found[1]).data.as_ints
    out.value_positions = <int32_t*>(<array.array>found[2]).data.as_ints
    out.value_lengths = <int32_t*>(<array.array>found[3]).data.as_ints
    header_segments = []
    for source, first, stop in checked(segments, rows):
        before = out.count
        PyObject_GetBuffer(source, &view, PyBUF_SIMPLE)
        try:
            with nogil:
                sound = locate_rows(<bytes_p>view.buf, view.len, position, length, first, stop, &out)
        finally:
            PyBuffer_Release(&view)
        if not sound:
            raise RuntimeError(CHANGED)
        header_segments.append((source, before, out.count))
    if out.count != header_count:
        raise RuntimeError(CHANGED)
    return list_offsets, *found, header_segments
