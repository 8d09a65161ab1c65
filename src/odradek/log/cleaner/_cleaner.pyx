# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The loops of compaction over plain batches of magic 2; `pure_cleaner.py` is the twin.

A run goes in three steps. With the GIL, every batch of the run is checked (crc, and each record by the records kernel)
and asked for its transaction. Without it, keys are hashed, records are chosen and copied: nothing is left to refuse
there, so that the loops return no errors. With it again, batches that were rewritten get their crc.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawRealloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from odradek.log.cleaner.key_map import bad_key_map, full_key_map
from odradek.log.cleaner.pure_cleaner import corrupt_batch
from odradek.records import crc, kernel

cdef extern from *:
    """
    #ifndef ODRADEK_SOURCE_HASH
    #define ODRADEK_SOURCE_HASH "unknown"
    #endif
    """
    const char* ODRADEK_SOURCE_HASH

SOURCE_HASH = ODRADEK_SOURCE_HASH.decode()

cdef enum:
    GIL_BYTES_MIN = 65536  # below this, releasing the GIL costs more than it gives
    SECRET_BYTES = 16
    GROWTH_PER_RECORD_MAX = 14  # a longer timestamp delta (1 to 10 bytes) and record length (1 to 5)
    OFFSET_ENTRY_BYTES = 8
    TIME_ENTRY_BYTES = 12
    # layout.py
    LOG_OVERHEAD = 12
    HEADER_SIZE = 61
    CRC_OFFSET = 17
    ATTRIBUTES_OFFSET = 21
    TIMESTAMP_TYPE_MASK = 0x08
    TRANSACTIONAL_MASK = 0x10
    NOT_PLAIN = 0x27  # compression and control
    DELETE_HORIZON_MASK = 0x40
    KEPT_IN_EMPTY = 0x18  # timestamp type and transactional
    ATTRIBUTES_KNOWN = 0x7F

ctypedef const uint8_t* bytes_p


# --- bytes ---

cdef inline int64_t get_big(bytes_p at, int width) noexcept nogil:
    cdef uint64_t value = 0
    cdef int i
    for i in range(width):
        value = value << 8 | at[i]
    return <int64_t>value


cdef inline void put_big(uint8_t* at, int64_t value, int width) noexcept nogil:
    cdef int i
    for i in range(width):
        at[i] = <uint8_t>(<uint64_t>value >> (8 * (width - 1 - i)))


cdef inline uint64_t get_raw(bytes_p* cursor) noexcept nogil:
    """A varint whose bytes have been checked."""
    cdef bytes_p at = cursor[0]
    cdef uint64_t raw = at[0] & 0x7F
    cdef int shift = 7
    while at[0] & 0x80:
        at += 1
        raw |= <uint64_t>(at[0] & 0x7F) << shift
        shift += 7
    cursor[0] = at + 1
    return raw


cdef inline int32_t get_varint(bytes_p* cursor) noexcept nogil:
    cdef uint32_t raw = <uint32_t>get_raw(cursor)
    return <int32_t>((raw >> 1) ^ (0 - (raw & 1)))


cdef inline int64_t get_varlong(bytes_p* cursor) noexcept nogil:
    cdef uint64_t raw = get_raw(cursor)
    return <int64_t>((raw >> 1) ^ (0 - (raw & 1)))


cdef inline uint8_t* put_raw(uint8_t* at, uint64_t raw) noexcept nogil:
    while raw > 0x7F:
        at[0] = <uint8_t>(raw | 0x80)
        raw >>= 7
        at += 1
    at[0] = <uint8_t>raw
    return at + 1


cdef inline uint64_t zigzag(int64_t value) noexcept nogil:
    return (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)


cdef inline int64_t wrapping_sum(int64_t a, int64_t b) noexcept nogil:
    return <int64_t>(<uint64_t>a + <uint64_t>b)


# --- the key map ---

cdef struct Slot:
    uint64_t low
    uint64_t high
    int64_t offset_after  # offset + 1; 0 is a free slot


cdef inline uint64_t rotated(uint64_t x, int bits) noexcept nogil:
    return x << bits | x >> (64 - bits)


cdef struct Sip:
    uint64_t a
    uint64_t b
    uint64_t c
    uint64_t d


cdef inline void sip_round(Sip* s) noexcept nogil:
    s.a += s.b
    s.c += s.d
    s.b = rotated(s.b, 13) ^ s.a
    s.d = rotated(s.d, 16) ^ s.c
    s.a = rotated(s.a, 32)
    s.c += s.b
    s.a += s.d
    s.b = rotated(s.b, 17) ^ s.c
    s.d = rotated(s.d, 21) ^ s.a
    s.c = rotated(s.c, 32)


