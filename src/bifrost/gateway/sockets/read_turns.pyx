# cython: language_level=3, boundscheck=False, wraparound=False
"""Bounds how much all connections of an event loop are read in one of its turns.

Each connection is read up to 256 KiB at once, because large reads cost less; but forty connections with megabytes each
would keep all others waiting for 10 ms. So once a turn has read BYTES, a connection without a queue gets one small read,
and those with more to read queue: the next turn begins with them, in order. After a hundred small reads the rest of
the connections is left to the next turn, in which the event loop says again that they are ready. Those that have not
begun to be relayed queue as well, and are not watched until they were read: of thousands of them the loop would say so
in each turn, again and again (libuv asks up to 48 times). Those of a tenant that has not been read much in the turn are
read even then, so that no tenant waits for another's thousand connections. A connection that ends counts as several
reads. A nanosecond counts as a byte, where a read takes longer than its bytes say: small requests take as much time as
they have bytes, or more.

    socket is ready ──▶ read ──more to read──▶ queue ──call_soon──▶ the first ones are read again, as long as there is room
"""

from collections import deque
from weakref import WeakKeyDictionary

from bifrost.forwarding.clock cimport clock_ns
from bifrost.forwarding.load cimport Load
from bifrost.gateway.loop.loop_turn cimport LoopTurn
from bifrost.gateway.loop.loop_turn cimport turn_of as turn_of_loop
from bifrost.gateway.sockets.socket_watch cimport Watched

cdef enum:
    READS = 16           # reads of 16 KiB that one connection gets at once, as the event loop's own TLS gives
    READ_BYTES = 16384
    BYTES = 1048576      # read in one turn, or nanoseconds: 1 ms. The last connection may begin just below it
    MOST_BYTES = 1572864  # with the small reads, each counted as a whole one: at most 96
    OWN_BYTES = 131072   # a tenant's own in each turn: eight reads, or 0.13 ms
    ALL_BYTES = 2097152  # with those of many tenants
    LEAST_NS = 300000    # for those that queue, where other kinds of work have used the turn up


cdef class Readable(Watched):
    """A connection that can be read. This one has nothing to read."""

    cdef int read_some(self, int reads) except -1:
        """Read at most so many times; return how many reads were used, and set `wants_turn`."""
        return 0

    cdef int watch(self, bint is_wanted) except -1:
        """Be told, or not, that the socket can be read, as long as the connection is read at all."""
        return 0

    cdef Load load(self):
        """Return whose it is: the tenant's load; None while that is not known."""
        return None


cdef class ReadTurns:
    def __init__(self, LoopTurn turn not None):
        self.queue, self.unread, self.turn = deque(), deque(), turn

    cdef int read(self, Readable one) except -1:
        """Read from a connection whose socket is ready."""
        if self.bytes_read < BYTES:
            self.read_now(one, READS)
        elif not one.is_queued:
            if self.bytes_read < MOST_BYTES or self.has_own_room(one):
                self.read_now(one, 1)
            elif one.load() is None:    # One that is relayed would wait behind thousands that are not.
                one.watch(False)
                one.is_queued = True
                self.unread.append(one)
                self.call(one.loop)
        return 0

    cdef bint has_own_room(self, Readable one) except -1:
        """Whether its tenant has been read so little in this turn that it need not wait for others."""
        cdef Load load = one.load()
        if load is None or self.bytes_read >= ALL_BYTES:
            return False
        return load.turn != self.number or load.turn_bytes < OWN_BYTES

    cdef int note(self, Readable one, Py_ssize_t size) except -1:
        cdef Load load = one.load()
        self.bytes_read += size
        if load is not None:
            if load.turn != self.number:
                load.turn, load.turn_bytes = self.number, 0
            load.turn_bytes += size
        return 0

    cdef int read_now(self, Readable one, int reads) except -1:
        cdef int64_t began_ns = clock_ns()
        cdef Py_ssize_t size
        self.turn.note(began_ns)
        size = READ_BYTES * one.read_some(reads)
        if self.turn.is_counted():
            size = max(size, clock_ns() - began_ns)
        self.note(one, size)
        if one.wants_turn:
            self.wait(one)
        elif self.bytes_read >= BYTES:
            self.call(one.loop)
        return 0

    cdef int wait(self, Readable one) except -1:
        """Queue a connection that has more to read."""
        if not one.is_queued:
            one.is_queued = True
            self.queue.append(one)
        return self.call(one.loop)

    cdef int call(self, loop) except -1:
        if not self.is_called:
            self.is_called = True
            loop.call_soon(self.begin_turn)
        return 0

    def begin_turn(self):
        """Read from those in the queues, as far as this turn goes: first much of some, then a little of others."""
        cdef Readable one = None
        cdef Py_ssize_t left = len(self.queue)
        cdef int64_t until_ns = self.turn.until_ns(BYTES, LEAST_NS)
        self.is_called = False
        self.bytes_read = 0
        self.number += 1
        try:
            while left and self.bytes_read < BYTES and not (self.turn.is_counted() and clock_ns() >= until_ns):
                left -= 1
                one = self.queue.popleft()
                one.is_queued = False
                self.read_now(one, READS)
            left = len(self.unread)
            while left and self.bytes_read < MOST_BYTES:
                left -= 1
                one = self.unread.popleft()
                one.is_queued = False
                one.watch(True)
                self.read_now(one, READS if self.bytes_read < BYTES else 1)
        finally:
            if one is not None and (self.queue or self.unread or self.bytes_read >= BYTES):
                self.call(one.loop)


_of_loops = WeakKeyDictionary()

cdef ReadTurns turns_of(loop):
    """Return the turns of an event loop."""
    found = _of_loops.get(loop)
    if found is None:
        found = _of_loops[loop] = ReadTurns(turn_of_loop(loop))
    return found
