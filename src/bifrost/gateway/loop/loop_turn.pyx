# cython: language_level=3, boundscheck=False, wraparound=False
"""Divides one turn of the event loop among all kinds of work that can wait for the next one.

    a turn:  reads ── slices of large requests ── routing ── ends of connections ── handshakes ── upkeep
             └────────────────────────── TURN_NS for all of them together ─────────────────────────┘

Each kind has a bound of its own. Without this one their sum would keep a client waiting, and a kind that has work in two
phases of a turn, when sockets are ready and when callbacks are due, would have its bound twice.
A turn begins for it when the first of them asks. Which turn it is `loop_watch.pyx` counts.
"""

from weakref import WeakKeyDictionary

from bifrost.forwarding.clock cimport clock_ns

cdef enum:
    TURN_NS = 1_500_000    # with what each kind may do in any case it stays below 2 ms, which would be a stall


cdef class LoopTurn:
    cdef int follow(self, const int64_t* turns) except -1:
        """Read there how many turns have ended; NULL: no `LoopWatch` runs, so each question begins a turn."""
        self.turns, self.number = turns, -1
        return 0

    cdef void note(self, int64_t now_ns) noexcept:
        """Note that a work begins now, perhaps the first one of its turn."""
        if self.turns != NULL and self.turns[0] != self.number:
            self.number, self.began_ns = self.turns[0], now_ns

    cpdef int64_t until_ns(self, int64_t most_ns, int64_t least_ns) noexcept:
        cdef int64_t now_ns = clock_ns()
        if self.turns == NULL:
            return now_ns + most_ns
        self.note(now_ns)
        return max(min(now_ns + most_ns, self.began_ns + TURN_NS), now_ns + least_ns)


_of_loops = WeakKeyDictionary()

cpdef LoopTurn turn_of(loop):
    found = _of_loops.get(loop)
    if found is None:
        found = _of_loops[loop] = LoopTurn()
    return found