cdef inline void sip_word(Sip* s, uint64_t word) noexcept nogil:
    s.d ^= word
    sip_round(s)
    s.a ^= word


cdef inline uint64_t sip_end(Sip* s, uint64_t tweak, bint is_first) noexcept nogil:
    if is_first:
        s.c ^= tweak
    else:
        s.b ^= tweak
    sip_round(s)
    sip_round(s)
    sip_round(s)
    return s.a ^ s.b ^ s.c ^ s.d


cdef inline void key_hash(bytes_p key, int64_t length, uint64_t* secret, Slot* out) noexcept nogil:
    """SipHash-1-3 with 128 bits: nobody who does not know the secret can make two keys meet."""
    cdef Sip s
    cdef uint64_t word = 0
    cdef int64_t rest = length
    s.a = secret[0] ^ 0x736F6D6570736575ULL
    s.b = secret[1] ^ 0x646F72616E646F6DULL ^ 0xEE
    s.c = secret[0] ^ 0x6C7967656E657261ULL
    s.d = secret[1] ^ 0x7465646279746573ULL
    while rest >= 8:
        memcpy(&word, key, 8)
        sip_word(&s, word)
        key += 8
        rest -= 8
    word = 0
    memcpy(&word, key, rest)
    sip_word(&s, word | <uint64_t>length << 56)
    out.low = sip_end(&s, 0xEE, True)
    out.high = sip_end(&s, 0xDD, False)


cdef class KeyMap:
    cdef Slot* slots
    cdef uint64_t slot_count
    cdef uint64_t secret[2]
    cdef readonly int64_t entries_max
    cdef readonly int64_t size
    cdef readonly int64_t latest_offset

    def __cinit__(self, int64_t slots, int64_t entries_max, bytes secret not None):
        if not 0 < entries_max < slots or len(secret) != SECRET_BYTES:
            raise bad_key_map(slots, entries_max, secret)
        self.slot_count = slots
        self.entries_max = entries_max
        self.latest_offset = -1
        memcpy(self.secret, PyBytes_AS_STRING(secret), SECRET_BYTES)
        self.slots = <Slot*>PyMem_RawCalloc(slots, sizeof(Slot))
        if self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_RawFree(self.slots)

    def __len__(self):
        return self.size

    cdef Slot* slot_of(self, bytes_p key, int64_t length, Slot* wanted) noexcept nogil:
        """The slot that holds the key, or the free one where it belongs: one at least is always free."""
        cdef uint64_t index
        cdef Slot* slot
        key_hash(key, length, self.secret, wanted)
        index = wanted.low % self.slot_count
        while True:
            slot = self.slots + index
            if slot.offset_after == 0 or (slot.low == wanted.low and slot.high == wanted.high):
                return slot
            index += 1
            if index == self.slot_count:
                index = 0

    cdef void put_key(self, bytes_p key, int64_t length, int64_t offset) noexcept nogil:
        cdef Slot wanted
        cdef Slot* slot = self.slot_of(key, length, &wanted)
        if slot.offset_after == 0:
            slot.low = wanted.low
            slot.high = wanted.high
            self.size += 1
        slot.offset_after = offset + 1
        self.latest_offset = offset

    cdef inline int64_t find(self, bytes_p key, int64_t length) noexcept nogil:
        cdef Slot wanted
        return self.slot_of(key, length, &wanted).offset_after - 1

    def put(self, bytes key not None, int64_t offset):
        if self.size >= self.entries_max and self.get(key) < 0:
            raise full_key_map(self.size)
        self.put_key(<bytes_p>PyBytes_AS_STRING(key), len(key), offset)

    def get(self, bytes key not None):
        return self.find(<bytes_p>PyBytes_AS_STRING(key), len(key))

    def advance(self, int64_t offset):
        if offset > self.latest_offset:
            self.latest_offset = offset


# --- one record, whose bytes have been checked ---

cdef struct Record:
    bytes_p start
    bytes_p after_timestamp
    bytes_p end
    int64_t timestamp_delta
    int32_t offset_delta
    int32_t key_length
    bint has_value
    bytes_p key
    uint8_t attributes


