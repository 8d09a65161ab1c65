"""Memory that is about to be written; `buffers.py` has the twin."""

from cpython.bytearray cimport PyByteArray_FromStringAndSize

cdef extern from *:
    """
    #ifndef ODRADEK_SOURCE_HASH
    #define ODRADEK_SOURCE_HASH "unknown"
    #endif
    """
    const char* ODRADEK_SOURCE_HASH

SOURCE_HASH = ODRADEK_SOURCE_HASH.decode()


def unwritten(Py_ssize_t size):
    return PyByteArray_FromStringAndSize(NULL, size)
