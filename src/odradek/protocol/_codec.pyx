# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The compiled executor of a plan: `decoder.py` and `encoder.py`, branch for branch, with the same words in every error.

A plan becomes an array of C structs on first use. Fields are read and written straight at the offset of their slot: an
object whose slot was never written holds NULL there, which reads as the default.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.float cimport PyFloat_FromDouble
from cpython.list cimport PyList_New
from cpython.long cimport PyLong_FromLong, PyLong_FromLongLong, PyLong_FromUnsignedLong
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport Py_EQ, PyObject, PyTypeObject, PyObject_RichCompareBool
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memmove

from odradek.protocol.encoder import check_unknown_tags
from odradek.protocol.errors import EncodeError, PeerProtocolError
from odradek.protocol.field import KIND_NAMES
from odradek.protocol import plan as plans
from odradek.protocol.words import counted, remaining

cdef extern from *:
    """
    #include <structmember.h>

    #ifndef ODRADEK_SOURCE_HASH
    #define ODRADEK_SOURCE_HASH "unknown"
    #endif

    static inline uint16_t load16(const unsigned char *p) { uint16_t v; memcpy(&v, p, 2); return __builtin_bswap16(v); }
    static inline uint32_t load32(const unsigned char *p) { uint32_t v; memcpy(&v, p, 4); return __builtin_bswap32(v); }
    static inline uint64_t load64(const unsigned char *p) { uint64_t v; memcpy(&v, p, 8); return __builtin_bswap64(v); }
    static inline void store16(unsigned char *p, uint16_t v) { v = __builtin_bswap16(v); memcpy(p, &v, 2); }
    static inline void store32(unsigned char *p, uint32_t v) { v = __builtin_bswap32(v); memcpy(p, &v, 4); }
    static inline void store64(unsigned char *p, uint64_t v) { v = __builtin_bswap64(v); memcpy(p, &v, 8); }

    /* The place of a slot inside its object, as the class's own member descriptor knows it. */
    static Py_ssize_t slot_offset(PyObject *descriptor) {
        if (!PyObject_TypeCheck(descriptor, &PyMemberDescr_Type)) return -1;
        return ((PyMemberDescrObject *)descriptor)->d_member->offset;
    }
    /* Whether it is a memoryview of single bytes, one behind the other: then it can be cut as it is. */
    static inline int is_octets(PyObject *o) {
        Py_buffer *view;
        if (!PyMemoryView_Check(o)) return 0;
        view = PyMemoryView_GET_BUFFER(o);
        return view->ndim == 1 && view->format != NULL && view->format[0] == 'B' && view->format[1] == 0;
    }
    static inline PyObject *slot_get(PyObject *o, Py_ssize_t offset) { return *(PyObject **)((char *)o + offset); }
    static inline void slot_put(PyObject *o, Py_ssize_t offset, PyObject *value) {
        PyObject **place = (PyObject **)((char *)o + offset);
        PyObject *old = *place;
        *place = value;
        Py_XDECREF(old);
    }
    """
    const char* ODRADEK_SOURCE_HASH
    ctypedef unsigned short uint16_t
    ctypedef unsigned int uint32_t
    ctypedef unsigned long long uint64_t
    uint16_t load16(const unsigned char*) nogil
    uint32_t load32(const unsigned char*) nogil
    uint64_t load64(const unsigned char*) nogil
    void store16(unsigned char*, uint16_t) nogil
    void store32(unsigned char*, uint32_t) nogil
    void store64(unsigned char*, uint64_t) nogil
    Py_ssize_t slot_offset(object)
    bint is_octets(object)
    PyObject* slot_get(PyObject*, Py_ssize_t)
    void slot_put(PyObject*, Py_ssize_t, PyObject*)

cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char*, Py_ssize_t, const char*)
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL
    bint PyUnicode_Check(object)
    bint PyLong_CheckExact(PyObject*)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    double PyFloat_AsDouble(object) except? -1.0
    int PyObject_IsTrue(object) except -1
    object PyNumber_Index(object)
    object PySequence_GetSlice(object, Py_ssize_t, Py_ssize_t)
    PyObject* PyType_GenericAlloc(PyTypeObject*, Py_ssize_t) except NULL
    PyTypeObject* Py_TYPE(PyObject*)
    void PyList_SET_ITEM(PyObject*, Py_ssize_t, PyObject*)

SOURCE_HASH = ODRADEK_SOURCE_HASH.decode()

# The kinds of field.py and plan.py, as constants that the C compiler can switch on; checked below.
cdef enum:
    BOOLEAN = 0
    INT8 = 1
    INT16 = 2
    UINT16 = 3
    INT32 = 4
    UINT32 = 5
    INT64 = 6
    FLOAT64 = 7
    UUID = 8
    STRING = 9
    BYTES = 10
    RECORDS = 11
    STRUCT = 12
    ARRAY = 13
    FIXED = 14

assert KIND_NAMES[UUID] == "uuid" and KIND_NAMES[ARRAY] == "array" and plans.FIXED == FIXED