cdef inline void next_record(bytes_p* cursor, Record* record) noexcept nogil:
    cdef bytes_p at = cursor[0]
    cdef int32_t length
    record.start = at
    length = get_varint(&at)
    record.end = at + length
    record.attributes = at[0]
    at += 1
    record.timestamp_delta = get_varlong(&at)
    record.after_timestamp = at
    record.offset_delta = get_varint(&at)
    record.key_length = get_varint(&at)
    record.key = at
    if record.key_length > 0:
        at += record.key_length
    record.has_value = get_varint(&at) >= 0
    cursor[0] = record.end


# --- the batches of a run ---

cdef struct Batch:
    int64_t position
    int64_t size
    int64_t base_offset
    int64_t last_offset
    int64_t base_timestamp
    int64_t max_timestamp
    int64_t producer_id
    int32_t count
    int32_t attributes
    bint is_aborted
    bint is_kept_empty
    bint is_rewritten
    int64_t out_position
    int64_t out_size


cdef class Run:
    """The plain batches from a position on, checked."""
    cdef Py_buffer view
    cdef bint is_held
    cdef Batch* batches
    cdef Py_ssize_t count
    cdef Py_ssize_t capacity
    cdef int64_t stop
    cdef int64_t records

    def __cinit__(self, source, int64_t position, transactions):
        self.batches = NULL
        self.is_held = False
        PyObject_GetBuffer(source, &self.view, PyBUF_SIMPLE)
        self.is_held = True
        self.stop = position
        self.collect(memoryview(source), transactions)

    def __dealloc__(self):
        PyMem_RawFree(self.batches)
        if self.is_held:
            PyBuffer_Release(&self.view)

    cdef bytes_p bytes_at(self, int64_t position) noexcept nogil:
        return <bytes_p>self.view.buf + position

    cdef int collect(self, octets, transactions) except -1:
        checksum = crc.crc32c
        check_records = kernel.check_records
        cdef bytes_p at
        cdef Batch* batch
        cdef int64_t size
        cdef int attributes
        while self.view.len - self.stop >= HEADER_SIZE:
            at = self.bytes_at(self.stop)
            size = get_big(at + 8, 4) + LOG_OVERHEAD
            attributes = get_big(at + ATTRIBUTES_OFFSET, 2)
            if at[16] != 2 or attributes & NOT_PLAIN or not HEADER_SIZE <= size <= self.view.len - self.stop:
                break
            if checksum(octets[self.stop + ATTRIBUTES_OFFSET : self.stop + size]) != <uint32_t>get_big(at + CRC_OFFSET, 4):
                raise corrupt_batch(get_big(at, 8))
            batch = self.add()
            batch.position = self.stop
            batch.size = size
            batch.attributes = attributes
            read_header(at, batch)
            check_records(octets[self.stop + HEADER_SIZE : self.stop + size], batch.count)
            if attributes & TRANSACTIONAL_MASK:
                batch.is_aborted = transactions.on_batch(batch.producer_id, batch.last_offset)
            self.records += batch.count
            self.stop += size
        return 0

    cdef Batch* add(self) except NULL:
        cdef Batch* grown
        if self.count == self.capacity:
            self.capacity = 2 * self.capacity + 16
            grown = <Batch*>PyMem_RawRealloc(self.batches, self.capacity * sizeof(Batch))
            if grown == NULL:
                raise MemoryError
            self.batches = grown
        self.count += 1
        return self.batches + self.count - 1


cdef void read_header(bytes_p at, Batch* batch) noexcept nogil:
    batch.base_offset = get_big(at, 8)
    batch.last_offset = wrapping_sum(batch.base_offset, <int32_t>get_big(at + 23, 4))
    batch.base_timestamp = get_big(at + 27, 8)
    batch.max_timestamp = get_big(at + 35, 8)
    batch.producer_id = get_big(at + 43, 8)
    batch.count = <int32_t>get_big(at + 57, 4)
    batch.is_aborted = batch.is_kept_empty = batch.is_rewritten = False
    batch.out_position = batch.out_size = 0


# --- building the map ---

cdef bint index_batch(bytes_p at, Batch* batch, KeyMap key_map, int64_t from_offset) noexcept nogil:
    """False if the map was full before the last record with a key."""
    cdef Record record
    cdef int32_t i
    cdef int64_t offset
    cdef bytes_p cursor = at + HEADER_SIZE
    for i in range(batch.count):
        next_record(&cursor, &record)
        offset = wrapping_sum(batch.base_offset, record.offset_delta)
        if record.key_length >= 0 and offset >= from_offset:
            if key_map.size >= key_map.entries_max:
                return False
            key_map.put_key(record.key, record.key_length, offset)
    return True


