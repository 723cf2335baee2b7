"""Counts a tenant's requests, bytes and time, and limits how many requests may await an answer.

Part of engine.pyx.
"""

cdef enum:
    BOUNDS = 14

cdef int64_t* BOUNDS_US = [250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
                           1_000_000, 5_000_000, 30_000_000]
DURATION_BOUNDS_S = tuple([BOUNDS_US[i] / 1e6 for i in range(BOUNDS)])

cdef inline int64_t clock_ns() noexcept:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <int64_t>now.tv_sec * 1_000_000_000 + now.tv_nsec

cdef enum:
    REQUESTS = 0
    RECEIVED = 1
    SENT = 2
    DURATION = 3
    BUCKETS = 4
    TRAFFIC = BUCKETS + BOUNDS + 1

TRAFFIC_CELLS = TRAFFIC

@cython.final
cdef class Cells:
    """Numbers of 8 bytes in memory that other processes may read, through a mapping."""
    cdef int64_t* at
    cdef Py_ssize_t count
    cdef Py_buffer view

    def __cinit__(self, memory):
        PyObject_GetBuffer(memory, &self.view, PyBUF_WRITABLE)
        self.at = <int64_t*>self.view.buf
        self.count = self.view.len // 8

    def __dealloc__(self):
        PyBuffer_Release(&self.view)


@cython.final
cdef class Traffic:
    """Counts what one tenant's clients sent and received with one API."""
    cdef int64_t own[TRAFFIC]
    cdef int64_t* at
    cdef Cells cells

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

    cpdef void receive(self, Py_ssize_t size) noexcept:
        self.at[REQUESTS] += 1
        self.at[RECEIVED] += size

    cpdef void send(self, Py_ssize_t size) noexcept:
        self.at[SENT] += size

    cdef void finish(self, int64_t ns) noexcept:
        cdef int i = 0
        while i < BOUNDS and ns > BOUNDS_US[i] * 1000:
            i += 1
        self.at[BUCKETS + i] += 1
        self.at[DURATION] += ns


cdef enum:
    SLICE_NS = 4_000_000        # time for which the part of a limit that cannot be divided is one worker's

@cython.final
cdef class Spending:
    """The loads that have spent time of the event loop since the last check, for the code that keeps the budgets."""
    cdef public list spenders
    cdef public int64_t due_ns
    cdef public object on_due

    def __init__(self, on_due):
        self.spenders = []
        self.on_due = on_due


@cython.final
cdef class Load:
    """How many requests await their answers: of one tenant, and in `whole` those of all.

    With `share` other processes count in the same limit. Each writes its own pair of (in flight, waiting) and reads
    all of them, so two that look at the same moment may both take the last place: together they exceed the limit
    by fewer than there are processes. While another one waits, each keeps to its part.
    """
    cdef readonly Py_ssize_t in_flight
    cdef Py_ssize_t waits
    cdef public Py_ssize_t most
    cdef public object on_room
    cdef public Spending spending
    cdef int64_t spent_ns
    cdef bint is_spender
    cdef public int throttle_ms
    cdef public bint is_over_budget
    cdef Load whole
    cdef Cells cells
    cdef int64_t* row
    cdef Py_ssize_t stride, processes, number

    def __init__(self, Load whole=None, share=None):
        self.whole = whole
        self.most = PY_SSIZE_T_MAX
        if share is None:
            return
        memory, self.stride, self.processes, self.number = share
        self.cells = Cells(memory)
        if not (0 <= self.number < self.processes and 2 <= self.stride
                and (self.processes - 1) * self.stride + 2 <= self.cells.count):
            raise ValueError("not enough memory for every process")
        self.row = self.cells.at + self.number * self.stride
        self.row[0] = self.row[1] = 0

    @property
    def waiting(self):
        return self.waits

    @waiting.setter
    def waiting(self, Py_ssize_t count):
        self.waits = count
        if self.row != NULL:
            self.row[1] = count

    @property
    def is_full(self):
        return self.full()

    @property
    def has_room(self):
        return not self.exhausted()

    cdef bint exhausted(self) noexcept:
        """Whether the limit leaves no room here, without regard to connections that wait in this process."""
        if self.is_over_budget:
            return True
        if self.row == NULL or self.most == PY_SSIZE_T_MAX:
            return self.in_flight >= self.most
        cdef Py_ssize_t i, part, in_flight = 0
        cdef bint others_wait = False
        cdef int64_t* pair = self.cells.at
        for i in range(self.processes):
            in_flight += pair[0]
            if pair[1] > 0 and i != self.number:
                others_wait = True
            pair += self.stride
        if in_flight >= self.most or not others_wait:
            return in_flight >= self.most
        part = self.most // self.processes
        if clock_ns() // SLICE_NS % self.processes == self.number:
            part += self.most % self.processes
        return self.in_flight >= part

    cpdef int spend(self, int64_t ns, int64_t now_ns) except -1:
        """Note time that the tenant's messages took, or stand for."""
        if self.spending is None:
            return 0
        if not self.is_spender:
            self.is_spender = True
            self.spending.spenders.append(self)
        self.spent_ns += ns
        if now_ns >= self.spending.due_ns:
            self.spending.on_due(now_ns)
        return 0

    def take_spent(self):
        """Return what was noted, in nanoseconds, and begin anew."""
        cdef int64_t spent_ns = self.spent_ns
        self.spent_ns = 0
        self.is_spender = False
        return spent_ns

    cdef bint full(self) noexcept:
        # A connection that comes while others wait would overtake them.
        if self.waits > 0 or self.exhausted():
            return True
        return self.whole is not None and (self.whole.waits > 0 or self.whole.exhausted())

    cdef inline void count(self, Py_ssize_t more) noexcept:
        self.in_flight += more
        if self.row != NULL:
            self.row[0] = self.in_flight

    cdef void begin(self) noexcept:
        self.count(1)
        if self.whole is not None:
            self.whole.count(1)

    cdef void finish(self) noexcept:
        cdef bint somebody_waits = self.waits > 0
        self.count(-1)
        if self.whole is not None:
            self.whole.count(-1)
            somebody_waits |= self.whole.waits > 0
        if somebody_waits and self.on_room is not None:
            self.on_room()