cdef Py_ssize_t STRING_BYTES_MAX = plans.STRING_BYTES_MAX
cdef Py_ssize_t LENGTH_MAX = plans.LENGTH_MAX
cdef long long TAGS_COST_BYTES = plans.TAGS_COST_BYTES
cdef long long DECODED_BYTES_BASE = plans.DECODED_BYTES_BASE
cdef long long DECODED_BYTES_PER_BYTE = plans.DECODED_BYTES_PER_BYTE
cdef long long CHARACTER_BYTES_MAX = plans.CHARACTER_BYTES_MAX
cdef int[9] WIDTHS = [1, 1, 2, 2, 4, 4, 8, 8, 16]


cdef struct Member:
    int kind
    Py_ssize_t slot
    PyObject* name
    PyObject* default


cdef struct Op:
    int kind
    int tag                 # -1: not tagged
    bint compact
    bint nullable
    bint lazy_empty         # an empty array stays an unwritten slot
    Py_ssize_t slot
    Py_ssize_t width        # of a fixed group; of an array: the least size of one element
    long long cost          # of an array: what one element occupies once decoded
    PyObject* name
    PyObject* default
    PyObject* plan          # CompiledPlan of a struct, or of an array's elements
    Op* item                # the element of an array
    int member_count
    Member* members


@cython.no_gc_clear  # the collector would take `blocks` away before `__dealloc__` has freed what they name
cdef class CompiledPlan:
    """The C form of one plan. `kept` holds a reference to everything that the C structs point at."""

    cdef object cls
    cdef str name
    cdef int version
    cdef bint flexible
    cdef long long decoded_bytes_max
    cdef Op* ops
    cdef int op_count
    cdef Op* tagged
    cdef int tagged_count
    cdef Py_ssize_t unknown_slot
    cdef Py_ssize_t* slots  # of every field of the class, in this version or not
    cdef int slot_count
    cdef list refused       # (slot, default, name)
    cdef list kept
    cdef list blocks        # addresses to free

    def __cinit__(self):
        self.kept = []
        self.blocks = []
        self.refused = []

    def __dealloc__(self):
        for address in self.blocks:
            PyMem_Free(<void*><size_t>address)

    cdef void* block(self, size_t count, size_t size) except NULL:
        cdef void* memory = PyMem_Calloc(count if count else 1, size)
        if memory == NULL:
            raise MemoryError
        self.blocks.append(<size_t>memory)
        return memory

    cdef PyObject* keep(self, object value):
        self.kept.append(value)
        return <PyObject*>value

    cdef Py_ssize_t slot(self, str name) except -1:
        cdef Py_ssize_t offset = slot_offset(getattr(self.cls, name))
        if offset <= 0:
            raise TypeError(f"{self.name}.{name} is not a slot")
        return offset

    cdef int fill(self, object plan) except -1:
        self.cls = plan.cls
        self.name = plan.name
        self.version = plan.version
        self.flexible = plan.flexible
        self.decoded_bytes_max = plan.decoded_bytes_max
        self.unknown_slot = self.slot("unknown_tags")
        self.slot_count = len(plan.cls.fields)
        self.slots = <Py_ssize_t*>self.block(self.slot_count, sizeof(Py_ssize_t))
        for index, field in enumerate(plan.cls.fields):
            self.slots[index] = self.slot(field.name)
        self.refused = [(self.slot(field.name), field.fresh_default(), field.name) for _, field in plan.refused]
        self.op_count = len(plan.steps)
        self.ops = <Op*>self.block(self.op_count, sizeof(Op))
        self.tagged_count = len(plan.tagged)
        self.tagged = <Op*>self.block(self.tagged_count, sizeof(Op))
        for index, step in enumerate(plan.steps):
            self.fill_op(&self.ops[index], step, True)
        for index, step in enumerate(plan.tagged):
            self.fill_op(&self.tagged[index], step, True)
        return 0

    cdef int fill_op(self, Op* op, object step, bint has_slot) except -1:
        op.kind = step.kind
        op.tag = -1 if step.tag is None else step.tag
        op.compact = step.compact
        op.nullable = step.nullable
        op.width = step.size_min
        op.name = self.keep(step.name)
        if has_slot:
            op.slot = self.slot(step.name)
        if op.kind == FIXED:
            self.fill_members(op, step, has_slot)
            return 0
        op.default = self.keep(step.default)
        if step.plan is not None:
            op.plan = self.keep(compiled(step.plan))
        if op.kind == ARRAY:
            op.lazy_empty = step.default is not None and step.tag is None
            op.cost = step.item_cost
            op.width = step.item.size_min
            op.item = <Op*>self.block(1, sizeof(Op))
            self.fill_op(op.item, step.item, False)
        return 0

    cdef int fill_members(self, Op* op, object step, bint has_slot) except -1:
        op.member_count = len(step.names)
        op.members = <Member*>self.block(op.member_count, sizeof(Member))
        for index in range(op.member_count):
            op.members[index].kind = step.kinds[index]
            op.members[index].name = self.keep(step.names[index])
            op.members[index].default = self.keep(step.default[index])
            if has_slot:
                op.members[index].slot = self.slot(step.names[index])
        return 0


