# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: embedsignature=True, embedsignature.format=clinic
"""Where records wait to be sent; `pure_accumulator.py` is the twin, and says what everything is for.

An append is atomic under the GIL: from the look at the open batch to the last change nothing is called that could let
it go. What could (memory from the pool, the object of a new batch) comes before, and the open batch is looked up again.
"""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from collections import deque

from odradek.client.producer import record_future
from odradek.protocol.topic_partition import TopicPartition
from odradek.records import crc

cdef extern from *:
    """
    #include <time.h>
    #ifndef ODRADEK_SOURCE_HASH
    #define ODRADEK_SOURCE_HASH "unknown"
    #endif
    #if defined(__GNUC__) || defined(__clang__)
    #define odradek_bits(x) (64 - __builtin_clzll((x) | 1))
    #else
    static int odradek_bits(unsigned long long x) { int n = 1; while (x >>= 1) n++; return n; }
    #endif
    #ifdef CLOCK_REALTIME_COARSE
    #define ODRADEK_CLOCK CLOCK_REALTIME_COARSE
    #else
    #define ODRADEK_CLOCK CLOCK_REALTIME
    #endif
    static long long odradek_wall_ms(void) {
        struct timespec now;
        clock_gettime(ODRADEK_CLOCK, &now);
        return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    }
    """
    const char* ODRADEK_SOURCE_HASH
    int bits_of "odradek_bits"(uint64_t) noexcept nogil
    int64_t wall_ms "odradek_wall_ms"() noexcept nogil

SOURCE_HASH = ODRADEK_SOURCE_HASH.decode()

cdef enum:
    HEADER_SIZE = 61
    NO_PARTITION = -1

cdef enum:  # where they stand in the header of a batch, as records/layout.py has it
    LOG_OVERHEAD = 12
    CRC_OFFSET = 17
    ATTRIBUTES_OFFSET = 21

cdef object crc32c = crc.crc32c
cdef bytes NO_HEADERS = b"\0"
cdef tuple NOTHING = ()

ctypedef const uint8_t* bytes_p


# --- bytes out ---

cdef inline int size_of(uint64_t raw) noexcept nogil:
    return (bits_of(raw) * 9 + 64) >> 6


cdef inline uint64_t zigzag(int64_t value) noexcept nogil:
    return (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)


cdef inline int64_t difference(int64_t a, int64_t b) noexcept nogil:
    return <int64_t>(<uint64_t>a - <uint64_t>b)


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


cdef inline uint8_t* put_number(uint8_t* at, int64_t value, int size) noexcept nogil:
    """Big-endian."""
    cdef int i
    for i in range(size):
        at[i] = <uint8_t>(<uint64_t>value >> (8 * (size - 1 - i)))
    return at + size


cdef uint32_t murmur2(bytes_p data, int64_t length) noexcept nogil:
    """As records/murmur2.py."""
    cdef uint32_t m = <uint32_t>0x5BD1E995
    cdef uint32_t h = <uint32_t>0x9747B28C ^ <uint32_t>length
    cdef uint32_t k
    cdef int64_t i = 0
    while length - i >= 4:
        k = data[i] | <uint32_t>data[i + 1] << 8 | <uint32_t>data[i + 2] << 16 | <uint32_t>data[i + 3] << 24
        k *= m
        k ^= k >> 24
        k *= m
        h *= m
        h ^= k
        i += 4
    if length - i == 3:
        h ^= <uint32_t>data[i + 2] << 16
    if length - i >= 2:
        h ^= <uint32_t>data[i + 1] << 8
    if length - i >= 1:
        h ^= data[i]
        h *= m
    h ^= h >> 13
    h *= m
    h ^= h >> 15
    return h


# --- the memory of a batch ---

