# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The framer: it splits a connection's byte stream into frames.

Bytes are received into a chunk that a connection holds only while it has an unfinished frame there; an idle
one holds none. An unfinished frame of more than DIRECT bytes gets memory of its own, a block, which is not
initialised: what its announced length costs is address space, until the bytes arrive. A block may hold an earlier
frame, so only the transport sees it before it is full.

    get_buffer ──▶ chunk  [ given out ... lo | unfinished frame .. hi |  window for the transport  ]
               └─▶ block  [ received ........ at                     |  window for the transport  ]

The memory of its frames is counted in a `MemoryLimit`, which refuses a large frame or asks to wait. Small frames, which
came whole, may be taken from where they stand by a `FrameConsumer`. Both are only the shape of what is above this
package: `bifrost.forwarding` has the classes that do something.
"""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, _Py_REFCNT
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memmove

from bifrost.wire.errors import FrameTooLarge, MalformedFrame

from bifrost.wire.reader cimport be32
from bifrost.wire.window cimport KEPT, window

cdef extern from *:
    """
    #include <sys/mman.h>
    static void* map_block(size_t size) {
        void* data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return data == MAP_FAILED ? NULL : data;
    }
    """
    void* map_block(size_t size)    # NULL: there is no memory
    int munmap(void* data, size_t size)

cdef extern from *:
    """
    #ifdef __GLIBC__
    #include <malloc.h>
    #define trim_heap() malloc_trim(0)
    #else
    #define trim_heap() 0
    #endif
    """
    int trim_heap()    # give back what malloc keeps of whole pages

cdef enum:
    OWN = 8192             # bytes: a frame from here on leaves the chunk as its own bytes
    CHUNK = 65536          # bytes read at once while no large frame is under way
    SMALL_CHUNK = 4096     # the same two of those who have not authenticated
    SMALL_DIRECT = 2048
    STREAM = 262144        # bytes: a frame from here on goes on before it is whole, if it can
    HEAD = 4096            # bytes of it that have to be there first, or are tried once
    PIECE = 32768          # bytes of it received at once: they are still in the L1 cache when they are sent
    FIRST_BLOCK = 131072   # bytes of memory that a frame has while it has no room: a chunk, and what is read next
    SPARES = 16            # chunks kept for the next reader
    SPARE_BLOCKS = 16      # pieces of memory kept for the next large frames
    SPARE_BLOCK_BYTES = 9437184    # all of them: eight fetches of 1 MiB, or one of eight partitions
    FIRST_BYTES = 16
    PART = 4194304         # bytes given back to the system at once: 0.6 ms
    LEAVING = 64           # blocks that are given back in parts


cdef class MemoryLimit:
    """Where a framer counts the bytes that it holds. This one has no limit."""

    cdef bint full(self) noexcept:
        """Whether no connection may begin another frame."""
        return False

    cdef bint reserve(self, Py_ssize_t size, bint is_answer, bint has_turn) noexcept:
        """Take room for a large frame; False: there is none, or others wait for it."""
        return True

    cdef void give_back(self, Py_ssize_t size, bint is_answer) noexcept:
        """Give back the room of a large frame: its memory is free."""

    cdef void count(self, Py_ssize_t more) noexcept:
        """Count what is held already, or is held no longer."""

    cdef void hold(self, Py_ssize_t size, bint is_answer) noexcept:
        """Take room for a large frame that is held already, though there may be none."""


cdef class TakenRoom:
    """Room for an answer that is about to be made; given back with this, unless its memory has taken it over."""

    def __dealloc__(self):
        if self.room is not None:
            self.room.give_back(self.size, True)


def take_room(MemoryLimit room not None, Py_ssize_t size):
    cdef TakenRoom taken = TakenRoom.__new__(TakenRoom)
    if size > DIRECT:
        if not room.reserve(size, True, False):
            return None
        taken.room, taken.size = room, size
    return taken


cdef class FrameConsumer:
    """What may take small frames from where they were received. This one takes none."""

    cdef int take_small(self, Framer framer, bint is_request) except -1:
        """Take what `framer.small` shows, by `framer.skip`, as far as wanted."""
        return 0


cdef uint8_t* spare_chunks[SPARES]
cdef int spare_count = 0
cdef int unused_chunks = 0    # the fewest spares there were since the last release

@cython.freelist(16)
cdef class Chunk:
    """CHUNK bytes that return to the spares when no object refers to them any more."""

    cdef int allocate(self, Py_ssize_t capacity) except -1:
        """Take the memory, once. It is no constructor: one with an argument makes Python objects for the call."""
        global spare_count, unused_chunks
        self.capacity = capacity
        if capacity == CHUNK and spare_count:
            spare_count -= 1
            unused_chunks = min(unused_chunks, spare_count)
            self.data = spare_chunks[spare_count]
        else:
            self.data = <uint8_t*>PyMem_RawMalloc(capacity)
            if self.data == NULL:
                raise MemoryError()
        return 0

    def __dealloc__(self):
        global spare_count
        if self.capacity == CHUNK and spare_count < SPARES and self.data != NULL:
            spare_chunks[spare_count] = self.data
            spare_count += 1
        else:
            PyMem_RawFree(self.data)

cdef Chunk new_chunk(Py_ssize_t capacity):
    cdef Chunk made = Chunk.__new__(Chunk)
    made.allocate(capacity)
    return made


cdef struct Spare:
    uint8_t* data
    Py_ssize_t capacity

cdef Spare spare_blocks[SPARE_BLOCKS]      # oldest first
cdef int spare_block_count = 0
cdef Py_ssize_t spare_block_bytes = 0
cdef Py_ssize_t unused_block_bytes = 0     # the least they were since the last release

cdef uint8_t* drop_spare(int i) noexcept:
    """Take a spare block out of the list."""
    global spare_block_count, spare_block_bytes, unused_block_bytes
    cdef uint8_t* data = spare_blocks[i].data
    spare_block_bytes -= spare_blocks[i].capacity
    unused_block_bytes = min(unused_block_bytes, spare_block_bytes)
    spare_block_count -= 1
    memmove(&spare_blocks[i], &spare_blocks[i + 1], (spare_block_count - i) * sizeof(Spare))
    return data

def spare_bytes():
    """Bytes kept for frames to come."""
    return spare_count * CHUNK + spare_block_bytes

def release_spares():
    """Give back the spares that no framer has needed since the last call; return how many bytes that is.

    The fewest spares in that time are those that were never needed. Of the blocks the oldest go, because the newest
    that fits is taken first.
    """
    global spare_count, unused_chunks, unused_block_bytes
    cdef Py_ssize_t released = 0, unused = unused_block_bytes, capacity
    while spare_block_count and released + spare_blocks[0].capacity <= unused:
        capacity = spare_blocks[0].capacity
        unmap(drop_spare(0), capacity, None, 0, False)
        released += capacity
    while unused_chunks:
        unused_chunks -= 1
        spare_count -= 1
        PyMem_RawFree(spare_chunks[spare_count])
        released += CHUNK
    unused_chunks, unused_block_bytes = spare_count, spare_block_bytes
    if released:
        trim_heap()
    return released

def trim():
    """Give back to the system what malloc keeps."""
    trim_heap()

cdef struct Leaving:
    uint8_t* data
    Py_ssize_t capacity
    PyObject* room           # owned; NULL: none is given back with it
    Py_ssize_t size          # bytes of that room
    bint is_answer

cdef Leaving leaving[LEAVING]
cdef int leaving_count = 0
cdef object on_leaving = None

def call_when_leaving(callback):
    """From now on give large blocks back in parts; `callback` is called when there are parts for `unmap_part`.

    To unmap 64 MiB takes 10 ms, in which no other connection is served. None: each block is given back at once.
    """
    global on_leaving
    on_leaving = callback
    while callback is None and unmap_part():
        pass

def unmap_part():
    """Give back a part of the blocks that leave; return whether there are more."""
    global leaving_count
    cdef Leaving* last
    cdef Leaving gone
    cdef Py_ssize_t size
    if leaving_count:
        last = &leaving[leaving_count - 1]
        size = min(<Py_ssize_t>PART, last.capacity)
        last.capacity -= size
        munmap(last.data + last.capacity, size)
        if last.capacity == 0:
            leaving_count -= 1
            gone = last[0]
            if gone.room != NULL:
                (<MemoryLimit>gone.room).give_back(gone.size, gone.is_answer)
                Py_DECREF(<object>gone.room)
    return leaving_count > 0

cdef int unmap(uint8_t* data, Py_ssize_t capacity, MemoryLimit room, Py_ssize_t size, bint is_answer) except -1:
    """Give back a block; then, and not before, the room that it had, or other frames would be held beside it."""
    global leaving_count
    if capacity <= PART or on_leaving is None or leaving_count == LEAVING:
        munmap(data, capacity)
        if room is not None:
            room.give_back(size, is_answer)
        return 0
    leaving[leaving_count] = Leaving(data, capacity, NULL, size, is_answer)
    if room is not None:
        Py_INCREF(room)
        leaving[leaving_count].room = <PyObject*>room
    leaving_count += 1
    if leaving_count == 1:
        on_leaving()
    return 0

@cython.freelist(16)
cdef class Block:
    """Uninitialised memory for one large frame, if possible that of an earlier one.

    Memory fresh from the kernel costs a page fault every 4 KiB, as much as all else that is done for a large frame.
    It is had from mmap: malloc would keep more for itself the larger the pieces are that it sees freed (mallopt(3),
    M_MMAP_THRESHOLD), here 16 MiB beside what we keep.
    """

    def __cinit__(self, Py_ssize_t size, Py_ssize_t frame_size=0):
        """Take memory for `size` bytes, for the first of a frame of `frame_size` bytes if that is more."""
        cdef int i
        self.size = max(size, frame_size)
        if size <= DIRECT:
            self.capacity = size
            self.data = <uint8_t*>PyMem_RawMalloc(size)
            if self.data == NULL:
                raise MemoryError()
            return
        for i in range(spare_block_count - 1, -1, -1):
            if size <= spare_blocks[i].capacity <= 2 * size:
                self.capacity = spare_blocks[i].capacity
                self.data = drop_spare(i)
                return
        # A little more than is asked for, as the next frame will not have quite the same size.
        self.capacity = (size + CHUNK - 1) // CHUNK * CHUNK
        self.data = <uint8_t*>map_block(self.capacity)
        if self.data == NULL:
            raise MemoryError()

    def __dealloc__(self):
        global spare_block_count, spare_block_bytes
        cdef MemoryLimit room = self.room
        cdef Py_ssize_t oldest
        if self.data != NULL and self.capacity > SPARE_BLOCK_BYTES:
            unmap(self.data, self.capacity, room, self.size, self.is_answer)
            return
        if self.data != NULL and self.capacity <= DIRECT:
            PyMem_RawFree(self.data)
        elif self.data != NULL:
            while spare_block_count == SPARE_BLOCKS or spare_block_bytes + self.capacity > SPARE_BLOCK_BYTES:
                oldest = spare_blocks[0].capacity
                unmap(drop_spare(0), oldest, room, self.size, self.is_answer)
                room = None
            spare_blocks[spare_block_count] = Spare(self.data, self.capacity)
            spare_block_count += 1
            spare_block_bytes += self.capacity
        if room is not None:
            room.give_back(self.size, self.is_answer)

cdef PyObject* idle = NULL    # the framer that last took a chunk and received nothing into it; not owned

cdef class Framer:
    """Splits the stream of one direction of one connection; has the shape of asyncio's BufferedProtocol."""

    def __cinit__(self, Py_ssize_t max_frame_bytes):
        self.max_frame_bytes = max_frame_bytes
        self.first_bytes = b""
        self.chunk_bytes, self.direct = CHUNK, DIRECT

    def enter(self, MemoryLimit room, *, bint is_answer=False, bint is_frugal=False):
        """Count what is held in `room` from now on."""
        cdef Py_ssize_t charged = self.charged
        self.charge(0)
        self.held_in, self.is_answer = room, is_answer
        self.charge(charged)
        self.chunk_bytes, self.direct = (SMALL_CHUNK, SMALL_DIRECT) if is_frugal else (CHUNK, DIRECT)

    def leave(self):
        """Stop counting: the connection is over."""
        self.charge(0)
        self.held_in, self.is_blocked = None, False

    cdef void charge(self, Py_ssize_t size) noexcept:
        """Count so many bytes of a chunk, in place of those that were counted."""
        if self.held_in is not None and size != self.charged:
            self.held_in.count(size - self.charged)
            self.charged = size

    def see(self):
        """Whether the frame under way has room; else `is_blocked`, and nothing more may be received."""
        return self.settle(False)

    def retry(self):
        """Whether there is room now; called in its turn."""
        if self.frame is None and self.held_in is not None:
            self.is_blocked = self.held_in.full()
            return not self.is_blocked
        return self.settle(True)

    @property
    def wanted(self):
        """Bytes of room that it waits for."""
        return CHUNK if self.frame is None else self.frame.size

    @property
    def unfinished(self):
        """Which frame is unfinished: where in the stream it began; None: there is none, or it may not be received."""
        if self.is_blocked or self.rest or self.frame is None and (self.chunk is None or self.lo == self.hi):
            return None
        return self.passed

    cdef bint settle(self, bint has_turn) noexcept:
        cdef Block frame = self.frame
        self.is_blocked = False
        if frame is None or frame.room is not None or self.held_in is None:
            return True
        if frame.size >= STREAM and self.at < HEAD:
            return True  # First it shows whether it goes on as it comes: then it takes no room.
        if self.held_in.reserve(frame.size, self.is_answer, has_turn):
            frame.room, frame.is_answer = self.held_in, self.is_answer
            try:
                self.grow()
                return True
            except MemoryError:
                self.frame.room.give_back(frame.size, self.is_answer)
                self.frame.room = None
        self.is_blocked = True
        return False

    cdef object begin(self, Py_ssize_t size):
        """Take memory for a large frame. A spare block is resident memory: none is held by a frame without room."""
        self.at = 0
        if self.held_in is None or size <= FIRST_BLOCK:
            self.frame = Block(size)
        else:
            self.frame = Block(FIRST_BLOCK, size)
            self.settle(False)

    cdef object grow(self):
        """Let the frame under way have all the memory that it needs."""
        cdef Block first = self.frame, whole
        if first.capacity >= first.size:
            return
        whole = Block(first.size)
        memcpy(whole.data, first.data, self.at)
        whole.room, whole.is_answer, first.room = first.room, first.is_answer, None
        self.frame = whole

    cdef bint must_wait(self) noexcept:
        """Whether nothing may be received though no frame is under way."""
        if self.held_in is None or self.is_answer or self.chunk is not None or self.frame is not None or self.rest:
            return False
        self.is_blocked = self.held_in.full()
        return self.is_blocked

    def __dealloc__(self):
        global idle
        if idle == <PyObject*>self:
            idle = NULL

    @property
    def buffered(self):
        """Bytes received that belong to an unfinished frame."""
        return self.hi - self.lo if self.frame is None else self.at + 4

    @property
    def received(self):
        """Bytes received in all."""
        return self.passed + self.buffered

    def get_buffer(self, sizehint=-1):
        """Return writable memory to receive into, never empty."""
        cdef Py_ssize_t room
        cdef uint8_t* place = self.place(&room)
        return window(self.chunk if self.frame is None else self.frame, place, room, False)

    cdef uint8_t* place(self, Py_ssize_t* room) except NULL:
        """Return where to receive to, and how much there is room for; it holds until the next call."""
        cdef Chunk fuller
        if self.frame is not None:
            if self.at == self.frame.capacity:
                self.grow()
            room[0] = self.room()
            return self.frame.data + self.at
        if self.chunk is None:
            self.take_chunk()
        elif self.rest and _Py_REFCNT(<PyObject*>self.chunk) == 1:
            self.lo = self.hi = 0
        elif self.hi > self.chunk.capacity - self.chunk.capacity // 4:
            # The unfinished frame moves; frames given out keep the old chunk as it is.
            fuller, self.chunk = self.chunk, new_chunk(self.chunk.capacity)
            memcpy(self.chunk.data, fuller.data + self.lo, self.hi - self.lo)
            self.hi -= self.lo
            self.lo = 0
        room[0] = self.room()
        return self.chunk.data + self.hi

    def buffer_updated(self, Py_ssize_t size):
        """Take note that `size` bytes were received; return the frames that are whole now."""
        cdef list frames = self.take(size, None, False)
        return [] if frames is None else frames

    cdef list take(self, Py_ssize_t size, FrameConsumer consumer, bint is_request):
        """Likewise; with a consumer all but those that it has taken. None: there is none."""
        global idle
        cdef list frames
        cdef Py_ssize_t end
        if self.failed is not None:
            raise self.failed
        if size < 0 or size > self.room():
            raise ValueError("more bytes than there was room for")
        if self.frame is not None:
            return self.take_frame(size)
        if size == 0:
            return None
        if idle == <PyObject*>self:
            idle = NULL
        if self.rest:
            return self.take_piece(size)
        if PyBytes_GET_SIZE(self.first_bytes) < FIRST_BYTES:
            end = self.hi + min(size, FIRST_BYTES - PyBytes_GET_SIZE(self.first_bytes))
            self.first_bytes += self.chunk.data[self.hi:end]
        self.hi += size
        if consumer is not None:
            consumer.take_small(self, is_request)
        frames = self.split()
        if self.lo == self.hi:
            self.chunk = None
            self.lo = self.hi = 0
        if self.held_in is not None:
            self.charge(0 if self.chunk is None else self.chunk.capacity)
        if self.failed is not None and not frames:
            raise self.failed
        return frames

    cdef int take_chunk(self) except -1:
        """Have a chunk to receive into.

        A transport that asks for a buffer, as after every large frame, and then finds nothing to read never tells
        us. Ten thousand connections would each keep an empty chunk: so the next framer takes it, unless the window
        on it is still held.
        """
        global idle
        cdef Framer other
        if idle != NULL:
            other = <Framer>idle
            if (other.chunk is not None and _Py_REFCNT(<PyObject*>other.chunk) == 1
                    and other.chunk.capacity == self.chunk_bytes):
                self.chunk, other.chunk = other.chunk, None
        if self.chunk is None:
            self.chunk = new_chunk(self.chunk_bytes)
        self.lo = self.hi = 0
        idle = <PyObject*>self
        return 0

    cdef Py_ssize_t room(self):
        cdef Py_ssize_t left
        if self.frame is not None:
            left = min(self.frame.size, self.frame.capacity) - self.at
            return left if self.held_in is None or self.frame.room is not None else min(left, self.chunk_bytes)
        if self.chunk is None:
            return 0
        left = self.chunk.capacity - self.hi
        return min(left, self.rest, <Py_ssize_t>PIECE) if self.rest else left

    cdef list take_frame(self, Py_ssize_t size):
        cdef Block frame = self.frame
        self.at += size
        if self.at < frame.size:
            return None
        self.passed += 4 + self.at
        self.frame = None
        self.is_blocked = False
        return [window(frame, frame.data, frame.size, True)]

    cdef Py_ssize_t small(self, const uint8_t** data) noexcept:
        """The size of the next frame if it is whole and small, and where it stands; 0: there is none."""
        cdef Py_ssize_t size, here = self.hi - self.lo - 4
        if here <= 0:
            return 0
        size = <int32_t>be32(self.chunk.data + self.lo)
        if size <= 0 or size > here or size >= OWN or size > self.max_frame_bytes:
            return 0
        data[0] = self.chunk.data + self.lo + 4
        return size

    cdef void skip(self, Py_ssize_t size) noexcept:
        """Leave out that frame."""
        self.lo += 4 + size
        self.passed += 4 + size

    cdef list split(self):
        """Take the whole frames out of the chunk, None if there is none; prepare for a large unfinished one."""
        cdef const uint8_t* data
        cdef list frames = None
        cdef Py_ssize_t size, here
        while self.hi - self.lo >= 4:
            data = self.chunk.data + self.lo
            size = <int32_t>be32(data)
            if size <= 0 or size > self.max_frame_bytes:
                self.failed = FrameTooLarge(size, self.max_frame_bytes, self.passed)
                self.lo = self.hi
                break
            here = self.hi - self.lo - 4
            if here < size:
                if size > self.direct:
                    self.begin(size)
                    memcpy(self.frame.data, data + 4, here)
                    self.at = here
                    self.lo = self.hi
                    self.is_tried = False
                break
            if frames is None:
                frames = []
            if OWN <= size < KEPT:
                frames.append(PyBytes_FromStringAndSize(<const char*>data + 4, size))
            else:
                frames.append(window(self.chunk, data + 4, size, True))
            self.lo += 4 + size
            self.passed += 4 + size
        return frames

    cdef object head(self):
        """Return what there is of a large frame that is not whole, once, when it is worth a look; else None."""
        cdef Block frame = self.frame
        if frame is None or self.is_tried or frame.size < STREAM or self.at < HEAD:
            return None
        self.is_tried = True
        return window(frame, frame.data, self.at, True)

    cdef int let_pass(self, Py_ssize_t tail) except -1:
        """Hand out the rest of the frame, which ends in so many zeros, as `piece` after each `take`."""
        self.rest, self.tail, self.is_blocked = self.frame.size - self.at, tail, False
        self.passed += 4 + self.at
        self.frame = None
        return 0

    cdef list take_piece(self, Py_ssize_t size):
        cdef uint8_t* data = self.chunk.data + self.hi
        cdef Py_ssize_t i
        self.hi += size
        self.lo = self.hi
        self.rest -= size
        self.passed += size
        for i in range(max(0, size - max(0, self.tail - self.rest)), size):
            if data[i]:
                self.failed = MalformedFrame("a large frame ends otherwise than its beginning said", self.passed)
                raise self.failed
        self.piece = window(self.chunk, data, size, True)
        if not self.rest:
            self.chunk = None
            self.lo = self.hi = 0
        return None
