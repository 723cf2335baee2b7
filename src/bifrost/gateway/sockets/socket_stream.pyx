# cython: language_level=3, boundscheck=False, wraparound=False
"""Moves a connection's bytes between its socket and a protocol's memory, in compiled code.

libuv only says when the socket is ready (`socket_watch.pyx`). Without TLS, bytes are received straight into a relay's
framer, with no Python object for them. With TLS, OpenSSL reads and writes the socket (`ssl.SSLSocket`), frees its
buffers when they are empty, and decrypts into the protocol's memory; an event loop's own TLS keeps 200 KiB for each
connection that was ever busy.
"""

import ssl
from os import strerror
from socket import SHUT_WR

from libc.errno cimport EAGAIN, EINTR, errno
from libc.stdint cimport uint8_t

from bifrost.forwarding.load cimport Load
from bifrost.forwarding.room cimport Room
from bifrost.gateway.sockets.frame_relay cimport CompiledRelay, write_now
from bifrost.gateway.sockets.read_turns cimport Readable, ReadTurns, turns_of
from bifrost.gateway.sockets.socket_watch cimport READABLE, WRITABLE

cdef extern from *:
    """
    #include <sys/ioctl.h>
    #include <sys/socket.h>
    #ifndef MSG_NOSIGNAL
    #define MSG_NOSIGNAL 0
    #endif
    static int count_unread(int fd) {
        int count = 0;
        return ioctl(fd, FIONREAD, &count) < 0 ? 0 : count;
    }
    """
    int count_unread(int fd) nogil
    Py_ssize_t recv(int fd, void* to, size_t size, int flags) nogil
    Py_ssize_t send(int fd, const void* data, size_t size, int flags) nogil
    int MSG_DONTWAIT, MSG_NOSIGNAL

NOT_YET = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError)

cdef enum:
    MAX_RECORD_BYTES = 16384    # of plaintext, RFC 8446, section 5.1
    END_READS = 3               # reads that an end counts as, beside its own: to close a socket takes some 40 us

SHUTDOWN_TIMEOUT_S = 5.0
_SCRATCH = bytearray(MAX_RECORD_BYTES)  # discarded bytes of all connections are received here