@cython.final
@cython.no_gc
cdef class Buffer:
    cdef uint8_t* data
    cdef int64_t capacity
    cdef object pool
    cdef int64_t taken_bytes

    def __cinit__(self, pool, int64_t capacity, int64_t taken_bytes):
        self.pool = pool
        self.taken_bytes = taken_bytes
        self.capacity = capacity
        self.data = <uint8_t*>PyMem_RawMalloc(capacity)
        if self.data == NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_RawFree(self.data)
        if self.pool is not None:
            self.pool.give_back(self.taken_bytes)

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.data, self.capacity, 1, flags)


# --- futures ---

@cython.freelist(512)
@cython.no_gc
cdef class RecordFuture:
    """What will become of one record. `result` waits in a thread; a program of asyncio awaits it."""
    cdef readonly GatheredBatch batch
    cdef readonly int index
    cdef readonly int64_t timestamp
    cdef readonly int key_size
    cdef readonly int value_size

    def done(self):
        cdef GatheredBatch batch = self.batch
        if batch.parts is None:
            return batch.is_done
        return record_future.home(batch, self.index)[0].is_done

    def result(self, timeout=None):
        """Where the record is; raises why it is nowhere, or TimeoutError after so many seconds."""
        error = record_future.wait(self, timeout)
        if error is not None:
            raise error
        return record_future.metadata(self)

    def get(self, timeout=None):
        return self.result(timeout)

    def exception(self, timeout=None):
        return record_future.wait(self, timeout)

    def add_done_callback(self, callback):
        """Called with this future in the client's thread, or at once if it is done."""
        record_future.subscribe(self, callback)

    def __await__(self):
        return record_future.awaited(self)

    def __repr__(self):
        return f"<RecordFuture {self.batch.queue.place}, {'done' if self.done() else 'pending'}>"


# --- batches ---

