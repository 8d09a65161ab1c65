# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The compiled twin of `pure_batch_search`, which has the words; a test holds the two to the same answers."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer

cdef extern from *:
    """
    #ifndef ODRADEK_SOURCE_HASH
    #define ODRADEK_SOURCE_HASH "unknown"
    #endif
    """
    const char* ODRADEK_SOURCE_HASH

SOURCE_HASH = ODRADEK_SOURCE_HASH.decode("ascii")

cdef enum:
    HEAD_SIZE = 27
    LOG_OVERHEAD = 12
    LENGTH_MIN = 14


cdef inline unsigned long long _big_endian(const unsigned char* at, int size) noexcept nogil:
    cdef unsigned long long value = 0
    cdef int number
    for number in range(size):
        value = (value << 8) | at[number]
    return value


def walk_heads(object data not None, long long offset):
    cdef Py_buffer view
    cdef const unsigned char* start
    cdef long long at = 0, last = -1, readable
    cdef long long base
    cdef int length
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        start = <const unsigned char*> view.buf
        readable = view.len - HEAD_SIZE
        while at <= readable:
            base = <long long> _big_endian(start + at, 8)
            if base > offset:
                break
            length = <int> <unsigned int> _big_endian(start + at + 8, 4)
            if length < LENGTH_MIN:
                return last, -1 - at
            last = at
            at += <long long> length + LOG_OVERHEAD
    finally:
        PyBuffer_Release(&view)
    return last, at
