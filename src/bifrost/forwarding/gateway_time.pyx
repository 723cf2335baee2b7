# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Counts how long the gateway has kept the messages of a tenant."""

cimport cython

cdef int64_t* BOUNDS_US = [10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000,
                           500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000]
TIME_BOUNDS_S = tuple([BOUNDS_US[i] / 1e6 for i in range(BOUNDS)])
GATEWAY_TIME_CELLS = 2 * DIRECTION


cdef int bucket(int64_t ns, int first) noexcept:
    """The bucket of a time, where the bounds begin with that number."""
    cdef int i = first
    while i < BOUNDS and ns > BOUNDS_US[i] * 1000:
        i += 1
    return i - first


@cython.final
cdef class GatewayTime:
    """Counts how long the gateway has kept one tenant's messages."""

    def __init__(self, memory=None):
        self.at = self.own
        if memory is not None:
            self.cells = Cells(memory)
            if self.cells.count < 2 * DIRECTION:
                raise ValueError("not enough memory for the counters")
            self.at = self.cells.at

    @property
    def numbers(self):
        return tuple([self.at[i] for i in range(2 * DIRECTION)])

    def note(self, bint is_response, int64_t ns):
        self.add(is_response, ns, 1)

    cdef void add(self, bint is_response, int64_t ns, int64_t messages) noexcept:
        cdef int64_t* at = self.at + is_response * DIRECTION
        at[TOTAL] += ns * messages
        at[BUCKETS + bucket(ns, 0)] += messages