cdef CompiledPlan compiled(object plan):
    cdef CompiledPlan made
    existing = plan.compiled
    if existing is not None:
        return <CompiledPlan>existing
    made = CompiledPlan()
    made.fill(plan)
    plan.compiled = made
    return made


# Decoding

cdef enum:
    REQUEST_HEAD_BYTES = 10  # API key, version, correlation id, size of the client id


cdef struct Reader:
    const unsigned char* data
    Py_ssize_t position
    Py_ssize_t end
    long long budget
    PyObject* source
    PyObject* view          # of the source, once records have been met; owned


cpdef tuple decode(plan, data, Py_ssize_t at=0):
    """The message at byte `at` of `data`, and the position behind it."""
    cdef Reader reader
    cdef Py_buffer buffer
    cdef CompiledPlan program
    if at < 0:
        raise ValueError(f"no message begins at byte {at}")
    existing = plan.compiled
    program = compiled(plan) if existing is None else <CompiledPlan>existing
    PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
    reader.view = NULL
    try:
        reader.data = <const unsigned char*>buffer.buf
        reader.position = at
        reader.end = buffer.len
        reader.budget = DECODED_BYTES_BASE + DECODED_BYTES_PER_BYTE * max(0, buffer.len - at)
        reader.budget = min(reader.budget, program.decoded_bytes_max)
        reader.source = <PyObject*>data
        message = read_struct(&reader, program)
        return message, reader.position
    finally:
        Py_XDECREF(reader.view)
        PyBuffer_Release(&buffer)


def decode_request(plan, header_plan, frame):
    """The request behind the first ten bytes of its frame, the client id before it, and where its body begins."""
    cdef Py_buffer buffer
    cdef const unsigned char* data
    cdef Py_ssize_t size
    cdef Py_ssize_t at = REQUEST_HEAD_BYTES
    cdef object client_id = None
    PyObject_GetBuffer(frame, &buffer, PyBUF_SIMPLE)
    try:
        if buffer.len < at:
            raise PeerProtocolError(f"a request header needs at least {at} bytes", buffer.len)
        data = <const unsigned char*>buffer.buf
        size = <short>load16(data + 8)
        if size >= 0:
            if size > buffer.len - at:
                raise PeerProtocolError(f"the client id claims {size} bytes, {buffer.len - at} remain", 8)
            try:
                client_id = PyUnicode_DecodeUTF8(<const char*>data + at, size, NULL)
            except UnicodeDecodeError:
                raise PeerProtocolError("the client id is not UTF-8", at) from None
            at += size
        if header_plan is not None:
            if at < buffer.len and data[at] == 0:
                at += 1
            else:
                _, at = decode(header_plan, frame, 0)
    finally:
        PyBuffer_Release(&buffer)
    message = decode(plan, frame, at)[0]
    put_empty_arrays(<CompiledPlan>plan.compiled, <PyObject*>message)
    return message, client_id, at


cdef int put_empty_arrays(CompiledPlan plan, PyObject* message) except -1:
    """Of a request nearly every array is looked at, and an unwritten slot that is read costs more than a list."""
    cdef int index
    cdef Op* op
    for index in range(plan.op_count):
        op = &plan.ops[index]
        if op.kind == ARRAY and op.lazy_empty and slot_get(message, op.slot) == NULL:
            empty = []
            Py_INCREF(empty)
            slot_put(message, op.slot, <PyObject*>empty)
    return 0


cdef object read_struct(Reader* reader, CompiledPlan plan):
    cdef PyObject* raw = PyType_GenericAlloc(<PyTypeObject*>plan.cls, 0)
    cdef object message = <object>raw
    cdef Op* op
    cdef int index
    Py_DECREF(message)  # the cast took a reference of its own
    for index in range(plan.op_count):
        op = &plan.ops[index]
        if op.kind == FIXED:
            read_fixed(reader, op, raw)
        else:
            read_field(reader, op, raw)
    if plan.flexible:
        read_tags(reader, plan, raw)
    return message


cdef int read_fixed(Reader* reader, Op* op, PyObject* message) except -1:
    cdef const unsigned char* place
    cdef Member* member
    cdef int index
    if reader.end - reader.position < op.width:
        raise truncated(reader, op, op.width)
    place = reader.data + reader.position
    reader.position += op.width
    for index in range(op.member_count):
        member = &op.members[index]
        slot_put(message, member.slot, read_value(member.kind, place))
        place += WIDTHS[member.kind]
    return 0


