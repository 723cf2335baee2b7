# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One direction of a client's connection: from the framer of one side to the socket of the other, in compiled code.

The event loop calls a relay with the bytes that it has received. Frames about which the session has nothing to decide
are rewritten and written at once, several in one system call; the first unusual frame, and all behind it, go to the
connection's Python code.

    event loop ──▶ FrameRelay.buffer_updated ──▶ Framer ──▶ Forwarding ──▶ sendmsg
                                             │ unusual, or an error
                                             └──────────▶ ClientConnection

The transport writes what a socket does not accept at once, and nothing overtakes what the transport still has to write.
With TLS the transport writes everything.
"""

import asyncio

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from libc.errno cimport EINTR, errno
from libc.stdint cimport int64_t

from bifrost.forwarding.forwarding cimport Forwarding, Outlet
from bifrost.forwarding.lane cimport PASSES
from bifrost.wire.framer cimport Framer

cdef extern from "Python.h":
    bint PyMemoryView_Check(object view)
    Py_buffer* PyMemoryView_GET_BUFFER(object view)

cdef extern from "sys/uio.h" nogil:
    cdef struct iovec:
        void* iov_base
        size_t iov_len

cdef extern from *:
    """
    #include <string.h>
    #include <sys/socket.h>
    #ifndef MSG_NOSIGNAL
    #define MSG_NOSIGNAL 0
    #endif
    static Py_ssize_t send_vectors(int fd, struct iovec* vectors, int count) {
        struct msghdr message;
        memset(&message, 0, sizeof(message));
        message.msg_iov = vectors;
        message.msg_iovlen = count;
        return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    """
    Py_ssize_t send_vectors(int fd, iovec* vectors, int count) nogil

cdef enum:
    VECTORS = 64    # segments in one system call


cdef class CompiledRelay:
    def __init__(self, Framer framer not None, Forwarding session not None, owner, protocol, to):
        self.framer, self.session, self.owner, self.protocol, self.to = framer, session, owner, protocol, to
        self.is_request = protocol is owner
        self.size_of_queue, self.is_closing = to.get_write_buffer_size, to.is_closing
        self.outlet = to if isinstance(to, Outlet) else None
        # Written to only while the transport is open: afterwards the number may be another socket's.
        self.fd = -1 if to.get_extra_info("sslcontext") is not None else to.get_extra_info("socket").fileno()

    def connection_lost(self, exc):
        self.protocol.connection_lost(exc)
        self.owner = self.protocol = self.to = self.size_of_queue = self.is_closing = self.outlet = None

    def pause_writing(self):
        self.protocol.pause_writing()

    def resume_writing(self):
        self.protocol.resume_writing()

    def eof_received(self):
        return self.protocol.eof_received()

    @property
    def get_buffer(self):
        return self.framer.get_buffer  # The framer's own method: an event loop may remember it.

    def buffer_updated(self, Py_ssize_t size):
        self.received(size)

    cdef int received(self, Py_ssize_t size) except -1:
        cdef Forwarding session = self.session
        cdef int64_t began_ns = session.begin_turn()
        self.take(size, session)
        return session.spend_since(began_ns)

    cdef int take(self, Py_ssize_t size, Forwarding session) except -1:
        cdef list frames = None, out = session.to_broker if self.is_request else session.to_client
        cdef Py_ssize_t i = 0, count = 0
        cdef bint was_passing = self.framer.rest > 0
        session.outlet, session.has_sent = self.outlet, False
        try:
            frames = self.framer.take(size, session, self.is_request)
            count = 0 if frames is None else len(frames)
            while i < count and self.passes(frames[i]):
                i += 1
            if was_passing:
                self.take_piece(out)
            elif i == count and self.framer.frame is not None:
                self.begin_to_pass()
        except Exception:
            pass  # The frame had no effect; it fails again in the Python code, which explains the error.
        session.outlet = None
        if i < count or self.framer.failed is not None:
            self.decide([] if frames is None else frames[i:])
        elif out or i or session.has_sent or self.is_request and session.to_client:
            if out:
                self.write(out)
                out.clear()
            if self.is_request and session.to_client or not session.is_read_on():
                self.owner.flush()
        if self.framer.frame is not None and not self.framer.settle(False) and self.owner is not None:
            self.owner.update_reading()
        return 0

    cdef int begin_to_pass(self) except -1:
        """Forward what has arrived of a large frame, if its remaining bytes cannot change the result."""
        cdef Py_ssize_t tail = 0
        head = self.framer.head()
        if head is None:
            return 0
        if self.is_request:
            if self.session.begin_request(head, self.framer.frame.size, &tail):
                self.framer.let_pass(tail)
        elif self.session.begin_response(head, self.framer.frame.size, &tail):
            self.framer.let_pass(tail)
        return 0

    cdef int take_piece(self, list out) except -1:
        """Append the piece of such a frame that has arrived."""
        out.append(self.framer.piece)
        self.session.go_on(self.is_request, self.framer.piece)
        self.framer.piece = None
        if self.framer.rest:
            return 0
        if self.is_request:
            self.session.end_request()
        else:
            self.session.end_response()
        return 0

    cdef bint passes(self, frame) except -1:
        if self.is_request:
            return self.session.pass_on(frame) == PASSES
        # A held request may continue when an answer has arrived.
        return not self.session._held_requests and self.session.pass_back(frame) == PASSES

    cdef int decide(self, list frames) except -1:
        if self.is_request:
            self.owner.client_frames(frames)
        else:
            self.owner.broker_frames(frames, self.framer)
        return 0

    cdef int write(self, list segments) except -1:
        """Write as much as the socket accepts; give the rest to the transport."""
        cdef Py_ssize_t done = 0
        if self.outlet is not None:
            if self.outlet.is_free():
                done = write_now(self.fd, segments)
        elif self.is_closing():
            return 0
        elif self.fd >= 0 and not self.size_of_queue():
            done = write_now(self.fd, segments)
        if done < len(segments):
            self.to.writelines(segments[done:] if done else segments)
        return 0


class FrameRelay(CompiledRelay, asyncio.BufferedProtocol):
    """Relays one direction of a connection."""

    __slots__ = ()


cdef Py_ssize_t write_now(int fd, list segments) except -1:
    """Write what a socket accepts; return how many segments were written. A partly written one is trimmed in the list.

    What is not sent, for whatever reason, the transport writes, which meets the errors.
    """
    cdef iovec vectors[VECTORS]
    cdef Py_ssize_t done = 0, size, total, sent
    cdef int count, i
    while done < len(segments):
        count = total = 0
        while count < VECTORS and done + count < len(segments):
            segment = segments[done + count]
            if PyBytes_CheckExact(segment):
                vectors[count].iov_base = PyBytes_AS_STRING(segment)
                size = PyBytes_GET_SIZE(segment)
            elif PyMemoryView_Check(segment):
                vectors[count].iov_base = PyMemoryView_GET_BUFFER(segment).buf
                size = PyMemoryView_GET_BUFFER(segment).len
            else:
                raise TypeError(f"segments are bytes or memoryviews, not {type(segment).__name__}")
            vectors[count].iov_len = size
            total += size
            count += 1
        sent = send_vectors(fd, vectors, count)
        if sent < 0:
            if errno == EINTR:
                continue
            return done
        if sent == total:
            done += count
            continue
        for i in range(count):
            if sent < <Py_ssize_t>vectors[i].iov_len:
                break
            sent -= vectors[i].iov_len
            done += 1
        if sent:
            segments[done] = memoryview(segments[done])[sent:]
        return done
    return done