cdef class GatheredBatch:
    """Records of one partition, and later what became of them. Futures hold this; the bytes go when it is done."""
    cdef readonly PartitionQueue queue
    cdef readonly object partition
    cdef Buffer buffer
    cdef bint has_header
    cdef int64_t capacity
    cdef list callbacks
    cdef list waiters
    cdef readonly int record_count
    cdef readonly int64_t size_bytes
    cdef readonly int64_t base_timestamp
    cdef readonly int64_t max_timestamp
    cdef readonly bint is_done
    cdef readonly int64_t base_offset
    cdef readonly int64_t log_append_time_ms
    cdef readonly object error
    cdef readonly object parts
    cdef public object error_of
    cdef public int64_t created_ms
    # What the sender notes
    cdef public object producer
    cdef public int64_t base_sequence
    cdef public int attempts
    cdef public int64_t retry_at_ms
    cdef public bint may_be_stored
    cdef public object compressed
    cdef public int64_t ordinal
    cdef public object failure
    cdef public bint is_in_flight

    def __cinit__(self, PartitionQueue queue, int64_t capacity, int64_t taken_bytes):
        self.queue = queue
        self.partition = queue.place
        self.capacity = capacity
        self.size_bytes = HEADER_SIZE
        self.base_timestamp = self.max_timestamp = -1
        self.created_ms = -1
        self.base_offset = self.log_append_time_ms = -1
        self.base_sequence = -1
        self.buffer = Buffer.__new__(Buffer, queue.accumulator.pool, capacity, taken_bytes)

    def body(self):
        """The records. Whoever holds this view holds the memory."""
        if self.buffer is None:
            return memoryview(b"")
        return memoryview(self.buffer)[HEADER_SIZE : self.size_bytes]

    def encoded(self, int attributes):
        """The pieces that a request has of it, with the numbers that it has now."""
        cdef bytes header
        if self.buffer is None or self.compressed is not None or self.has_header:
            body = self.body() if self.compressed is None else self.compressed
            header = PyBytes_FromStringAndSize(NULL, HEADER_SIZE)
            self.put_header(<uint8_t*>PyBytes_AS_STRING(header), attributes, len(body))
            checksum = crc32c(body, crc32c(memoryview(header)[ATTRIBUTES_OFFSET:]))
            put_number(<uint8_t*>PyBytes_AS_STRING(header) + CRC_OFFSET, <int64_t>checksum, 4)
            return header, body
        self.has_header = True
        self.put_header(self.buffer.data, attributes, self.size_bytes - HEADER_SIZE)
        whole = memoryview(self.buffer)[: self.size_bytes]
        put_number(self.buffer.data + CRC_OFFSET, <int64_t>crc32c(whole[ATTRIBUTES_OFFSET:]), 4)
        return (whole,)

    cdef int put_header(self, uint8_t* at, int attributes, int64_t body_bytes) except -1:
        cdef int64_t producer_id = -1
        cdef int64_t epoch = -1
        if self.producer is not None:
            producer_id, epoch = self.producer
        at = put_number(at, 0, 8)
        at = put_number(at, HEADER_SIZE - LOG_OVERHEAD + body_bytes, 4)
        at = put_number(at, -1, 4)
        at = put_number(at, 2, 1)
        at = put_number(at, 0, 4)
        at = put_number(at, attributes, 2)
        at = put_number(at, self.record_count - 1, 4)
        at = put_number(at, self.base_timestamp, 8)
        at = put_number(at, self.max_timestamp, 8)
        at = put_number(at, producer_id, 8)
        at = put_number(at, epoch, 2)
        at = put_number(at, self.base_sequence, 4)
        put_number(at, self.record_count, 4)
        return 0

    def set_records(self, const uint8_t[::1] batch not None, int record_count, int64_t base_timestamp,
                    int64_t max_timestamp):
        """A whole batch that was built elsewhere, in the place of the memory that was taken for it."""
        if batch.shape[0] > self.buffer.capacity:
            raise ValueError("more than the memory that was taken for it")
        self.record_count = record_count
        self.base_timestamp = base_timestamp
        self.max_timestamp = max_timestamp
        self.size_bytes = batch.shape[0]
        if batch.shape[0]:
            memcpy(self.buffer.data, &batch[0], batch.shape[0])

    cdef bint put_record(self, int64_t timestamp, bytes key, bytes value, bytes headers) noexcept:
        cdef int64_t key_length = -1 if key is None else PyBytes_GET_SIZE(key)
        cdef int64_t value_length = -1 if value is None else PyBytes_GET_SIZE(value)
        cdef uint64_t delta = zigzag(difference(timestamp, self.base_timestamp)) if self.record_count else 0
        cdef int64_t length = 1 + size_of(delta) + size_of(zigzag(self.record_count)) + size_of_nullable(key_length) \
            + size_of_nullable(value_length) + PyBytes_GET_SIZE(headers)
        cdef int64_t size = length + size_of(zigzag(length))
        cdef uint8_t* at
        if self.size_bytes + size > self.capacity or self.buffer is None:
            return False
        at = put_varint(self.buffer.data + self.size_bytes, zigzag(length))
        at[0] = 0  # attributes, unused so far
        at = put_varint(at + 1, delta)
        at = put_varint(at, zigzag(self.record_count))
        at = put_nullable(at, NULL if key is None else <bytes_p>PyBytes_AS_STRING(key), key_length)
        at = put_nullable(at, NULL if value is None else <bytes_p>PyBytes_AS_STRING(value), value_length)
        memcpy(at, PyBytes_AS_STRING(headers), PyBytes_GET_SIZE(headers))
        if self.record_count == 0:
            self.base_timestamp = self.max_timestamp = timestamp
        elif timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        self.size_bytes += size
        self.record_count += 1
        return True

    def put(self, int64_t timestamp, bytes key, bytes value, bytes headers not None):
        """False, and nothing has changed, if it does not fit. The first record always does."""
        return self.put_record(timestamp, key, value, headers)

    @property
    def is_full(self):
        return self.size_bytes >= self.capacity

    def complete(self, int64_t base_offset, int64_t log_append_time_ms, error):
        """The outcome of all its records. Lets waiting threads go; the callbacks are for the caller to call."""
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.error = error
        self.is_done = True
        return self.let_go()

    def split_into(self, parts):
        """Its records are in these from now on: (number of the first one, batch)."""
        self.parts = parts
        for callback, future in self.let_go():
            record_future.subscribe(future, callback)

    cdef list let_go(self):
        callbacks, self.callbacks = self.callbacks, None
        waiters, self.waiters = self.waiters, None
        self.buffer = None
        self.compressed = None
        if waiters is not None:
            for waiter in waiters:
                waiter.end()
        return [] if callbacks is None else callbacks

    def add_callback(self, callback, future):
        """False if it is done, or was split."""
        if self.is_done or self.parts is not None:
            return False
        if self.callbacks is None:
            self.callbacks = []
        self.callbacks.append((callback, future))
        return True

    def add_waiter(self, waiter):
        if self.waiters is None:
            self.waiters = []
        self.waiters.append(waiter)


