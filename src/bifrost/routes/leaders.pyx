# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Which broker leads which partition, as the last metadata said.

A topic that does not exist is kept without partitions, so that requests that name it do not ask for it each time. These
are kept apart: clients can name any number of them, and no topic that exists is forgotten for it.
"""

from collections import OrderedDict

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int32_t, int64_t


cdef class Leaders:
    def __cinit__(self, nodes, int64_t known_ms, bint is_hidden=False):
        cdef int i
        self.count, self.known_ms, self.is_hidden = len(nodes), known_ms, is_hidden
        self.nodes = <int32_t*>PyMem_Malloc(max(1, self.count) * sizeof(int32_t))
        if self.nodes == NULL:
            raise MemoryError
        for i in range(self.count):
            self.nodes[i] = nodes[i]

    def __dealloc__(self):
        PyMem_Free(self.nodes)

    def __getitem__(self, int partition):
        return self.nodes[partition] if 0 <= partition < self.count else -1

    def __len__(self):
        return self.count


cdef class LeaderTable:
    def __init__(self, Py_ssize_t most):
        self._topics, self._absent = OrderedDict(), OrderedDict()
        self.partitions, self.most = 0, most

    cdef Leaders get(self, bytes key):
        found = self._topics.get(key)
        return self._absent.get(key) if found is None else found

    def find(self, bytes key not None):
        return self.get(key)

    def put(self, bytes key not None, nodes, int64_t known_ms, bint is_hidden=False):
        self.drop(key)
        if not len(nodes):
            if len(key) <= LONGEST_ABSENT:
                self._absent[key] = Leaders(nodes, known_ms, is_hidden)
                if len(self._absent) > MOST_ABSENT:
                    self._absent.popitem(last=False)
            return
        self._topics[key] = Leaders(nodes, known_ms)
        self.partitions += 1 + len(nodes)
        while self.partitions > self.most and len(self._topics) > 1:
            self.drop(next(iter(self._topics)))

    def drop(self, bytes key):
        cdef Leaders found = self._topics.pop(key, None)
        self._absent.pop(key, None)
        if found is not None:
            self.partitions -= 1 + found.count

    def forget(self, keys):
        for key in keys:
            self.drop(key)

    def forget_node(self, int32_t node_id):
        self.forget([key for key, one in self._topics.items() if leads(one, node_id)])

    def __len__(self):
        return len(self._topics) + len(self._absent)


cdef bint leads(Leaders leaders, int32_t node_id) noexcept:
    cdef int i
    for i in range(leaders.count):
        if leaders.nodes[i] == node_id:
            return True
    return False