cdef PyObject* read_value(int kind, const unsigned char* place) except NULL:
    """A new reference."""
    cdef object value
    cdef uint64_t bits
    cdef double number
    if kind == INT32:
        value = PyLong_FromLong(<int>load32(place))
    elif kind == INT64:
        value = PyLong_FromLongLong(<long long>load64(place))
    elif kind == INT16:
        value = PyLong_FromLong(<short>load16(place))
    elif kind == INT8:
        value = PyLong_FromLong(<signed char>place[0])
    elif kind == BOOLEAN:
        value = place[0] != 0
    elif kind == UUID:
        value = PyBytes_FromStringAndSize(<const char*>place, 16)
    elif kind == UINT16:
        value = PyLong_FromLong(load16(place))
    elif kind == UINT32:
        value = PyLong_FromUnsignedLong(load32(place))
    else:
        bits = load64(place)
        memcpy(&number, &bits, 8)
        value = PyFloat_FromDouble(number)
    Py_INCREF(value)
    return <PyObject*>value


cdef int read_field(Reader* reader, Op* op, PyObject* message) except -1:
    cdef object value
    cdef Py_ssize_t length, start
    if op.kind == STRING:
        value = read_string(reader, op)
    elif op.kind == ARRAY:
        length = read_length(reader, op, 4)
        if length == 0 and op.lazy_empty:
            return 0
        value = None if length < 0 else read_array(reader, op, length)
    elif op.kind == STRUCT:
        value = read_nested(reader, op)
    else:
        length = read_length(reader, op, 4)
        if length < 0:
            value = None
        elif op.kind == BYTES:
            start = take(reader, op, length)
            value = PyBytes_FromStringAndSize(<const char*>reader.data + start, length)
        else:
            start = take(reader, op, length)
            value = PySequence_GetSlice(view_of(reader), start, start + length)
    Py_INCREF(value)
    slot_put(message, op.slot, <PyObject*>value)
    return 0


cdef object view_of(Reader* reader):
    if reader.view == NULL:
        view = <object>reader.source
        if not is_octets(view):
            view = memoryview(view)
            if not is_octets(view):
                view = view.cast("B")
        Py_INCREF(view)
        reader.view = <PyObject*>view
    return <object>reader.view


cdef object read_string(Reader* reader, Op* op):
    cdef Py_ssize_t length = read_length(reader, op, 2)
    cdef Py_ssize_t start
    if length < 0:
        return None
    if length > STRING_BYTES_MAX:
        raise error(
            reader, f"{<object>op.name} is a string of {length} bytes, at most {STRING_BYTES_MAX} are allowed"
        )
    start = take(reader, op, length)
    reader.budget -= length * CHARACTER_BYTES_MAX
    if reader.budget < 0:
        reader.position = start
        raise too_dear(reader, op)
    return PyUnicode_DecodeUTF8(<const char*>reader.data + start, length, "replace")


cdef object read_nested(Reader* reader, Op* op):
    cdef unsigned char marker
    if op.nullable:
        # A present struct has a 1 before it. Kafka writes null as -1, but as 0 where the struct is a tagged field.
        marker = reader.data[take(reader, op, 1)]
        if marker > 127 or (op.tag >= 0 and marker == 0):
            return None
    return read_struct(reader, <CompiledPlan>op.plan)


cdef object read_array(Reader* reader, Op* op, Py_ssize_t count):
    cdef Py_ssize_t remains = reader.end - reader.position
    cdef Py_ssize_t index
    cdef Op* item = op.item
    cdef list values
    cdef object value
    if count > remains // op.width:
        raise error(reader, f"{<object>op.name} claims {counted(count, 'element')}, {remaining(remains)}")
    reader.budget -= count * op.cost
    if reader.budget < 0:
        raise too_dear(reader, op)
    values = PyList_New(count)
    for index in range(count):
        if item.plan != NULL:
            value = read_struct(reader, <CompiledPlan>item.plan)
        elif item.kind == FIXED:
            PyList_SET_ITEM(
                <PyObject*>values, index, read_value(item.members[0].kind, reader.data + reader.position)
            )
            reader.position += item.width
            continue
        else:
            value = read_string(reader, item)
        Py_INCREF(value)
        PyList_SET_ITEM(<PyObject*>values, index, <PyObject*>value)
    return values


cdef int read_tags(Reader* reader, CompiledPlan plan, PyObject* message) except -1:
    cdef Py_ssize_t count, remains, tag, size
    # One byte of zero is by far the usual case.
    if reader.position < reader.end and reader.data[reader.position] == 0:
        reader.position += 1
        return 0
    count = read_varint(reader, plan.name)
    if count == 0:
        return 0
    remains = reader.end - reader.position
    if count > remains // 2:
        raise error(reader, f"{plan.name} claims {counted(count, 'tagged field')}, {remaining(remains)}")
    reader.budget -= count * TAGS_COST_BYTES
    if reader.budget < 0:
        raise error(reader, f"{plan.name} claims {count} tagged fields, more than an honest message holds")
    unknown = []
    for _ in range(count):
        tag = read_varint(reader, plan.name)
        size = read_varint(reader, plan.name)
        remains = reader.end - reader.position
        if size > remains:
            raise lacking(reader, f"tag {tag} of {plan.name}", size)
        if not read_known_tag(reader, plan, message, tag, size):
            unknown.append((tag, PyBytes_FromStringAndSize(<const char*>reader.data + reader.position, size)))
            reader.position += size
    if unknown:
        (<object>message).unknown_tags = tuple(sorted(unknown))
    return 0


