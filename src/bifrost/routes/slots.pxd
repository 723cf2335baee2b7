# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What is kept of each partition and each topic of a request that was taken apart, and which partitions an answer has."""

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.mem cimport PyMem_Realloc
from libc.stdint cimport int16_t, int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from bifrost.routes.template cimport MARKS, Template, put_tags
from bifrost.wire.output cimport Output, put, write_size

cdef enum Shown:
    ANSWERED, ALL, CHANGED    # an answer has the partitions answered, all, or those answered with something new

cdef enum:
    HIGH_WATERMARK = 0        # where it is in the watermarks of Fetch
    LOG_START_OFFSET = 16
    COUNT = 5                 # bytes of the length of an array at most

cdef struct Slot:
    int32_t topic, index, node, next       # next: in the same bucket of the hash table
    Py_ssize_t start, end                  # of the request's partition
    const uint8_t* answer                  # of the answer's partition; NULL: there is none
    Py_ssize_t size, error_at, index_at, data
    Py_ssize_t tags_at                     # of its tagged fields, if there are any; else -1
    int16_t error
    uint8_t has_marks, is_sure
    uint8_t is_told, had_data              # of what the client was answered last
    uint8_t marks[MARKS]
    uint8_t told[MARKS]

cdef struct Topic:
    Py_ssize_t start, head, tail, end      # the topic, behind its fields before the partitions, behind these, its end
    int32_t first, count                   # its slots
    int32_t same                           # the first topic that has the same key


cdef inline void* resized(void* memory, size_t size) except NULL:
    memory = PyMem_Realloc(memory, size)
    if memory == NULL:
        raise MemoryError
    return memory

cdef inline const uint8_t* address(const uint8_t[::1] view) noexcept:
    if view.shape[0]:
        return &view[0]
    return NULL

cdef inline uint32_t hashed(int topic, int32_t index, uint64_t secret, int bits) noexcept:
    """A hash of so many bits. Without the secret, an odd number, no client can name partitions that share one."""
    return <uint32_t>((<uint64_t>topic << 32 | <uint32_t>index) * secret >> 64 - bits)

cdef inline bint is_of_one(Slot* slots, int count, int32_t node) noexcept:
    """Whether one broker gets all."""
    cdef int i
    for i in range(count):
        if slots[i].node != node:
            return False
    return True

cdef inline int slots_of(Topic* topic, Slot* slots, int32_t node) noexcept:
    cdef int i, found = 0
    for i in range(topic.first, topic.first + topic.count):
        found += slots[i].node == node
    return found

cdef inline bint is_shown(Slot* slot, int mode) noexcept:
    """Whether an answer has a partition. Source: CachedPartition.maybeUpdateResponseData, for those with something new."""
    if slot.answer == NULL or mode != CHANGED:
        return slot.answer != NULL or mode == ALL
    return (slot.data > 0 or slot.error != 0 or slot.tags_at >= 0 or not slot.is_told
            or memcmp(slot.marks + HIGH_WATERMARK, slot.told + HIGH_WATERMARK, 8) != 0
            or memcmp(slot.marks + LOG_START_OFFSET, slot.told + LOG_START_OFFSET, 8) != 0)

cdef inline int slots_shown(Topic* topic, Slot* slots, int mode) noexcept:
    cdef int i, found = 0
    for i in range(topic.first, topic.first + topic.count):
        found += is_shown(&slots[i], mode)
    return found

cdef inline int note_told(Slot* slots, int count, int mode) noexcept:
    """Remember what the client of a session knows when it has an answer, and which partitions had records."""
    cdef Slot* slot
    cdef int i
    for i in range(count):
        slot = &slots[i]
        slot.had_data = slot.answer != NULL and slot.data > 0
        if is_shown(slot, mode):
            # As CachedPartition.maybeUpdateResponseData: what had an error is in the next answer again.
            slot.is_told = slot.has_marks and slot.error == 0
            memcpy(slot.told, slot.marks, MARKS)
    return 0

cdef inline Py_ssize_t most_bytes(Topic* topic, Slot* slots, Template template, int mode) noexcept:
    """No fewer bytes than a topic of an answer takes."""
    cdef Py_ssize_t size = topic.head - topic.start + COUNT + template.tail_end - template.tail_at
    cdef int i
    for i in range(topic.first, topic.first + topic.count):
        if is_shown(&slots[i], mode):
            size += slots[i].size if slots[i].answer != NULL else template.partition_end - template.partition_at
    return size

cdef inline int put_answer(Output* out, Slot* slot, Template template) except -1:
    """What a broker has answered for a partition."""
    cdef Py_ssize_t begin = out.size
    if slot.tags_at >= 0:
        put(out, slot.answer, slot.tags_at)
        put_tags(out, slot.answer + slot.tags_at, slot.size - slot.tags_at, template.shape.leader_tag)
        return 0
    put(out, slot.answer, slot.size)
    write_size(out.data + begin + slot.index_at, slot.index)
    if slot.error_at >= 0:
        out.data[begin + slot.error_at] = slot.error >> 8 & 0xFF
        out.data[begin + slot.error_at + 1] = slot.error & 0xFF
    return 0

cdef inline int put_fill(Output* out, Slot* slot, Template template) except -1:
    """What a partition has of which nothing new is known."""
    cdef Py_ssize_t begin = out.size
    put(out, PyBytes_AS_STRING(template.body) + template.partition_at, template.partition_end - template.partition_at)
    write_size(out.data + begin + template.index_at, slot.index)
    if slot.has_marks:
        memcpy(out.data + begin + template.marks_at, slot.marks, template.marks_size)
    return 0