cdef Py_ssize_t index_run(Run run, KeyMap key_map, int64_t from_offset) noexcept nogil:
    """The index of the batch at which the map was full, or the number of batches."""
    cdef Py_ssize_t i
    cdef Batch* batch
    for i in range(run.count):
        batch = run.batches + i
        if batch.last_offset < from_offset:
            continue
        if not batch.is_aborted and not index_batch(run.bytes_at(batch.position), batch, key_map, from_offset):
            return i
        if batch.last_offset > key_map.latest_offset:
            key_map.latest_offset = batch.last_offset
    return run.count


def index_keys(source, int64_t position, KeyMap key_map not None, int64_t from_offset, transactions):
    cdef Run run = Run(source, position, transactions)
    cdef Py_ssize_t ended
    if run.stop - position >= GIL_BYTES_MIN:
        with nogil:
            ended = index_run(run, key_map, from_offset)
    else:
        ended = index_run(run, key_map, from_offset)
    if ended < run.count:
        return run.batches[ended].position, True
    return run.stop, False


# --- choosing and copying ---

cdef struct Rules:
    int64_t now_ms
    int64_t delete_horizon_ms


# What the records of one batch come to.
cdef struct Choice:
    int32_t kept
    int64_t base_timestamp
    int64_t max_timestamp
    bint has_tombstone


cdef inline int64_t timestamp_of(Batch* batch, Record* record) noexcept nogil:
    if batch.attributes & TIMESTAMP_TYPE_MASK:
        return batch.max_timestamp
    return wrapping_sum(batch.base_timestamp, record.timestamp_delta)


cdef inline bint is_retained(Record* record, int64_t offset, KeyMap key_map, bint deletes_expired) noexcept nogil:
    if offset > key_map.latest_offset:
        return True
    if record.key_length < 0:
        return False
    if deletes_expired and not record.has_value:
        return False
    return offset >= key_map.find(record.key, record.key_length)


cdef void choose(bytes_p at, Batch* batch, KeyMap key_map, Rules* rules, uint8_t* keep, Choice* out) noexcept nogil:
    cdef Record record
    cdef int32_t i
    cdef int64_t timestamp
    cdef bytes_p cursor = at + HEADER_SIZE
    cdef bint deletes_expired = batch.attributes & DELETE_HORIZON_MASK and batch.base_timestamp <= rules.now_ms
    out.kept = 0
    out.has_tombstone = False
    out.base_timestamp = out.max_timestamp = -1
    for i in range(batch.count):
        next_record(&cursor, &record)
        keep[i] = is_retained(&record, wrapping_sum(batch.base_offset, record.offset_delta), key_map, deletes_expired)
        if keep[i]:
            timestamp = timestamp_of(batch, &record)
            if out.kept == 0:
                out.base_timestamp = timestamp
            if timestamp > out.max_timestamp:
                out.max_timestamp = timestamp
            out.kept += 1
            out.has_tombstone |= not record.has_value


cdef inline uint8_t* put_record(uint8_t* to, Record* record, int64_t timestamp_delta) noexcept nogil:
    """The record with another timestamp delta, and therefore perhaps another length."""
    cdef uint8_t delta[10]
    cdef int64_t delta_bytes = put_raw(delta, zigzag(timestamp_delta)) - delta
    cdef int64_t rest = record.end - record.after_timestamp
    to = put_raw(to, <uint64_t>(1 + delta_bytes + rest) << 1)
    to[0] = record.attributes
    memcpy(to + 1, delta, delta_bytes)
    memcpy(to + 1 + delta_bytes, record.after_timestamp, rest)
    return to + 1 + delta_bytes + rest


cdef uint8_t* put_kept(uint8_t* to, bytes_p at, Batch* batch, const uint8_t* keep, int64_t base_timestamp) noexcept nogil:
    cdef Record record
    cdef int32_t i
    cdef int64_t size
    cdef bytes_p cursor = at + HEADER_SIZE
    cdef bint is_same = base_timestamp == batch.base_timestamp and not batch.attributes & TIMESTAMP_TYPE_MASK
    for i in range(batch.count):
        next_record(&cursor, &record)
        if not keep[i]:
            continue
        if is_same:
            size = record.end - record.start
            memcpy(to, record.start, size)
            to += size
        else:
            to = put_record(to, &record, timestamp_of(batch, &record) - base_timestamp)
    return to