cdef bint read_known_tag(
    Reader* reader, CompiledPlan plan, PyObject* message, Py_ssize_t tag, Py_ssize_t size
) except -1:
    cdef int index
    cdef Op* op
    cdef Py_ssize_t outer
    for index in range(plan.tagged_count):
        op = &plan.tagged[index]
        if op.tag == tag:
            break
    else:
        return False
    outer = reader.end
    reader.end = reader.position + size
    if op.kind == FIXED:
        read_fixed(reader, op, message)
    else:
        read_field(reader, op, message)
    if reader.position != reader.end:
        early = counted(reader.end - reader.position, "byte")
        raise error(reader, f"{<object>op.name} ends {early} before its tag does")
    reader.end = outer
    return True


cdef Py_ssize_t read_length(Reader* reader, Op* op, int width) except -2:
    """A length or count, -1 for null where null is allowed."""
    cdef Py_ssize_t length
    if op.compact:
        length = <Py_ssize_t>read_varint(reader, <str>op.name) - 1
    else:
        if reader.end - reader.position < width:
            raise truncated(reader, op, width)
        if width == 2:
            length = <short>load16(reader.data + reader.position)
        else:
            length = <int>load32(reader.data + reader.position)
        reader.position += width
    if length < 0:
        if not op.nullable:
            raise error(reader, f"{<object>op.name} is null, which this version does not allow")
        return -1
    return length


cdef Py_ssize_t read_varint(Reader* reader, str name) except -1:
    cdef uint64_t value = 0
    cdef int shift = 0
    cdef Py_ssize_t position = reader.position
    cdef unsigned char byte
    while True:
        if position >= reader.end:
            raise error(reader, f"a varint of {name} is cut off")
        byte = reader.data[position]
        position += 1
        value |= (<uint64_t>(byte & 0x7F)) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 28:
            raise error(reader, f"a varint of {name} is longer than five bytes")
    if value > 0xFFFFFFFFULL:
        raise error(reader, f"a varint of {name} does not fit 32 bits")
    reader.position = position
    return <Py_ssize_t>value


cdef Py_ssize_t take(Reader* reader, Op* op, Py_ssize_t size) except -1:
    """Steps over `size` bytes that are there, and returns where they start."""
    cdef Py_ssize_t start = reader.position
    if size > reader.end - start:
        raise lacking(reader, <str>op.name, size)
    reader.position = start + size
    return start


cdef object lacking(Reader* reader, str what, Py_ssize_t size):
    return error(reader, f"{what} claims {counted(size, 'byte')}, {remaining(reader.end - reader.position)}")


cdef object truncated(Reader* reader, Op* op, Py_ssize_t size):
    remains = remaining(max(0, reader.end - reader.position))
    return error(reader, f"{<object>op.name} needs {counted(size, 'byte')}, {remains}")


cdef object too_dear(Reader* reader, Op* op):
    return error(reader, f"{<object>op.name} would occupy more memory than an honest message of this size")


cdef object error(Reader* reader, str reason):
    return PeerProtocolError(reason, reader.position)


# Encoding

cdef enum:
    INLINE_BYTES = 1024


cdef struct Writer:
    unsigned char* data
    Py_ssize_t size
    Py_ssize_t capacity
    Py_ssize_t parted_bytes  # of the parts that are finished
    unsigned char[INLINE_BYTES] first


def encode(plan, message):
    """The parts to send in order: bytes, and between them the records as they were handed in."""
    cdef Writer writer
    cdef list parts
    begin(&writer)
    try:
        parts = write_parts(&writer, plan, message)
        if writer.size or not parts:
            parts.append(PyBytes_FromStringAndSize(<char*>writer.data, writer.size))
        return parts
    finally:
        end(&writer)


def encode_response(plan, message, int correlation_id, bint has_tags):
    """The same with the length of all of it and the response header before it."""
    cdef Writer writer
    cdef list parts
    cdef unsigned char* head
    begin(&writer)
    try:
        head = reserve(&writer, 9 if has_tags else 8)
        store32(head + 4, <uint32_t>correlation_id)
        if has_tags:
            head[8] = 0
        parts = write_parts(&writer, plan, message)
        head = <unsigned char*>PyBytes_AS_STRING(parts[0]) if parts else writer.data
        if writer.parted_bytes + writer.size - 4 > LENGTH_MAX:
            raise EncodeError(f"a response of {writer.parted_bytes + writer.size} bytes fits no frame")
        store32(head, <uint32_t>(writer.parted_bytes + writer.size - 4))
        if writer.size:
            parts.append(PyBytes_FromStringAndSize(<char*>writer.data, writer.size))
        return parts
    finally:
        end(&writer)


cdef void begin(Writer* writer):
    writer.data = writer.first
    writer.size = 0
    writer.parted_bytes = 0
    writer.capacity = INLINE_BYTES


