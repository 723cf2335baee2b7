# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Counts the requests, bytes and durations of a tenant's messages."""

cimport cython

cdef int64_t* BOUNDS_US = [250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
                           1_000_000, 5_000_000, 30_000_000]
DURATION_BOUNDS_S = tuple([BOUNDS_US[i] / 1e6 for i in range(BOUNDS)])

TRAFFIC_CELLS = TRAFFIC


@cython.final
cdef class Traffic:
    """Counts what one tenant's clients sent and received with one API."""

    def __init__(self, memory=None):
        self.at = self.own
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

    def receive(self, Py_ssize_t size):
        self.count_request(size)

    def send(self, Py_ssize_t size):
        self.count_answer(size)

    cdef void finish(self, int64_t ns) noexcept:
        cdef int i = 0
        while i < BOUNDS and ns > BOUNDS_US[i] * 1000:
            i += 1
        self.at[BUCKETS + i] += 1
        self.at[DURATION] += ns