cdef void put_header(uint8_t* to, bytes_p at, int64_t size, int attributes, int64_t base_timestamp,
                     int64_t max_timestamp, int32_t count) noexcept nogil:
    """That of the old batch, but for what is given; offsets, leader epoch and the producer's fields stay."""
    memcpy(to, at, HEADER_SIZE)
    put_big(to + 8, size - LOG_OVERHEAD, 4)
    put_big(to + ATTRIBUTES_OFFSET, attributes, 2)
    put_big(to + 27, base_timestamp, 8)
    put_big(to + 35, max_timestamp, 8)
    put_big(to + 57, count, 4)


cdef int64_t put_empty(uint8_t* to, bytes_p at, Batch* batch) noexcept nogil:
    cdef int attributes = batch.attributes & KEPT_IN_EMPTY
    if batch.size == HEADER_SIZE and batch.attributes == attributes and batch.base_timestamp == -1:
        memcpy(to, at, HEADER_SIZE)
        return HEADER_SIZE
    put_header(to, at, HEADER_SIZE, attributes, -1, batch.max_timestamp, 0)
    batch.is_rewritten = True
    return HEADER_SIZE


cdef int64_t put_chosen(uint8_t* to, bytes_p at, Batch* batch, const uint8_t* keep, Choice* choice, Rules* rules
                        ) noexcept nogil:
    cdef bint has_horizon = batch.attributes & DELETE_HORIZON_MASK
    cdef int attributes = batch.attributes & ATTRIBUTES_KNOWN
    cdef int64_t size
    if choice.kept == batch.count and (has_horizon or not choice.has_tombstone):
        memcpy(to, at, batch.size)
        return batch.size
    if has_horizon:
        choice.base_timestamp = batch.base_timestamp
    elif choice.has_tombstone:
        choice.base_timestamp = rules.delete_horizon_ms
        attributes |= DELETE_HORIZON_MASK
    if attributes & TIMESTAMP_TYPE_MASK:
        choice.max_timestamp = batch.max_timestamp
    size = put_kept(to + HEADER_SIZE, at, batch, keep, choice.base_timestamp) - to
    put_header(to, at, size, attributes, choice.base_timestamp, choice.max_timestamp, choice.kept)
    batch.is_rewritten = True
    return size


cdef int64_t filter_run(Run run, KeyMap key_map, Rules* rules, uint8_t* keep, uint8_t* out, int64_t* kept) noexcept nogil:
    """Writes what is left of the run and returns its size."""
    cdef Py_ssize_t i
    cdef Batch* batch
    cdef bytes_p at
    cdef Choice choice
    cdef int64_t size = 0
    for i in range(run.count):
        batch = run.batches + i
        at = run.bytes_at(batch.position)
        batch.out_position = size
        choice.kept = 0
        if not batch.is_aborted:
            choose(at, batch, key_map, rules, keep, &choice)
        if choice.kept:
            batch.out_size = put_chosen(out + size, at, batch, keep, &choice, rules)
        elif batch.is_kept_empty:
            batch.out_size = put_empty(out + size, at, batch)
        kept[0] += choice.kept
        size += batch.out_size
    return size


cdef int mark_kept_empty(Run run, retention) except -1:
    cdef int64_t upper_bound_offset = retention.upper_bound_offset
    cdef dict last_data_offsets = retention.last_data_offsets
    cdef Py_ssize_t i
    cdef Batch* batch
    for i in range(run.count):
        batch = run.batches + i
        if wrapping_sum(batch.last_offset, 1) == upper_bound_offset:
            batch.is_kept_empty = True
        elif batch.producer_id >= 0 and last_data_offsets:
            batch.is_kept_empty = last_data_offsets.get(batch.producer_id) == batch.last_offset
    return 0


cdef int finish(Run run, out, uint8_t* data) except -1:
    """The crc of every batch that was rewritten, and how many there are."""
    cdef Py_ssize_t i
    cdef Batch* batch
    cdef int rewritten = 0
    octets = memoryview(out)
    checksum = crc.crc32c
    for i in range(run.count):
        batch = run.batches + i
        if batch.is_rewritten:
            rewritten += 1
            value = checksum(octets[batch.out_position + ATTRIBUTES_OFFSET : batch.out_position + batch.out_size])
            put_big(data + batch.out_position + CRC_OFFSET, <uint32_t>value, 4)
    return rewritten


cdef int32_t largest_count(Run run) noexcept nogil:
    cdef Py_ssize_t i
    cdef int32_t largest = 0
    for i in range(run.count):
        if run.batches[i].count > largest:
            largest = run.batches[i].count
    return largest


