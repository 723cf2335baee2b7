# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Answers to Fetch in the memory into which the gateway received the only broker's answer with records.

    received   header │ topics │ records of megabytes                 │ end │ what is left of its memory
    answered   header │ topics │ the same records, not copied         │ topics without news │ end │

Topics that have partitions without news stand behind the others, perhaps a second time, as brokers write them, too: they
begin a topic anew where partitions of another one came between. (FetchResponse.toMessage groups neighbours alone.)
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from bifrost.routes.shape cimport AFTER, BEFORE, PARTITION, TOPIC, TOPIC_END, Cursor, Piece, Shape, open_pieces
from bifrost.routes.slots cimport ALL, ANSWERED, CHANGED, Topic, is_shown, note_told, put_fill
from bifrost.routes.split cimport Split
from bifrost.routes.template cimport IN_FRONT, Template, put_count
from bifrost.wire.framer cimport Block
from bifrost.wire.output cimport Output, open_output, put, varint_size, write_size, write_varint
from bifrost.wire.window cimport memoryview_data, memoryview_size, owner_of, window

cdef enum:
    SESSION_ID_AT = 6     # behind the throttle time and the error code


def answer_in_place(Split split not None, bytes head not None, *, bint fills, int32_t session_id):
    cdef Piece piece
    cdef Cursor c
    cdef Output out
    cdef Py_ssize_t count_at, after_at, size
    cdef int64_t topics, count
    cdef Shape shape = split.template.shape
    cdef Block block
    frame = frame_of_all(split)
    if frame is None or split.has_error:
        return None
    block = <Block>owner_of(frame)
    piece = Piece(<const uint8_t*>memoryview_data(frame), 0, memoryview_size(frame))
    open_pieces(&c, &piece, 1)
    c.pos, c.error = PyBytes_GET_SIZE(head), 0
    shape.walk(BEFORE, &c)
    count_at = c.pos
    topics = shape.read_count(&c)
    if c.error or not has_all(split, &c, topics, ALL if fills else CHANGED):
        return None
    after_at, c.tags_at = c.pos, -1
    shape.walk(AFTER, &c)
    if c.pos != c.end or c.tags_at >= 0 and piece.data[c.tags_at]:
        return None
    open_output(&out)
    out.owner = out.segments = NULL
    try:
        count = topics + (put_fills(split, &out) if fills else 0)
        put(&out, PyBytes_AS_STRING(split.template.body) + split.template.after_at,
            PyBytes_GET_SIZE(split.template.body) - split.template.after_at)
        size = after_at + out.size
        if (piece.data - block.data + size > block.capacity
                or shape.is_flexible and varint_size(<uint32_t>(count + 1)) != varint_size(<uint32_t>(topics + 1))):
            return None
        memcpy(<uint8_t*>piece.data + after_at, out.data, out.size)
    finally:
        Py_XDECREF(out.heap)
    write_begin(split, <uint8_t*>piece.data, head, count_at, count, session_id)
    if session_id:
        note_told(split.slots, split.count, ALL if fills else ANSWERED)
    return window(block, piece.data, size, True)


cdef int write_begin(Split split, uint8_t* data, bytes head, Py_ssize_t count_at, int64_t count,
                     int32_t session_id) except -1:
    """Write what stands before the topics, and how many they are."""
    memcpy(data, PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head))
    if split.template.throttle_at == IN_FRONT:
        write_size(data + PyBytes_GET_SIZE(head), split.throttle_ms)
    if session_id:
        write_size(data + PyBytes_GET_SIZE(head) + SESSION_ID_AT, session_id)
    if split.template.shape.is_flexible:
        write_varint(data + count_at, <uint32_t>(count + 1))
    else:
        write_size(data + count_at, count)
    return 0

cdef object frame_of_all(Split split):
    """The frame in a block of its own that has the first partition's answer; None: there is none."""
    cdef const uint8_t* data
    cdef const uint8_t* answer = NULL
    cdef int i
    for i in range(split.count):
        answer = split.slots[i].answer
        if answer != NULL:
            break
    for _, frame in split.frames:
        if isinstance(owner_of(frame), Block):
            data = <const uint8_t*>memoryview_data(frame)
            if data <= answer < data + memoryview_size(frame):
                return frame
    return None

cdef bint has_all(Split split, Cursor* c, int64_t topics, int mode) except -1:
    """Whether exactly the partitions that were answered stand there, each once, and the client has to be told all of them."""
    cdef Shape shape = split.template.shape
    cdef const uint8_t* begin
    cdef int64_t partitions
    cdef int i, topic, at, answered = 0
    split.hint = 0
    while topics > 0:
        topics -= 1
        shape.walk(TOPIC, c)
        topic = split.first_of.get(PyBytes_FromStringAndSize(<const char*>c.pieces[0].data + c.key_at, c.key_size), -1)
        partitions = shape.read_count(c)
        while partitions > 0:
            partitions -= 1
            begin = c.pieces[0].data + c.pos
            shape.walk(PARTITION, c)
            at = split.find(topic, c.index)
            if at < 0 or split.slots[at].answer != begin or split.slots[at].tags_at >= 0:
                return False
            if not is_shown(&split.slots[at], mode):
                return False
            answered += 1
        shape.walk(TOPIC_END, c)
    for i in range(split.count):
        answered -= split.slots[i].answer != NULL
    return answered == 0

cdef int put_fills(Split split, Output* out) except -1:
    """Write the topics of partitions without news; return how many topics that were."""
    cdef Template template = split.template
    cdef Topic* topic
    cdef bytes head
    cdef int t, i, count, topics = 0
    for t in range(split.topic_count):
        topic = &split.topics[t]
        count = 0
        for i in range(topic.first, topic.first + topic.count):
            count += split.slots[i].answer == NULL
        if not count:
            continue
        topics += 1
        head = split.bytes_of(topic.start, topic.head)
        put(out, PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head))
        put_count(out, template.shape, count)
        for i in range(topic.first, topic.first + topic.count):
            if split.slots[i].answer == NULL:
                put_fill(out, &split.slots[i], template)
        put(out, PyBytes_AS_STRING(template.body) + template.tail_at, template.tail_end - template.tail_at)
    return topics