cdef class SocketStream(Readable):
    cdef readonly object socket
    cdef object protocol, get_buffer, buffer_updated, receive, give, timer, waiter
    cdef list backlog
    cdef CompiledRelay relay, encrypted_relay
    cdef Py_ssize_t unwritten, counted, high, low
    cdef Room backlogs
    cdef ReadTurns turns
    cdef int reads_left
    cdef readonly bint is_encrypted
    cdef bint reads, may_have_more, is_write_paused, closing, says_goodbye, lost, peer_has_closed

    def __init__(self, loop, socket, protocol):
        self.loop, self.socket, self.fd = loop, socket, socket.fileno()
        self.turns = turns_of(loop)
        self.backlog = []
        self.high, self.low = 64 * 1024, 16 * 1024
        self.receive, self.give = socket.recv_into, socket.send
        self.set_protocol(protocol)

    def encrypt(self, socket):
        self.socket, self.fd, self.is_encrypted = socket, socket.fileno(), True
        if socket._sslobj is None:
            raise ConnectionResetError("the other side is gone")
        # What `SSLSocket.read` and `write` call behind checks of their own, in Python.
        self.receive, self.give = socket._sslobj.read, socket._sslobj.write

    def set_protocol(self, protocol):
        self.protocol = protocol
        relay = protocol if isinstance(protocol, CompiledRelay) else None
        self.relay, self.encrypted_relay = (None, relay) if self.is_encrypted else (relay, None)
        if self.relay is None:
            self.get_buffer, self.buffer_updated = protocol.get_buffer, protocol.buffer_updated
        else:
            self.get_buffer = self.buffer_updated = None

    def get_protocol(self):
        return self.protocol

    # -- reading

    cpdef bint is_reading(self):
        return self.reads

    def pause_reading(self):
        if self.reads:
            self.reads = False
            self.wait_for(self.events & ~READABLE)

    def resume_reading(self):
        if self.closing or self.reads:
            return
        self.reads = True
        self.wait_for(self.events | READABLE)
        if self.may_have_more:
            self.turns.wait(self)

    def call_when_ready(self, waiter, is_to_write=False):
        self.waiter = waiter
        self.wait_for(0 if waiter is None else WRITABLE if is_to_write else READABLE)

    cdef int ready(self, int events) except -1:
        if self.waiter is not None:
            self.waiter()
            return 0
        if events & READABLE & self.events:
            if self.says_goodbye:
                self.throw_away()
            else:
                self.turns.read(self)
        if events & WRITABLE & self.events:
            self.write_on()
        return 0

    cdef int watch(self, bint is_wanted) except -1:
        if not is_wanted:
            return self.wait_for(self.events & ~READABLE)
        return self.wait_for(self.events | READABLE) if self.reads else 0

    cdef Load load(self):
        cdef CompiledRelay relay = self.relay if self.relay is not None else self.encrypted_relay
        return None if relay is None else relay.session._load

    cdef int read_some(self, int reads) except -1:
        cdef bint has_more = True
        self.reads_left, self.wants_turn = reads, False
        try:
            while has_more and self.reads_left > 0 and self.reads:
                has_more = self.receive_for_relay() if self.relay is not None else self.receive_for_protocol()
        except Exception as error:
            # The protocol has not caught an error: bytes may be lost, so what follows them cannot be trusted.
            self.lose(error)
            raise
        self.may_have_more = has_more
        self.wants_turn = has_more and self.reads
        return reads - self.reads_left

    cdef bint receive_for_relay(self) except -1:
        """Receive once into the framer's memory; return whether there is more."""
        cdef CompiledRelay relay = self.relay
        cdef Py_ssize_t room, size
        cdef uint8_t* place
        if relay.framer.must_wait():
            self.reads_left -= 1
            relay.owner.update_reading()
            return True
        place = relay.framer.place(&room)
        # The socket may hold megabytes of a large frame; copying those takes milliseconds.
        room = min(room, self.reads_left * MAX_RECORD_BYTES)
        size = recv(self.fd, place, room, MSG_DONTWAIT)
        self.reads_left -= 1 + size // MAX_RECORD_BYTES
        if size > 0:
            relay.received(size)
            return size == room
        if size == 0:
            self.end()
        elif errno != EAGAIN and errno != EINTR:
            self.reads_left -= END_READS
            self.lose(OSError(errno, strerror(errno)))
        return False

    cdef bint receive_for_protocol(self) except -1:
        """Fill the protocol's memory once, with as many records as fit; return whether there is more."""
        cdef Py_ssize_t size, room, filled = 0
        cdef bint has_more = True, has_ended = False
        if self.encrypted_relay is not None and self.encrypted_relay.framer.must_wait():
            self.encrypted_relay.owner.update_reading()
            return True
        buffer, failure = self.get_buffer(-1), None
        room = len(buffer)
        while has_more and self.reads_left > 0 and filled < room:
            self.reads_left -= 1
            try:
                place = buffer[filled:] if filled else buffer
                # An SSL object's `read`, or a socket's `recv_into`.
                size = self.receive(room - filled, place) if self.is_encrypted else self.receive(place)
            except NOT_YET:
                has_more = False
            except ssl.SSLEOFError:
                has_more, has_ended = False, True    # TCP ended without close_notify.
            except OSError as error:
                failure, has_more = error, False
            else:
                filled += size
                has_ended = size == 0
                # The rest of a record is in OpenSSL, where the event loop does not see it; in a socket it does.
                has_more = size and (filled == room or self.is_encrypted and count_unread(self.fd) > 0)
        self.may_have_more = has_more
        if filled and self.encrypted_relay is not None:
            self.encrypted_relay.received(filled)
        elif filled:
            self.buffer_updated(filled)
        if failure is not None:
            self.reads_left -= END_READS
            self.lose(failure)
        elif has_ended:
            self.end()
        return has_more

    cdef int end(self) except -1:
        """Take note that the other side has closed, and close."""
        self.reads_left -= END_READS
        if not self.lost:
            self.peer_has_closed = True
            self.protocol.eof_received()
            self.close()
        return 0

    # -- writing

    def count_in(self, Room backlogs):
        """Count the bytes that wait to be written in `backlogs`, which many transports share."""
        self.backlogs = backlogs
        self.count_backlog()

    cdef int count_backlog(self) except -1:
        # Bytes above the limit belong to a large frame, which is counted where it was received.
        cdef Py_ssize_t size = min(self.unwritten, self.high)
        if self.backlogs is not None and size != self.counted:
            self.backlogs.count(size - self.counted)
            self.counted = size
        return 0

    def set_write_buffer_limits(self, high=None, low=None):
        self.high = 64 * 1024 if high is None else high
        self.low = self.high // 4 if low is None else low

    cpdef Py_ssize_t get_write_buffer_size(self):
        return self.unwritten

    cdef bint is_free(self) noexcept:
        return not (self.closing or self.unwritten or self.is_encrypted)

    cdef Py_ssize_t send_now(self, const void* data, Py_ssize_t size) noexcept:
        # What is not sent, for whatever reason, is written as all else is, which meets the errors.
        if not self.is_free():
            return 0
        return max(0, send(self.fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL))

    def write(self, data):
        self.writelines([data])

    cpdef writelines(self, list segments):
        cdef bint is_first = not self.backlog, is_too_much
        cdef Py_ssize_t done
        if self.closing:
            return
        if is_first and not self.is_encrypted:
            segments = segments[:]  # It belongs to the caller, and is trimmed.
            done = write_now(self.fd, segments)
            if done == len(segments):
                return
            segments = segments[done:]
        for segment in gathered(segments):
            self.unwritten += len(segment)
            self.backlog.append(segment)
        if is_first:
            self.push()
        else:
            self.count_backlog()
        is_too_much = self.unwritten > self.high or self.unwritten and self.backlogs is not None and self.backlogs.full()
        if is_too_much and not self.is_write_paused:
            self.is_write_paused = True
            self.protocol.pause_writing()

    cdef int push(self) except -1:
        """Write as much as the socket accepts."""
        cdef Py_ssize_t sent, done = 0
        failure = None
        try:
            while done < len(self.backlog):
                sent = self.give(self.backlog[done])
                self.unwritten -= sent
                if sent == len(self.backlog[done]):
                    done += 1
                else:
                    self.backlog[done] = memoryview(self.backlog[done])[sent:]
        except NOT_YET:
            self.wait_for(self.events | WRITABLE)
        except OSError as error:
            failure = error
        del self.backlog[:done]
        self.count_backlog()
        if failure is not None:
            self.lose(failure)
        elif not self.backlog:
            self.wait_for(self.events & ~WRITABLE)
        return 0

    cdef int write_on(self) except -1:
        try:
            self.push()
            if self.is_write_paused and self.unwritten <= self.low and not self.lost:
                self.is_write_paused = False
                self.protocol.resume_writing()
            if self.closing and not self.backlog:
                self.say_goodbye()
        except Exception as error:
            # Otherwise the rest would never be written, and the socket never closed.
            self.lose(error)
            raise
        return 0

    # -- the end

    cpdef bint is_closing(self):
        return self.closing

    def can_write_eof(self):
        return False

    def close(self):
        if self.closing:
            return
        self.pause_reading()
        self.closing = True
        if not self.backlog:
            self.say_goodbye()

    cdef int say_goodbye(self) except -1:
        """End the writing side, and wait for the other side: a close with unread bytes would send a reset."""
        if self.says_goodbye or self.lost:
            return 0
        self.says_goodbye, self.waiter = True, None
        if self.is_encrypted:
            try:
                self.socket.unwrap()
            except (OSError, ValueError):
                pass  # It never waits for the answer.
        try:
            self.socket.shutdown(SHUT_WR)
        except OSError:
            self.peer_has_closed = True
        if self.peer_has_closed:
            return self.lose(None)
        self.timer = self.loop.call_later(SHUTDOWN_TIMEOUT_S, self.abort)
        self.wait_for(self.events | READABLE)
        return 0

    cdef int throw_away(self) except -1:
        try:
            if self.socket.recv_into(_SCRATCH):
                return 0
        except BlockingIOError:
            return 0
        except OSError:
            pass
        return self.lose(None)

    def abort(self):
        self.lose(None)

    cpdef int lose(self, error) except -1:
        """Close the socket, and tell the protocol soon."""
        if self.lost:
            return 0
        self.lost = self.closing = True
        self.reads = False
        self.waiter = None
        self.stop_waiting()
        if self.timer is not None:
            self.timer.cancel()
        self.backlog, self.unwritten = [], 0
        self.count_backlog()
        self.socket.close()
        self.loop.call_soon(self.tell, error)
        return 0

    def tell(self, error):
        protocol = self.protocol
        self.protocol = self.get_buffer = self.buffer_updated = self.receive = self.give = self.timer = None
        protocol.connection_lost(error)


cdef list gathered(list segments):
    """Join small segments, as each written segment becomes a TLS record and a system call of its own."""
    cdef Py_ssize_t size, whole = 0
    cdef list out, run
    for segment in segments:
        whole += len(segment)
    if whole <= MAX_RECORD_BYTES:
        return [b"".join(segments)] if whole else []
    if len(segments) == 1:
        return segments
    out, run, whole = [], [], 0
    for segment in segments:
        size = len(segment)
        if run and whole + size > MAX_RECORD_BYTES:
            out.append(run[0] if len(run) == 1 else b"".join(run))
            run, whole = [], 0
        if size >= MAX_RECORD_BYTES:
            out.append(segment)
        elif size:
            run.append(segment)
            whole += size
    if run:
        out.append(b"".join(run))
    return out