@cython.final
cdef class PartitionQueue:
    """The batches of one partition, in the order in which they go out; the last one may still take records."""
    cdef readonly Accumulator accumulator
    cdef readonly object place
    cdef readonly object batches
    cdef readonly GatheredBatch open
    cdef public bint is_touched
    cdef public int leader_id
    cdef public bint is_available
    cdef public bint is_ready
    cdef public bint is_lingering
    cdef public bint is_muted
    cdef public int64_t retry_at_ms

    def __cinit__(self, accumulator, topic, partition):
        self.accumulator = accumulator
        self.place = TopicPartition(topic, partition)
        self.batches = deque()
        self.leader_id = NO_PARTITION
        self.is_available = True

    def take(self):
        """The first batch, which takes no record any more; None if there is none."""
        if not self.batches:
            return None
        batch = self.batches.popleft()
        if batch is self.open:
            self.open = None
        return batch

    def has_full(self):
        """Several batches wait, or the first one has no room."""
        cdef Py_ssize_t count = len(self.batches)
        return count > 1 or (count == 1 and self.batches[0] is not self.open)

    def close_open(self):
        self.open = None


@cython.final
cdef class Topic:
    cdef readonly str name
    cdef readonly list queues
    cdef public int sticky
    cdef public int64_t produced_bytes

    def __cinit__(self, name):
        self.name = name
        self.queues = []
        self.sticky = NO_PARTITION


