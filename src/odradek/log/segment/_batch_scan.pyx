# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The compiled twin of `pure_batch_scan`, which has the words; a test holds the two to the same answers."""

from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from odradek.log.segment import pure_batch_scan
from odradek.records import crc

cdef extern from *:
    """
    #ifndef ODRADEK_SOURCE_HASH
    #define ODRADEK_SOURCE_HASH "unknown"
    #endif
    """
    const char* ODRADEK_SOURCE_HASH

SOURCE_HASH = ODRADEK_SOURCE_HASH.decode("ascii")

cdef object crc32c = crc.crc32c
cdef object Place = pure_batch_scan.Place

cdef int64_t ANY_EPOCH = pure_batch_scan.ANY_EPOCH

cdef enum:
    # layout.py
    LOG_OVERHEAD = 12
    HEADER_SIZE = 61
    LENGTH_MIN = 49
    MAGIC_OFFSET = 16
    ATTRIBUTES_OFFSET = 21
    TRANSACTIONAL_MASK = 0x10
    CONTROL_MASK = 0x20
    # pure_batch_scan.py, producer_entry.py
    BATCHES_KEPT = 5
    PRODUCERS_MAX = 512
    SLOTS = 1024  # a power of two, never more than half full

assert (PRODUCERS_MAX, BATCHES_KEPT) == (pure_batch_scan.PRODUCERS_MAX, pure_batch_scan.BATCHES_KEPT)

cdef struct Producer:
    int64_t producer_id
    int64_t count  # 0: the slot is free
    int64_t opening  # where the first transactional batch begins, plus 1
    int64_t last[BATCHES_KEPT]  # where the last ones begin, in a ring


cdef inline uint64_t _big_endian(const uint8_t* at, int size) noexcept nogil:
    cdef uint64_t value = 0
    cdef int number
    for number in range(size):
        value = (value << 8) | at[number]
    return value


cdef inline int64_t _int64(const uint8_t* at) noexcept nogil:
    return <int64_t> _big_endian(at, 8)


cdef inline int64_t _int32(const uint8_t* at) noexcept nogil:
    return <int32_t> <uint32_t> _big_endian(at, 4)


cdef inline Producer* _slot(Producer* table, int64_t producer_id) noexcept nogil:
    """The producer's, or the free one where it belongs."""
    cdef uint64_t number = (<uint64_t> producer_id * 0x9E3779B97F4A7C15u) >> 54
    while table[number].count and table[number].producer_id != producer_id:
        number = (number + 1) & (SLOTS - 1)
    return &table[number]


cdef list _telling(Producer* table):
    cdef set found = set()
    cdef int number, kept
    for number in range(SLOTS):
        if not table[number].count:
            continue
        for kept in range(min(table[number].count, BATCHES_KEPT)):
            found.add(table[number].last[kept])
        if table[number].opening:
            found.add(table[number].opening - 1)
    return sorted(found)


def scan_plain(object piece not None, int64_t at, object place not None, object rules not None):
    cdef int64_t position, next_offset, indexed, max_timestamp, offset_of_max
    cdef int64_t epoch, gapless_from, offset_end, interval_bytes
    cdef bint has_producers
    cdef int64_t base, delta, size, timestamp, producer_id, known = 0
    cdef uint32_t checksum
    cdef int attributes
    cdef const uint8_t* head
    cdef Py_buffer view
    cdef Producer table[SLOTS]
    cdef Producer* producer
    cdef list entries = []
    position, next_offset, indexed, max_timestamp, offset_of_max = place
    epoch, gapless_from, offset_end, interval_bytes, has_producers = rules
    if has_producers:
        memset(table, 0, sizeof(table))
    PyObject_GetBuffer(piece, &view, PyBUF_SIMPLE)
    try:
        while at + HEADER_SIZE <= view.len:
            head = <const uint8_t*> view.buf + at
            size = _int32(head + 8)
            if head[MAGIC_OFFSET] != 2 or size < LENGTH_MIN or at + size + LOG_OVERHEAD > view.len:
                break
            size += LOG_OVERHEAD
            base = _int64(head)
            delta = _int32(head + 23)
            if epoch != ANY_EPOCH and _int32(head + 12) != epoch:
                break
            if base < next_offset or base >= offset_end or delta < 0 or delta >= offset_end - base:
                break
            producer_id = _int64(head + 43)
            attributes = <int16_t> _big_endian(head + ATTRIBUTES_OFFSET, 2)
            if base > next_offset >= gapless_from or (producer_id >= 0 and attributes & CONTROL_MASK):
                break
            checksum = crc32c(
                PyMemoryView_FromMemory(<char*> head + ATTRIBUTES_OFFSET, size - ATTRIBUTES_OFFSET, PyBUF_READ)
            )
            if checksum != <uint32_t> _big_endian(head + 17, 4):
                break
            if producer_id >= 0 and has_producers:
                producer = _slot(table, producer_id)
                if not producer.count:
                    if known == PRODUCERS_MAX:
                        break
                    known += 1
                    producer.producer_id = producer_id
                producer.last[producer.count % BATCHES_KEPT] = at
                producer.count += 1
                if attributes & TRANSACTIONAL_MASK and not producer.opening:
                    producer.opening = at + 1
            next_offset = base + delta + 1
            timestamp = _int64(head + 35)
            if timestamp > max_timestamp:
                max_timestamp, offset_of_max = timestamp, next_offset - 1
            if position - indexed > interval_bytes:
                entries.append((next_offset - 1, position, max_timestamp, offset_of_max))
                indexed = position
            at += size
            position += size
    finally:
        PyBuffer_Release(&view)
    telling = _telling(table) if known else []
    return at, Place(position, next_offset, indexed, max_timestamp, offset_of_max), entries, telling