def filter_batches(source, int64_t position, KeyMap key_map not None, retention, transactions):
    cdef Run run = Run(source, position, transactions)
    cdef Rules rules
    cdef int64_t size
    cdef int64_t kept = 0
    cdef int rewritten
    cdef uint8_t* data
    cdef uint8_t* keep
    rules.now_ms = retention.now_ms
    rules.delete_horizon_ms = retention.new_delete_horizon_ms
    mark_kept_empty(run, retention)
    out = PyBytes_FromStringAndSize(NULL, run.stop - position + GROWTH_PER_RECORD_MAX * run.records)
    scratch = PyBytes_FromStringAndSize(NULL, largest_count(run))
    data = <uint8_t*>PyBytes_AS_STRING(out)
    keep = <uint8_t*>PyBytes_AS_STRING(scratch)
    if run.stop - position >= GIL_BYTES_MIN:
        with nogil:
            size = filter_run(run, key_map, &rules, keep, data, &kept)
    else:
        size = filter_run(run, key_map, &rules, keep, data, &kept)
    rewritten = finish(run, out, data)
    return run.stop, memoryview(out)[:size], run.records, kept, rewritten


# --- the indexes of what was written ---

cdef class SparseIndexes:
    cdef readonly int64_t position
    cdef readonly int64_t largest_timestamp
    cdef readonly int64_t offset_of_largest_timestamp
    cdef readonly int64_t last_offset
    cdef readonly bytearray offset_entries
    cdef readonly bytearray time_entries
    cdef int64_t base_offset
    cdef int64_t interval_bytes
    cdef int64_t index_bytes_max
    cdef int64_t indexed_position
    cdef int64_t indexed_timestamp

    def __init__(self, int64_t base_offset, int64_t interval_bytes, int64_t index_bytes_max):
        self.base_offset = self.offset_of_largest_timestamp = base_offset
        self.interval_bytes = interval_bytes
        self.index_bytes_max = index_bytes_max
        self.position = self.indexed_position = 0
        self.largest_timestamp = self.indexed_timestamp = -1
        self.last_offset = base_offset - 1
        self.offset_entries = bytearray()
        self.time_entries = bytearray()

    def add(self, data):
        cdef Py_buffer view
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            self.walk(<bytes_p>view.buf, view.len)
        finally:
            PyBuffer_Release(&view)

    def finish(self):
        self.add_time_entry()

    cdef int walk(self, bytes_p at, int64_t length) except -1:
        cdef bytes_p end = at + length
        while at < end:
            self.last_offset = get_big(at, 8)
            if at[16] == 2:
                self.last_offset = wrapping_sum(self.last_offset, <int32_t>get_big(at + 23, 4))
                self.see_timestamp(get_big(at + 35, 8))
            elif at[16] == 1:
                self.see_timestamp(get_big(at + 18, 8))
            if self.position - self.indexed_position > self.interval_bytes:
                self.add_entries()
            length = get_big(at + 8, 4) + LOG_OVERHEAD
            self.position += length
            at += length
        return 0

    cdef void see_timestamp(self, int64_t timestamp) noexcept:
        if timestamp > self.largest_timestamp:
            self.largest_timestamp = timestamp
            self.offset_of_largest_timestamp = self.last_offset

    cdef int add_entries(self) except -1:
        cdef uint8_t entry[OFFSET_ENTRY_BYTES]
        if len(self.offset_entries) + OFFSET_ENTRY_BYTES > self.index_bytes_max:
            return 0
        if len(self.time_entries) + 2 * TIME_ENTRY_BYTES > self.index_bytes_max:  # one is for `finish`
            return 0
        put_big(entry, self.last_offset - self.base_offset, 4)
        put_big(entry + 4, self.position, 4)
        self.offset_entries += (<char*>entry)[:OFFSET_ENTRY_BYTES]
        self.indexed_position = self.position
        return self.add_time_entry()

    cdef int add_time_entry(self) except -1:
        cdef uint8_t entry[TIME_ENTRY_BYTES]
        if self.largest_timestamp <= self.indexed_timestamp:
            return 0
        put_big(entry, self.largest_timestamp, 8)
        put_big(entry + 8, self.offset_of_largest_timestamp - self.base_offset, 4)
        self.time_entries += (<char*>entry)[:TIME_ENTRY_BYTES]
        self.indexed_timestamp = self.largest_timestamp
        return 0