cdef void end(Writer* writer):
    if writer.data != writer.first:
        free(writer.data)


cdef list write_parts(Writer* writer, object plan, object message):
    """All but what the writer still holds."""
    cdef list parts = []
    existing = plan.compiled
    write_struct(writer, compiled(plan) if existing is None else <CompiledPlan>existing, <PyObject*>message, parts)
    return parts


cdef unsigned char* reserve(Writer* writer, Py_ssize_t size) except NULL:
    """Room for `size` more bytes; they count as written."""
    cdef Py_ssize_t wanted = writer.size + size
    cdef Py_ssize_t capacity
    cdef unsigned char* grown
    if wanted > writer.capacity:
        capacity = max(wanted, 2 * writer.capacity)
        if writer.data == writer.first:
            grown = <unsigned char*>malloc(capacity)
            if grown != NULL:
                memcpy(grown, writer.data, writer.size)
        else:
            grown = <unsigned char*>realloc(writer.data, capacity)
        if grown == NULL:
            raise MemoryError
        writer.data = grown
        writer.capacity = capacity
    writer.size = wanted
    return writer.data + wanted - size


cdef int write_struct(Writer* writer, CompiledPlan plan, PyObject* message, list parts) except -1:
    cdef Op* op
    cdef int index
    cdef PyObject* value
    if Py_TYPE(message) != <PyTypeObject*>plan.cls:
        raise EncodeError(f"{type(<object>message).__name__} where {plan.name} is expected")
    if plan.refused:
        check_refused(plan, message)
    for index in range(plan.op_count):
        op = &plan.ops[index]
        if op.kind == FIXED:
            write_fixed(writer, plan, op, message)
        else:
            value = slot_get(message, op.slot)
            write_field(writer, plan, op, <object>(op.default if value == NULL else value), parts)
    if plan.flexible:
        write_tags(writer, plan, message)
    return 0


cdef int check_refused(CompiledPlan plan, PyObject* message) except -1:
    cdef PyObject* value
    for slot, default, name in plan.refused:
        value = slot_get(message, slot)
        if value != NULL and not PyObject_RichCompareBool(<object>value, default, Py_EQ):
            raise EncodeError(f"{plan.name}.{name} is set, but version {plan.version} does not carry it")
    return 0


cdef int write_fixed(Writer* writer, CompiledPlan plan, Op* op, PyObject* message) except -1:
    cdef unsigned char* place = reserve(writer, op.width)
    cdef Member* member
    cdef PyObject* value
    cdef int index
    for index in range(op.member_count):
        member = &op.members[index]
        if member.kind == UUID:
            value = slot_get(message, member.slot)
            check_uuid(plan, member, <object>(member.default if value == NULL else value))
    for index in range(op.member_count):
        member = &op.members[index]
        value = slot_get(message, member.slot)
        write_value(plan, member, place, <object>(member.default if value == NULL else value))
        place += WIDTHS[member.kind]
    return 0


cdef int check_uuid(CompiledPlan plan, Member* member, object value) except -1:
    if not isinstance(value, bytes) or len(value) != 16:
        raise EncodeError(
            f"{plan.name}.{<object>member.name} is {value!r} where the 16 bytes of an id are expected"
        )
    return 0


cdef int write_value(CompiledPlan plan, Member* member, unsigned char* place, object value) except -1:
    cdef int kind = member.kind
    cdef long long number
    cdef double real
    cdef uint64_t bits
    if kind == UUID:
        memcpy(place, PyBytes_AS_STRING(value), 16)
    elif kind == BOOLEAN:
        place[0] = PyObject_IsTrue(value)
    elif kind == FLOAT64:
        try:
            real = PyFloat_AsDouble(value)
        except (TypeError, OverflowError):
            raise misfit(plan, member, value) from None
        memcpy(&bits, &real, 8)
        store64(place, bits)
    else:
        number = integer(plan, member, value)
        if kind == INT32:
            if number != <int>number:
                raise misfit(plan, member, value)
            store32(place, <uint32_t>number)
        elif kind == INT64:
            store64(place, <uint64_t>number)
        elif kind == INT16:
            if number != <short>number:
                raise misfit(plan, member, value)
            store16(place, <uint16_t>number)
        elif kind == INT8:
            if number != <signed char>number:
                raise misfit(plan, member, value)
            place[0] = <unsigned char>number
        elif kind == UINT16:
            if number < 0 or number > 0xFFFF:
                raise misfit(plan, member, value)
            store16(place, <uint16_t>number)
        else:
            if number < 0 or number > 0xFFFFFFFFLL:
                raise misfit(plan, member, value)
            store32(place, <uint32_t>number)
    return 0


cdef long long integer(CompiledPlan plan, Member* member, object value) except? -1:
    cdef int overflow = 0
    cdef long long number
    cdef object exact = value
    if not PyLong_CheckExact(<PyObject*>value):
        try:
            exact = PyNumber_Index(value)
        except TypeError:
            raise misfit(plan, member, value) from None
    number = PyLong_AsLongLongAndOverflow(exact, &overflow)
    if overflow:
        raise misfit(plan, member, value)
    return number


