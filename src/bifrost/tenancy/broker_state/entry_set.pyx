# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A bounded set of 64-bit hashes that forgets what was not used for a day, or another time.

There are two generations: what is used is in the one of now. That becomes the one before, and the one before it is
forgotten, when something comes that is not in the one of now, `half_ms` after its beginning at the earliest. So an entry
is remembered for 12 hours after its last use (HALF_DAY_MS), and for 24 where there is something new each day.

The table of now doubles when it is half full. What was in the old one is taken over some slots at a time, with each new
entry, so that no entry costs more than some memory accesses; until then both are looked into.
"""

cimport cython
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free

HALF_DAY_MS = 12 * 3600 * 1000

cdef enum:
    FIRST_SLOTS = 16
    TAKEN_OVER = 8         # slots for each new entry: the old table is done long before the new one is half full


cdef inline bint has(Table* table, uint64_t entry) noexcept:
    cdef Py_ssize_t mask = table.size - 1, at = <Py_ssize_t>(entry & <uint64_t>mask)
    if not table.count:
        return False
    while table.slots[at]:
        if table.slots[at] == entry:
            return True
        at = (at + 1) & mask
    return False

cdef inline void put(Table* table, uint64_t entry) noexcept:
    """Add an entry that is not there to a table that has room."""
    cdef Py_ssize_t mask = table.size - 1, at = <Py_ssize_t>(entry & <uint64_t>mask)
    while table.slots[at]:
        at = (at + 1) & mask
    table.slots[at] = entry
    table.count += 1

cdef inline void drop(Table* table) noexcept:
    free(table.slots)
    table.slots, table.size, table.count = NULL, 0, 0


@cython.final
cdef class EntrySet:
    def __init__(self, Py_ssize_t most, now_ms, int64_t half_ms=HALF_DAY_MS):
        self.most = most
        self.now_ms, self.half_ms = now_ms, half_ms
        self.turn_ms = <int64_t>now_ms() + half_ms

    def __dealloc__(self):
        free(self.recent.slots)
        free(self.grown.slots)
        free(self.before.slots)

    def __len__(self):
        self.forget_old()
        return self.count()

    cdef Py_ssize_t count(self) noexcept:
        """Entries that are remembered; `grown` counts those that `recent` does not have yet."""
        return self.recent.count + self.grown.count + self.before.count - self.kept

    def enter(self, uint64_t entry):
        return self.admits(entry or 1)

    cdef bint is_known(self, uint64_t entry) noexcept:
        return has(&self.recent, entry) or has(&self.grown, entry)

    cdef bint was_known(self, uint64_t entry) noexcept:
        """Whether it was used in the generation before."""
        return has(&self.before, entry)

    cdef bint enter_other(self, uint64_t entry) except -1:
        """`admits` for what the generation of now does not have."""
        cdef bint is_kept
        self.forget_old()
        is_kept = has(&self.before, entry)
        if not is_kept and self.count() >= self.most:
            return False
        self.add(entry)
        self.kept += is_kept
        return True

    cdef int forget_old(self) except -1:
        """Begin a new generation if it is time."""
        cdef int64_t now_ms = self.now_ms()
        if now_ms < self.turn_ms:
            return 0
        drop(&self.before)
        self.take_over(self.grown.size)
        self.before = self.recent
        self.recent.slots, self.recent.size, self.recent.count = NULL, 0, 0
        self.kept = 0
        self.turn_ms = now_ms + self.half_ms
        return 0

    cdef int add(self, uint64_t entry) except -1:
        cdef Table larger
        if 2 * (self.recent.count + self.grown.count + 1) > self.recent.size:
            self.take_over(self.grown.size)
            larger.size, larger.count = max(<Py_ssize_t>FIRST_SLOTS, 2 * self.recent.size), 0
            larger.slots = <uint64_t*>calloc(larger.size, sizeof(uint64_t))
            if larger.slots == NULL:
                raise MemoryError()
            self.grown, self.recent, self.taken_over = self.recent, larger, 0
        put(&self.recent, entry)
        self.take_over(TAKEN_OVER)
        return 0

    cdef void take_over(self, Py_ssize_t slots) noexcept:
        """Take over what stands in so many slots of the smaller table."""
        cdef Py_ssize_t to = min(self.grown.size, self.taken_over + slots)
        cdef uint64_t entry
        while self.taken_over < to:
            entry = self.grown.slots[self.taken_over]
            self.taken_over += 1
            if entry:
                # It stays in its slot, or what was put behind it there would not be found.
                put(&self.recent, entry)
                self.grown.count -= 1
        if self.taken_over == self.grown.size:
            drop(&self.grown)
