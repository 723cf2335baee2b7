# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Counts the requests, bytes, durations and errors of a tenant's messages."""

cimport cython

from bifrost.forwarding.gateway_time cimport bucket

from bifrost.forwarding.gateway_time import TIME_BOUNDS_S
from bifrost.wire.error_codes import ErrorCode

cdef enum:
    OTHER = 0    # as an error code that is NONE

cdef frozenset KAFKAS = frozenset(map(int, ErrorCode))

DURATION_BOUNDS_S = TIME_BOUNDS_S[FIRST_BOUND:]
TRAFFIC_CELLS = TRAFFIC
MAX_ERROR_CELLS = 16
OTHER_ERRORS = OTHER


@cython.final
cdef class Traffic:
    """Counts what one tenant's clients sent and received with one API."""

    def __init__(self, memory=None, new_cell=None):
        self.at = self.own
        self.known_errors = {}
        self.new_cell = new_cell
        if memory is not None:
            self.cells = Cells(memory)
            if self.cells.count < TRAFFIC:
                raise ValueError("not enough memory for the counters")
            self.at = self.cells.at

    @property
    def requests(self):
        return self.at[REQUESTS]

    @property
    def bytes_received(self):
        return self.at[RECEIVED]

    @property
    def bytes_sent(self):
        return self.at[SENT]

    @property
    def duration_ns(self):
        return self.at[DURATION]

    @property
    def durations(self):
        return tuple([self.at[BUCKETS + i] for i in range(BOUNDS + 1)])

    @property
    def errors(self):
        return [(code >> 1, bool(code & 1), (<Cells>cell).at[0]) for code, cell in list(self.known_errors.items())]

    def receive(self, Py_ssize_t size):
        self.count_request(size)

    def send(self, Py_ssize_t size):
        self.count_answer(size)

    def fail(self, int code, bint is_own, int64_t times=1):
        self.add_errors(code, is_own, times)

    cdef void finish(self, int64_t ns) noexcept:
        self.at[BUCKETS + bucket(ns, FIRST_BOUND)] += 1
        self.at[DURATION] += ns

    cdef int add_errors(self, int code, bint is_own, int64_t more) except -1:
        """Count an error; where the codes that are told apart are used up, under OTHER."""
        cell = self.known_errors.get(code << 1 | is_own)
        if cell is None:
            if code not in KAFKAS or len(self.known_errors) >= MAX_ERROR_CELLS - 2:
                code = OTHER
            cell = self.known_errors.get(code << 1 | is_own)
        if cell is None:
            cell = Cells(bytearray(8) if self.new_cell is None else self.new_cell(code, is_own))
            self.known_errors[code << 1 | is_own] = cell
        (<Cells>cell).at[0] += more
        return 0
