# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A record as a consumer gets it, and how a chunk of fetched records is handed out; `pure_records.py` is the twin.

`hand_out` builds the records first: that allocates, and an allocation may collect garbage, which may run anything. What
comes then is one step: nothing in `commit` runs bytecode or lets the GIL go, so that no other thread and no signal's
handler sees a position that has moved without its records, or records without their position.
"""

cimport cython
from cpython cimport array
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from types import GenericAlias

cdef extern from *:
    """
    #ifndef ODRADEK_SOURCE_HASH
    #define ODRADEK_SOURCE_HASH "unknown"
    #endif
    """
    const char* ODRADEK_SOURCE_HASH

SOURCE_HASH = ODRADEK_SOURCE_HASH.decode()

cdef enum:
    # layout.py
    LOG_OVERHEAD = 12
    MAGIC_OFFSET = 16
    HEADER_SIZE = 61
    TIMESTAMP_TYPE_MASK = 0x08
    NO_TIMESTAMP = -1
    # rows.py
    FACTS_PER_BATCH = 7

ctypedef const uint8_t* bytes_p

cdef tuple NO_HEADERS = ()
cdef frozenset PLAIN = frozenset((type(None), bytes, str, int, float, bool))


# --- the record ---

@cython.no_gc
@cython.freelist(512)
cdef class ConsumerRecord:
    """A record that was read. `headers` are pairs of a name and bytes; sizes are -1 for what is null; `leader_epoch` is
    -1 if the broker told none.
    """

    # The garbage collector does not know of it: what holds bytes alone cannot be part of a cycle.
    cdef readonly object topic
    cdef readonly object key
    cdef readonly object value
    cdef readonly object headers
    cdef readonly int64_t offset
    cdef readonly int64_t timestamp
    cdef readonly int32_t partition
    cdef readonly int32_t leader_epoch
    cdef readonly int32_t serialized_key_size
    cdef readonly int32_t serialized_value_size
    cdef readonly int timestamp_type

    def __init__(
        self,
        topic,
        int32_t partition,
        int64_t offset,
        *,
        int64_t timestamp=-1,
        int timestamp_type=-1,
        key=None,
        value=None,
        headers=(),
        int32_t leader_epoch=-1,
        int32_t serialized_key_size=-1,
        int32_t serialized_value_size=-1,
    ):
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.timestamp_type = timestamp_type
        self.key = key
        self.value = value
        self.headers = tuple(headers)
        self.leader_epoch = leader_epoch
        self.serialized_key_size = serialized_key_size
        self.serialized_value_size = serialized_value_size

    @classmethod
    def __class_getitem__(cls, item):
        return GenericAlias(cls, item)

    def deserialized(self, key, value):
        """The record with what the deserializers made in the place of the bytes."""
        if type(key) in PLAIN and type(value) in PLAIN:
            self.key = key
            self.value = value
            return self
        return tracked(self, key, value)

    def _fields(self):
        return (
            self.topic,
            self.partition,
            self.offset,
            self.timestamp,
            self.timestamp_type,
            getattr(self, "key"),
            getattr(self, "value"),
            self.headers,
            self.leader_epoch,
            self.serialized_key_size,
            self.serialized_value_size,
        )

    def __eq__(self, other):
        if not isinstance(other, ConsumerRecord):
            return NotImplemented
        return self._fields() == other._fields()

    def __hash__(self):
        return hash((self.topic, self.partition, self.offset))

    def __repr__(self):
        from odradek.client.consumer.pure_records import FIELDS

        told = ", ".join([f"{name}={value!r}" for name, value in zip(FIELDS, self._fields())])
        return f"ConsumerRecord({told})"

    def __reduce__(self):
        from odradek.client.consumer.records import restored

        return restored, self._fields()


class TrackedRecord(ConsumerRecord):
    """One whose key or value may refer to anything, itself included: the garbage collector knows of these two."""

    __slots__ = ("key", "value")
    __hash__ = ConsumerRecord.__hash__


cdef object tracked(ConsumerRecord record, key, value):
    cdef ConsumerRecord made = TrackedRecord.__new__(TrackedRecord)
    made.topic = record.topic
    made.partition = record.partition
    made.offset = record.offset
    made.timestamp = record.timestamp
    made.timestamp_type = record.timestamp_type
    made.headers = record.headers
    made.leader_epoch = record.leader_epoch
    made.serialized_key_size = record.serialized_key_size
    made.serialized_value_size = record.serialized_value_size
    setattr(made, "key", key)
    setattr(made, "value", value)
    return made


# --- building ---

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


cdef tuple headers_at(bytes_p cursor, bytes_p end):
    cdef int32_t count, length, i
    cdef list found = []
    if not varint(&cursor, end, &count) or count < 0:
        raise changed()
    for i in range(count):
        if not varint(&cursor, end, &length) or length < 0 or length > end - cursor:
            raise changed()
        name = PyUnicode_DecodeUTF8(<const char*>cursor, length, "replace")
        cursor += length
        if not varint(&cursor, end, &length) or length > end - cursor:
            raise changed()
        found.append((name, None if length < 0 else PyBytes_FromStringAndSize(<const char*>cursor, length)))
        if length > 0:
            cursor += length
    return tuple(found)


cdef object changed():
    return RuntimeError("the bytes behind these records have changed since they were scanned")


cdef object cut(Py_buffer* view, int32_t position, int32_t length):
    if position < 0 or <int64_t>position + length > view.len:
        raise IndexError("a row lies outside its source")
    return PyBytes_FromStringAndSize(<const char*>view.buf + position, length)


cdef Py_ssize_t batch_of(const int64_t* facts, Py_ssize_t batches, int64_t row) noexcept nogil:
    """The last batch that begins at or before the row: those before it that begin there have no rows."""
    cdef Py_ssize_t low = 0
    cdef Py_ssize_t high = batches
    cdef Py_ssize_t middle
    while high - low > 1:
        middle = (low + high) // 2
        if facts[middle * FACTS_PER_BATCH] <= row:
            low = middle
        else:
            high = middle
    return low


cdef int append_rows(list out, chunk, Py_ssize_t stop) except -1:
    cdef object rows = chunk.rows
    cdef array.array offset_array = rows.offsets
    cdef array.array timestamp_array = rows.timestamps
    cdef array.array key_position_array = rows.key_positions
    cdef array.array key_length_array = rows.key_lengths
    cdef array.array value_position_array = rows.value_positions
    cdef array.array value_length_array = rows.value_lengths
    cdef array.array facts_array = rows.batch_facts
    cdef const int64_t* offsets = <const int64_t*>offset_array.data.as_longlongs
    cdef const int64_t* timestamps = <const int64_t*>timestamp_array.data.as_longlongs
    cdef const int32_t* key_positions = <const int32_t*>key_position_array.data.as_ints
    cdef const int32_t* key_lengths = <const int32_t*>key_length_array.data.as_ints
    cdef const int32_t* value_positions = <const int32_t*>value_position_array.data.as_ints
    cdef const int32_t* value_lengths = <const int32_t*>value_length_array.data.as_ints
    cdef const int64_t* facts = <const int64_t*>facts_array.data.as_longlongs
    cdef Py_ssize_t batches = len(facts_array) // FACTS_PER_BATCH
    cdef bint has_headers = rows.header_count > 0
    cdef Py_ssize_t row = chunk.row
    cdef Py_ssize_t batch, first, behind
    cdef int64_t next_batch_row
    cdef int32_t epoch, partition
    cdef int timestamp_type
    cdef Py_buffer view
    cdef ConsumerRecord record
    if stop > len(offset_array) or batches == 0:
        raise IndexError(f"row {stop} is behind the last of {len(offset_array)}")
    topic, partition = chunk.place
    batch = batch_of(facts, batches, row)
    next_batch_row = -1
    epoch = timestamp_type = -1
    for source, first, behind in chunk.segments:
        if behind <= row:
            continue
        if first > row or row >= stop:
            break
        behind = min(behind, stop)
        PyObject_GetBuffer(source, &view, PyBUF_SIMPLE)
        try:
            while row < behind:
                if row >= next_batch_row:
                    while batch + 1 < batches and facts[(batch + 1) * FACTS_PER_BATCH] <= row:
                        batch += 1
                    next_batch_row = facts[(batch + 1) * FACTS_PER_BATCH] if batch + 1 < batches else stop
                    epoch = <int32_t>facts[batch * FACTS_PER_BATCH + 3]
                    timestamp_type = (facts[batch * FACTS_PER_BATCH + 6] & TIMESTAMP_TYPE_MASK) != 0
                record = ConsumerRecord.__new__(ConsumerRecord)
                record.topic = topic
                record.partition = partition
                record.offset = offsets[row]
                record.timestamp = timestamps[row]
                record.timestamp_type = -1 if timestamps[row] == NO_TIMESTAMP else timestamp_type
                record.leader_epoch = epoch
                record.serialized_key_size = key_lengths[row]
                record.serialized_value_size = value_lengths[row]
                if key_lengths[row] >= 0:
                    record.key = cut(&view, key_positions[row], key_lengths[row])
                if value_lengths[row] >= 0:
                    record.value = cut(&view, value_positions[row], value_lengths[row])
                if has_headers:
                    record.headers = headers_behind(&view, value_positions[row], value_lengths[row])
                else:
                    record.headers = NO_HEADERS
                out.append(record)
                row += 1
        finally:
            PyBuffer_Release(&view)
    if row != stop:
        raise IndexError(f"the segments end at row {row}, before {stop}")
    return 0


cdef tuple headers_behind(Py_buffer* view, int32_t position, int32_t length):
    cdef int64_t at = <int64_t>position + (length if length > 0 else 0)
    if position < 0 or at > view.len:
        raise IndexError("a row lies outside its source")
    return headers_at(<bytes_p>view.buf + at, <bytes_p>view.buf + view.len)


def build(chunk, Py_ssize_t stop):
    """The records of a scanned chunk from its cursor on, up to row `stop`."""
    cdef list built = []
    if stop > chunk.row:
        append_rows(built, chunk, stop)
    return built


# --- handing out ---

cdef bint commit(state, chunk, Py_ssize_t stop, object position, object epoch) except -1:
    """Whether it is still to be handed out; then the position is moved. See the top of this file."""
    cdef object chunks = state.chunks
    cdef object generation = chunk.generation
    if state.is_held or generation != state.generation or generation == state.failed_generation:
        return False
    if not chunks or chunks[0] is not chunk:
        return False
    state.position = position
    state.position_epoch = epoch
    chunk.row = stop
    if stop == chunk.stop and chunk.error is None:
        chunks.popleft()
        state.taken_bytes += chunk.size_bytes
    return True


cdef tuple position_after(chunk, Py_ssize_t stop):
    """Position and epoch when everything up to row `stop` was handed out."""
    cdef array.array offsets
    cdef array.array facts
    cdef const int64_t* fact
    cdef Py_ssize_t batch
    if stop >= chunk.stop:
        return chunk.next_offset, chunk.leader_epoch
    offsets = chunk.rows.offsets
    facts = chunk.rows.batch_facts
    if stop < 1 or stop > len(offsets):
        raise IndexError(f"there is no row before {stop}")
    fact = <const int64_t*>facts.data.as_longlongs
    batch = batch_of(fact, len(facts) // FACTS_PER_BATCH, stop - 1)
    return offsets.data.as_longlongs[stop - 1] + 1, fact[batch * FACTS_PER_BATCH + 3]


def hand_out(state, chunk, list out, Py_ssize_t stop):
    """Builds the records up to row `stop` and has them handed out."""
    cdef Py_ssize_t first = len(out)
    cdef bint is_done = False
    position, epoch = position_after(chunk, stop)
    try:
        if stop > chunk.row:
            append_rows(out, chunk, stop)
        is_done = commit(state, chunk, stop, position, epoch)
    finally:
        if not is_done:
            del out[first:]
    return is_done


def deliver(state, chunk, list out, list records, Py_ssize_t stop):
    """Appends the records to `out` and moves the position over them. False, and nothing has happened, if they are not
    to be handed out any more: the position has changed meanwhile, or the partition is paused or about to be revoked.
    """
    cdef Py_ssize_t first = len(out)
    cdef bint is_done = False
    position, epoch = position_after(chunk, stop)
    try:
        out.extend(records)
        is_done = commit(state, chunk, stop, position, epoch)
    finally:
        if not is_done:
            del out[first:]
    return is_done


# --- what has come ---

cdef inline uint32_t big_32(bytes_p at) noexcept nogil:
    return (<uint32_t>at[0] << 24) | (<uint32_t>at[1] << 16) | (<uint32_t>at[2] << 8) | at[3]


cdef inline int64_t big_64(bytes_p at) noexcept nogil:
    return <int64_t>((<uint64_t>big_32(at) << 32) | big_32(at + 4))


def walk(data):
    """Of a buffer of batches: the offset behind the last whole one, its leader epoch, and how many bytes are whole. An
    offset and an epoch of -1 if none is.
    """
    cdef Py_buffer view
    cdef bytes_p at
    cdef Py_ssize_t done = 0
    cdef Py_ssize_t size
    cdef int64_t next_offset = -1
    cdef int32_t epoch = -1
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        while view.len - done > MAGIC_OFFSET:
            at = <bytes_p>view.buf + done
            size = <Py_ssize_t><int32_t>big_32(at + 8) + LOG_OVERHEAD
            if size <= MAGIC_OFFSET or size > view.len - done or (at[MAGIC_OFFSET] >= 2 and size < HEADER_SIZE):
                break
            next_offset = <int64_t>(<uint64_t>big_64(at) + 1)
            epoch = -1
            if at[MAGIC_OFFSET] >= 2:
                next_offset = <int64_t>(<uint64_t>next_offset + <uint64_t><int64_t><int32_t>big_32(at + 23))
                epoch = <int32_t>big_32(at + 12)
            done += size
    finally:
        PyBuffer_Release(&view)
    return next_offset, epoch, done
