"""Leaders as `split.pyx` looks them up."""

from cpython.bytes cimport PyBytes_GET_SIZE
from libc.stdint cimport int16_t, int32_t, int64_t

cdef enum:
    # Error codes which say that another broker leads the partition, or that the topic is another one now.
    UNKNOWN_TOPIC_OR_PARTITION = 3
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    KAFKA_STORAGE_ERROR = 56
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNKNOWN_TOPIC_ID = 100
    INCONSISTENT_TOPIC_ID = 103
    OFFSET_OUT_OF_RANGE = 1    # what a follower may say by mistake


cdef enum:
    SURE_MS = 5000            # how long a leader is surely no follower: these serve consumers too (KIP-392)
    MOST_ABSENT = 10000       # topics that do not exist, of which this is kept
    LONGEST_ABSENT = 255      # bytes of their names: no topic has a longer one, and no ID
    KEPT_MS = 60000           # after this time leaders are asked for again in any case


cdef inline bint is_stale(int error) noexcept:
    return (error == UNKNOWN_TOPIC_OR_PARTITION or error == LEADER_NOT_AVAILABLE or error == NOT_LEADER_OR_FOLLOWER
            or error == KAFKA_STORAGE_ERROR or error == FENCED_LEADER_EPOCH or error == UNKNOWN_LEADER_EPOCH
            or error == UNKNOWN_TOPIC_ID or error == INCONSISTENT_TOPIC_ID)


cdef class Leaders:
    cdef int32_t* nodes
    cdef readonly int count
    cdef readonly int64_t known_ms
    cdef readonly bint is_hidden


cdef class LeaderTable:
    cdef object _topics, _absent
    cdef readonly Py_ssize_t partitions
    cdef readonly Py_ssize_t most
    cdef Leaders get(self, bytes key)


cdef inline int32_t any_of(Leaders leaders, int32_t elsewhere) noexcept:
    """A broker that knows a topic surely, for it leads a partition; else any other broker."""
    cdef int i
    if leaders is not None:
        for i in range(leaders.count):
            if leaders.nodes[i] >= 0:
                return leaders.nodes[i]
    return elsewhere

cdef inline int16_t absence_of(Leaders leaders, bytes key, bint is_by_id) noexcept:
    """The error of partitions that a topic does not have."""
    if leaders is None and PyBytes_GET_SIZE(key) <= LONGEST_ABSENT:
        return NOT_LEADER_OR_FOLLOWER  # It was not looked up: clients ask for the metadata, and again.
    return UNKNOWN_TOPIC_ID if is_by_id and leaders is not None and leaders.count == 0 else UNKNOWN_TOPIC_OR_PARTITION