cdef object misfit(CompiledPlan plan, Member* member, object value):
    return EncodeError(
        f"{plan.name}.{<object>member.name} is {value!r}, which does not fit {KIND_NAMES[member.kind]}"
    )


cdef int write_field(Writer* writer, CompiledPlan plan, Op* op, object value, list parts) except -1:
    if op.kind == STRING:
        write_string(writer, plan, op, value)
    elif op.kind == ARRAY:
        write_array(writer, plan, op, value, parts)
    elif op.kind == STRUCT:
        write_nested(writer, plan, op, value, parts)
    elif op.kind == BYTES:
        write_bytes(writer, plan, op, value)
    else:
        write_records(writer, plan, op, value, parts)
    return 0


cdef int write_string(Writer* writer, CompiledPlan plan, Op* op, object value) except -1:
    cdef Py_ssize_t size
    cdef const char* encoded
    if value is None:
        return write_null(writer, plan, op, 2)
    if not PyUnicode_Check(value):
        raise EncodeError(f"{plan.name}.{<object>op.name} is {kind_of(value)} where a str is expected")
    try:
        encoded = PyUnicode_AsUTF8AndSize(value, &size)
    except UnicodeEncodeError:
        raise EncodeError(
            f"{plan.name}.{<object>op.name} holds a lone surrogate, which UTF-8 cannot carry"
        ) from None
    if size > STRING_BYTES_MAX:
        raise EncodeError(f"{plan.name}.{<object>op.name} has {size} bytes, at most {STRING_BYTES_MAX} fit")
    write_length(writer, plan, op, size, 2)
    memcpy(reserve(writer, size), encoded, size)
    return 0