@cython.final
cdef class Accumulator:
    """`is_plain`: records may take the plain way; else all of them go to `slow_send`."""
    cdef readonly object pool
    cdef object take_memory
    cdef readonly object batch_class
    cdef readonly int64_t batch_bytes
    cdef readonly int64_t request_bytes_max
    cdef readonly bint ignores_keys
    cdef readonly bint adaptive
    cdef readonly dict topics
    cdef public bint is_plain
    cdef public bint is_closed
    cdef public object slow_send
    cdef public object wake
    cdef public object refuse_waiting
    cdef object clock
    cdef uint64_t state
    cdef list touched
    cdef bint is_noticed
    cdef object recent_name  # of the topic that was written to last: most programs write to it again
    cdef Topic recent

    def __init__(self, pool, batch_class, *, batch_bytes, request_bytes_max, seed, clock=None, ignores_keys=False,
                 adaptive=True):
        self.pool = pool
        self.take_memory = pool.take
        self.batch_class = batch_class
        self.batch_bytes = batch_bytes
        self.request_bytes_max = request_bytes_max
        self.ignores_keys = ignores_keys
        self.adaptive = adaptive
        self.topics = {}
        self.is_plain = False
        self.slow_send = self.wake = self.refuse_waiting = nobody
        self.clock = clock
        self.state = (seed & 0xFFFFFFFFFFFFFFFF) or 1
        self.touched = []
        self.is_noticed = False

    # --- sending ---

    def send(self, topic, value=None, key=None, *, headers=NOTHING, partition=None, timestamp_ms=None, callback=None):
        """The plain way: bytes for a topic that is known."""
        cdef PyObject* known
        cdef RecordFuture future
        cdef int64_t timestamp
        if (
            self.is_plain and partition is None and callback is None and (headers is NOTHING or headers == NOTHING)
            and PyUnicode_CheckExact(topic)
            and (value is None or PyBytes_CheckExact(value)) and (key is None or PyBytes_CheckExact(key))
        ):
            if topic is self.recent_name:
                known = <PyObject*>self.recent
            else:
                known = PyDict_GetItem(self.topics, topic)
            if known != NULL:
                if topic is not self.recent_name:
                    self.recent_name = topic
                    self.recent = <Topic>known
                if timestamp_ms is not None:
                    timestamp = timestamp_ms
                elif self.clock is None:
                    timestamp = wall_ms()
                else:
                    timestamp = self.clock()
                future = self.put(<Topic>known, self.placed(<Topic>known, key), timestamp, key, value, NO_HEADERS, 0, True)
                if self.touched and not self.is_noticed:
                    self.notice()
                if future is not None:
                    return future
        return self.slow_send(topic, value, key, headers, partition, timestamp_ms, callback)

    def append(self, Topic topic not None, int partition, int64_t timestamp, bytes key, bytes value,
               bytes headers not None, int64_t taken_bytes=0, callback=None, bint opens=True):
        """NO_PARTITION: the sticky one. `taken_bytes` is memory that was waited for, which belongs to the accumulator
        from now on. None: there is no memory for a batch, the record is too large, or a batch would have to be begun
        and `opens` is False.
        """
        cdef RecordFuture future = self.put(topic, partition, timestamp, key, value, headers, taken_bytes, opens)
        if future is not None and callback is not None:
            future.batch.add_callback(callback, future)
        if self.touched and not self.is_noticed:
            self.notice()
        return future

    cdef RecordFuture put(self, Topic topic, int partition, int64_t timestamp, bytes key, bytes value, bytes headers,
                          int64_t taken_bytes, bint opens):
        cdef RecordFuture future
        cdef int index = 0
        cdef GatheredBatch batch = self.stored(
            topic, partition, timestamp, key, value, headers, taken_bytes, opens, &index
        )
        if batch is None:
            return None
        future = RecordFuture.__new__(RecordFuture)
        future.batch = batch
        future.index = index
        future.timestamp = timestamp
        future.key_size = -1 if key is None else <int>PyBytes_GET_SIZE(key)
        future.value_size = -1 if value is None else <int>PyBytes_GET_SIZE(value)
        return future

    cdef GatheredBatch stored(self, Topic topic, int partition, int64_t timestamp, bytes key, bytes value,
                              bytes headers, int64_t taken_bytes, bint opens, int* index):
        """The batch that has the record now, and its number there; None if it has no place."""
        cdef PartitionQueue queue
        cdef GatheredBatch batch, fresh
        cdef int64_t key_length = -1 if key is None else PyBytes_GET_SIZE(key)
        cdef int64_t value_length = -1 if value is None else PyBytes_GET_SIZE(value)
        cdef int64_t length = 3 + size_of_nullable(key_length) + size_of_nullable(value_length) \
            + PyBytes_GET_SIZE(headers)
        cdef int64_t size = length + size_of(zigzag(length))
        cdef int64_t needed, capacity
        cdef Py_ssize_t waiting
        queue = None
        if size + HEADER_SIZE <= self.request_bytes_max and timestamp >= -1 and not self.is_closed:
            queue = self.queue_of(topic, partition, size)
        if queue is None:
            if taken_bytes:
                self.pool.give_back(taken_bytes)
            return None
        batch = queue.open
        if batch is None or not batch.put_record(timestamp, key, value, headers):
            fresh = None
            if opens:
                capacity = self.batch_bytes if self.batch_bytes > size + HEADER_SIZE else size + HEADER_SIZE
                needed = capacity
                if taken_bytes >= needed:
                    needed = taken_bytes
                    taken_bytes = 0
                elif not self.take_memory(needed):
                    needed = 0
                if needed:
                    fresh = self.batch_class(queue, capacity, needed)
            if fresh is None:
                if taken_bytes:
                    self.pool.give_back(taken_bytes)
                return None
            if self.is_closed:
                return None
            batch = queue.open  # another thread may have begun one meanwhile
            if batch is None or not batch.put_record(timestamp, key, value, headers):
                fresh.put_record(timestamp, key, value, headers)
                queue.batches.append(fresh)
                queue.open = batch = fresh
                self.touch(queue)
        if batch.size_bytes >= batch.capacity:
            queue.open = None
            self.touch(queue)
        index[0] = batch.record_count - 1
        if partition < 0:
            topic.produced_bytes += size
        if taken_bytes:
            self.pool.give_back(taken_bytes)
        return batch

    def add_batch(self, PartitionQueue queue not None, GatheredBatch batch not None):
        """A batch that is whole. False if the producer was closed."""
        if self.is_closed:
            return False
        queue.open = None
        queue.batches.append(batch)
        self.touch(queue)
        if not self.is_noticed:
            self.notice()
        return True

    def append_many(self, Topic topic not None, values, keys, Py_ssize_t first, int partition, int64_t timestamp,
                    list spans not None):
        """Appends from number `first` on, until there is no memory, or something is not bytes; where it stopped.
        `spans` gets (batch, number of the first record in it, how many of ours stand there side by side).
        """
        cdef Py_ssize_t at = first
        cdef Py_ssize_t count = len(values)
        cdef GatheredBatch batch = None
        cdef GatheredBatch now_in
        cdef int start = 0
        cdef int length = 0
        cdef int index = 0
        cdef object key = None
        cdef int place = partition
        while at < count:
            value = item_of(values, at)
            if keys is not None:
                key = item_of(keys, at)
            if not ((value is None or PyBytes_CheckExact(value)) and (key is None or PyBytes_CheckExact(key))):
                break
            if partition < 0:
                place = self.placed(topic, <bytes>key)
            now_in = self.stored(topic, place, timestamp, <bytes>key, <bytes>value, NO_HEADERS, 0, True, &index)
            if self.touched and not self.is_noticed:
                self.notice()
            if now_in is None:
                break
            at += 1
            if now_in is batch and index == start + length:
                length += 1
                continue
            if batch is not None:
                spans.append((batch, start, length))
            batch = now_in
            start = index
            length = 1
        if batch is not None:
            spans.append((batch, start, length))
        return at

    def now_ms(self):
        return wall_ms() if self.clock is None else self.clock()

    # --- placing ---

    def place(self, Topic topic not None, bytes key):
        return self.placed(topic, key)

    def places(self, Topic topic not None, keys):
        return [self.placed(topic, key) for key in keys]

    cdef int placed(self, Topic topic, bytes key) noexcept:
        cdef Py_ssize_t count = PyList_GET_SIZE(topic.queues)
        if key is None or self.ignores_keys or count == 0:
            return NO_PARTITION
        return <int>((murmur2(<bytes_p>PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key)) & 0x7FFFFFFF) % count)

    cdef PartitionQueue queue_of(self, Topic topic, int partition, int64_t size):
        cdef Py_ssize_t count = PyList_GET_SIZE(topic.queues)
        cdef PartitionQueue queue
        if partition >= 0:
            return <PartitionQueue>PyList_GET_ITEM(topic.queues, partition) if partition < count else None
        if count == 0:
            return None
        if topic.sticky < 0 or topic.sticky >= count:
            self.next_sticky(topic)
            return <PartitionQueue>PyList_GET_ITEM(topic.queues, topic.sticky)
        queue = <PartitionQueue>PyList_GET_ITEM(topic.queues, topic.sticky)
        if topic.produced_bytes + size >= self.batch_bytes - HEADER_SIZE and (
            queue.open is None or queue.open.size_bytes + size > self.batch_bytes
        ):
            self.next_sticky(topic)
            queue = <PartitionQueue>PyList_GET_ITEM(topic.queues, topic.sticky)
        return queue

    def next_sticky(self, Topic topic not None):
        """Another one, by chance; with fewer batches in its queue it is more likely."""
        cdef Py_ssize_t count = PyList_GET_SIZE(topic.queues)
        cdef Py_ssize_t i
        cdef int64_t longest = 0
        cdef int64_t total = 0
        cdef int64_t drawn, likely
        cdef PartitionQueue queue
        topic.produced_bytes = 0
        if self.adaptive:
            for i in range(count):
                queue = <PartitionQueue>PyList_GET_ITEM(topic.queues, i)
                longest = max(longest, <int64_t>len(queue.batches))
        for i in range(count):
            total += self.weight(<PartitionQueue>PyList_GET_ITEM(topic.queues, i), longest)
        if total == 0:
            topic.sticky = <int>self.random(count)
            return topic.sticky
        drawn = self.random(total)
        for i in range(count):
            likely = self.weight(<PartitionQueue>PyList_GET_ITEM(topic.queues, i), longest)
            if drawn < likely:
                break
            drawn -= likely
        topic.sticky = <int>i
        return topic.sticky

    cdef int64_t weight(self, PartitionQueue queue, int64_t longest):
        if queue.leader_id < 0:
            return 0
        if not self.adaptive:
            return 1
        return longest + 1 - <int64_t>len(queue.batches) if queue.is_available else 0

    cdef int64_t random(self, int64_t below) noexcept:
        """xorshift64*: the same numbers in both executors."""
        cdef uint64_t state = self.state
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        self.state = state
        return <int64_t>(((state * <uint64_t>0x2545F4914F6CDD1D) >> 33) % <uint64_t>below)

    # --- for the client's thread ---

    def set_topic(self, name, leaders):
        """The topic has so many partitions, with these leaders; -1: none is known."""
        cdef PartitionQueue queue
        topic = self.topics.get(name)
        if topic is None:
            topic = Topic(name)
        queues = (<Topic>topic).queues
        while len(queues) < len(leaders):
            queues.append(PartitionQueue(self, name, len(queues)))
        for queue, leader_id in zip(queues, leaders, strict=False):
            queue.leader_id = leader_id
        self.topics.setdefault(name, topic)
        return topic

    def forget_topic(self, name):
        self.topics.pop(name, None)
        self.recent_name = self.recent = None

    def take_touched(self):
        """The queues in which something has begun or become full since the last call."""
        cdef PartitionQueue queue
        self.is_noticed = False
        touched, self.touched = self.touched, []
        for queue in touched:
            queue.is_touched = False
        return touched

    def put_back(self, PartitionQueue queue not None, batch, at=0):
        """Among those that wait, at that place: it has to go again."""
        queue.batches.insert(at, batch)

    cdef int touch(self, PartitionQueue queue) except -1:
        if not queue.is_touched:
            queue.is_touched = True
            self.touched.append(queue)
        return 0

    cdef int notice(self) except -1:
        self.is_noticed = True
        try:
            self.wake()
        except BaseException:  # a signal's: the record is there, and its sender must hear of it all the same
            self.is_noticed = False
            self.wake()
            raise
        return 0


@cython.boundscheck(True)
cdef inline object item_of(column, Py_ssize_t at):
    """IndexError if another thread has made the column shorter."""
    return column[at]


def nobody(*_):
    """Until the producer has said whom to ask."""