cdef int write_bytes(Writer* writer, CompiledPlan plan, Op* op, object value) except -1:
    cdef Py_buffer buffer
    if value is None:
        return write_null(writer, plan, op, 4)
    if PyBytes_CheckExact(value):
        write_length(writer, plan, op, PyBytes_GET_SIZE(value), 4)
        memcpy(reserve(writer, PyBytes_GET_SIZE(value)), PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
        return 0
    get_buffer(plan, op, value, &buffer)
    try:
        write_length(writer, plan, op, buffer.len, 4)
        memcpy(reserve(writer, buffer.len), buffer.buf, buffer.len)
    finally:
        PyBuffer_Release(&buffer)
    return 0


cdef int get_buffer(CompiledPlan plan, Op* op, object value, Py_buffer* buffer) except -1:
    try:
        PyObject_GetBuffer(value, buffer, PyBUF_SIMPLE)
    except TypeError:
        raise EncodeError(f"{plan.name}.{<object>op.name} is {kind_of(value)} where bytes are expected") from None
    except BufferError:
        raise EncodeError(f"{plan.name}.{<object>op.name} is a view with gaps where bytes are expected") from None
    return 0


cdef int write_records(Writer* writer, CompiledPlan plan, Op* op, object value, list parts) except -1:
    cdef Py_buffer buffer
    cdef Py_ssize_t size
    if value is None:
        return write_null(writer, plan, op, 4)
    claimed = getattr(value, "size", None)
    if claimed is None:
        get_buffer(plan, op, value, &buffer)
        size = buffer.len
        PyBuffer_Release(&buffer)
    elif not isinstance(claimed, int):
        raise EncodeError(
            f"{plan.name}.{<object>op.name} has the size {claimed!r} where a number of bytes is expected"
        )
    elif claimed < 0 or claimed > LENGTH_MAX:
        raise length_error(plan, op, claimed)
    else:
        size = claimed
    write_length(writer, plan, op, size, 4)
    if size:
        parts.append(PyBytes_FromStringAndSize(<char*>writer.data, writer.size))
        parts.append(value)
        writer.parted_bytes += writer.size + size
        writer.size = 0
    return 0


cdef int write_nested(Writer* writer, CompiledPlan plan, Op* op, object value, list parts) except -1:
    if op.nullable:
        if value is None:
            reserve(writer, 1)[0] = 0 if op.tag >= 0 else 0xFF
            return 0
        reserve(writer, 1)[0] = 1
    elif value is None:
        raise null_error(plan, op)
    write_struct(writer, <CompiledPlan>op.plan, <PyObject*>value, parts)
    return 0


cdef int write_array(Writer* writer, CompiledPlan plan, Op* op, object value, list parts) except -1:
    cdef Op* item = op.item
    cdef unsigned char* place
    if value is None:
        return write_null(writer, plan, op, 4)
    if not isinstance(value, (list, tuple)):
        raise EncodeError(f"{plan.name}.{<object>op.name} is {kind_of(value)} where a list is expected")
    write_length(writer, plan, op, len(value), 4)
    if item.plan != NULL:
        for element in value:
            write_struct(writer, <CompiledPlan>item.plan, <PyObject*>element, parts)
    elif item.kind == FIXED:
        for element in value:
            if item.members[0].kind == UUID:
                check_uuid(plan, &item.members[0], element)
            place = reserve(writer, item.width)
            write_value(plan, &item.members[0], place, element)
    else:
        for element in value:
            write_string(writer, plan, item, element)
    return 0


cdef int write_tags(Writer* writer, CompiledPlan plan, PyObject* message) except -1:
    cdef PyObject* unknown = slot_get(message, plan.unknown_slot)
    cdef PyObject* value
    cdef Op* op
    cdef int index
    if plan.tagged_count == 0 and unknown == NULL:
        reserve(writer, 1)[0] = 0
        return 0
    present = []
    for index in range(plan.tagged_count):
        op = &plan.tagged[index]
        value = slot_get(message, op.slot)
        if value != NULL and not is_default(op, value):
            present.append((op.tag, index, <object>value))
    if unknown != NULL and <object>unknown:
        check_unknown_tags(plan.name, <object>unknown)
        present += [(tag, -1, data) for tag, data in <object>unknown]
        present.sort(key=first)
        check_tags(plan, present)
    write_varint(writer, len(present))
    for tag, known, content in present:
        write_varint(writer, tag)
        if known < 0:
            write_varint(writer, len(content))
            memcpy(reserve(writer, len(content)), <const char*>content, len(content))
        else:
            write_tag_value(writer, plan, &plan.tagged[known], message, content)
    return 0


cdef bint is_default(Op* op, PyObject* value) except -1:
    cdef PyObject* default = op.members[0].default if op.kind == FIXED else op.default
    if op.kind == STRUCT and value != <PyObject*>None and default != <PyObject*>None:
        if is_untouched(<CompiledPlan>op.plan, value):
            return True
    return PyObject_RichCompareBool(<object>value, <object>default, Py_EQ)


cdef bint is_untouched(CompiledPlan plan, PyObject* message):
    """A struct that was looked at but never written: the usual case, and no reason to compare field by field."""
    cdef int index
    if Py_TYPE(message) != <PyTypeObject*>plan.cls or slot_get(message, plan.unknown_slot) != NULL:
        return False
    for index in range(plan.slot_count):
        if slot_get(message, plan.slots[index]) != NULL:
            return False
    return True


def first(row):
    return row[0]


cdef int check_tags(CompiledPlan plan, list present) except -1:
    for index in range(len(present) - 1):
        if present[index][0] == present[index + 1][0]:
            raise EncodeError(f"{plan.name} has the tag {present[index][0]} twice")
    return 0


cdef int write_tag_value(Writer* writer, CompiledPlan plan, Op* op, PyObject* message, object value) except -1:
    """The size stands before the content: one byte is kept for it, and the content moves up if it takes more."""
    cdef Py_ssize_t start = writer.size
    cdef Py_ssize_t size
    cdef int width
    reserve(writer, 1)
    if op.kind == FIXED:
        write_fixed(writer, plan, op, message)
    else:
        write_field(writer, plan, op, value, None)
    size = writer.size - start - 1
    width = varint_width(size)
    if width > 1:
        reserve(writer, width - 1)
        memmove(writer.data + start + width, writer.data + start + 1, size)
    writer.size = start
    write_varint(writer, size)
    writer.size = start + width + size
    return 0


cdef int varint_width(Py_ssize_t value):
    cdef int width = 1
    while value > 0x7F:
        value >>= 7
        width += 1
    return width


cdef int write_null(Writer* writer, CompiledPlan plan, Op* op, int width) except -1:
    if not op.nullable:
        raise null_error(plan, op)
    if op.compact:
        reserve(writer, 1)[0] = 0
    elif width == 2:
        store16(reserve(writer, 2), 0xFFFF)
    else:
        store32(reserve(writer, 4), 0xFFFFFFFF)
    return 0


cdef object null_error(CompiledPlan plan, Op* op):
    return EncodeError(f"{plan.name}.{<object>op.name} is null, which version {plan.version} does not allow")


cdef int write_length(Writer* writer, CompiledPlan plan, Op* op, Py_ssize_t length, int width) except -1:
    if length < 0 or length > LENGTH_MAX:
        raise length_error(plan, op, length)
    if op.compact:
        write_varint(writer, length + 1)
    elif width == 2:
        store16(reserve(writer, 2), <uint16_t>length)
    else:
        store32(reserve(writer, 4), <uint32_t>length)
    return 0


cdef object length_error(CompiledPlan plan, Op* op, object length):
    return EncodeError(f"{plan.name}.{<object>op.name} has the size {length}, at most {LENGTH_MAX} fits")


cdef int write_varint(Writer* writer, Py_ssize_t value) except -1:
    while value > 0x7F:
        reserve(writer, 1)[0] = (value & 0x7F) | 0x80
        value >>= 7
    reserve(writer, 1)[0] = value
    return 0


cdef str kind_of(object value):
    return "null" if value is None else f"of type {type(value).__name__}"
