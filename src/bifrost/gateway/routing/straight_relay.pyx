# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Requests by leader at a single address, from the client's socket to their brokers' and back, in compiled code.

    client's relay ──▶ StraightRouter.receive ──▶ the sockets of the brokers that lead its partitions
                         │ another request, or one behind requests that wait
                         └──────────▶ Router.route

    client's socket ◀── session ◀── StraightRelay ◀── those brokers' sockets; the last answer completes a split request
                                      │ an error, an answer to anything else, or bytes that are no frame
                                      └──────────▶ BrokerLink.take_frames

Both only shorten what `Router` and `BrokerLink` do, which have the same queues: what is unusual takes the long way, in
its order.
"""

import asyncio
from collections import deque

from libc.stdint cimport int64_t

from bifrost.forwarding.clock cimport clock_ns
from bifrost.forwarding.forwarding cimport Forwarding
from bifrost.forwarding.lane cimport PASSES
from bifrost.gateway.sockets.frame_relay cimport CompiledRelay
from bifrost.wire.framer cimport Framer

from bifrost.routes.split_request cimport MANY, SentPart, SplitRequest, timeout_of
from bifrost.routes.straight cimport StraightRequest

from bifrost.routes.frame_cutter import cut_frames
from bifrost.wire.errors import FrameTooLarge
from bifrost.wire.window import keep

cdef enum:
    AT_ONCE = 64    # requests that are sent on as they arrive, or partitions of those that are taken apart, some 0.2 ms;
                    # `route_turns.py` has the others


cdef class StraightLink:
    """What a router's connection to a broker is to straight requests."""

    def __init__(self):
        self.connection = self.task = self.timer = None
        self.awaited, self.unsent = deque(), deque()
        self.waits_unanswered = self.has_unanswered = False
        self.looks_s = 0.0

    cpdef bint is_open(self) except -1:
        connection = self.connection
        return connection is not None and connection.transport is not None and not connection.is_login_due

    cpdef bint is_ready(self) except -1:
        return self.task is None and not self.unsent and self.is_open()


cdef class StraightRouter:
    """What a router is to straight requests and their answers."""

    def __init__(self, client, Forwarding session not None, read, waiting, loop):
        self.client, self.session, self.read, self.waiting, self.loop = client, session, read, waiting, loop
        self.turns, self.held, self.fresh = deque(), deque(), deque()
        self.links = {}

    # -- requests

    def receive(self, list segments not None):
        """Send whole frames of requests on. What is answered at once is given back later: the session still writes."""
        cdef Py_ssize_t done = 0, count, left = AT_ONCE, cost
        cdef bint is_tried = False
        if self.is_closed:
            return
        self.is_receiving = True
        try:
            frames = cut_frames(segments)
            count = len(frames)
            if not self.held and not self.fresh and not (self.waiting and self.client.tenant in self.waiting):
                while done < count and left > 0:
                    cost = self.send_on(<list>frames[done])
                    is_tried = not cost
                    if is_tried:
                        break
                    left -= cost
                    done += 1
            if done < count:
                self.route(frames[done:] if done else frames, is_tried)
        except Exception as error:
            self.fail(error)
        finally:
            self.is_receiving = False
        if self.turns and self.turns[0].answer is not None:
            self.loop.call_soon(self.deliver)

    cdef Py_ssize_t send_on(self, list frame) except -1:
        """Send a request to the brokers that lead its partitions; return what it cost, 0: it goes another way."""
        cdef SplitRequest whole
        found = self.read(frame, clock_ns() // 1_000_000)
        if found is None:
            return 0
        if type(found) is SplitRequest:
            whole = <SplitRequest>found
            self.send_split(whole, -1)
            return whole.split.count
        self.send_straight(found)
        return 1

    def send_straight(self, StraightRequest straight not None):
        """Send a request to the one broker that leads its partitions."""
        if straight.is_answered and not self.is_closed:
            self.turns.append(straight)
        self.send_to(straight.node, straight.segments, straight if straight.is_answered else None,
                     timeout_of(straight.timeout_ms, straight.is_answered))
        straight.let_go()

    def send_split(self, SplitRequest whole not None, elsewhere):
        """Send each broker its part of a request."""
        cdef list parts = whole.parts(elsewhere)
        if whole.is_answered and not self.is_closed:
            self.turns.append(whole)
        for node, segments in parts:
            self.send_to(node, segments, SentPart(whole, node) if whole.is_answered else None, whole.timeout_s)
        if whole.split.has_absent:
            self.refuse_absent(whole, is_all=not parts)

    cdef int send_to(self, node, list segments, answered, double timeout_s) except -1:
        cdef StraightLink link
        cdef double due_s
        found = self.links.get(node)
        if found is None or not (<StraightLink>found).is_ready():
            self.link(node).send(segments, answered, timeout_s)
            return 0
        link = <StraightLink>found
        if answered is None:
            link.waits_unanswered = link.has_unanswered = True
        else:
            due_s = clock_ns() / 1e9 + timeout_s
            link.awaited.append((answered, due_s))
            if link.timer is None or due_s < link.looks_s:
                link.watch(due_s)
        link.connection.transport.writelines(segments)
        return 0

    # -- answers

    cdef bint take_answer(self, StraightLink link, frame) except -1:
        """Take the answer to a straight request; False: it answers another one, or has something unusual."""
        if not link.awaited:
            return False
        answered = link.awaited[0][0]
        if type(answered) is SentPart:
            link.awaited.popleft()
            self.take_part(<SentPart>answered, keep(frame), True)
            return True
        if type(answered) is not StraightRequest or not (<StraightRequest>answered).take(frame):
            return False
        link.awaited.popleft()
        if (self.turns and self.turns[0] is answered and not self.is_closed and not self.is_receiving
                and not self.is_in_batch and not self.is_delivering and self.passes(frame)):
            self.turns.popleft()
            return True
        (<StraightRequest>answered).answer = keep(frame)
        return True

    cpdef bint take_part(self, SentPart part, frame, bint may_be_done) except -1:
        """Take the answer of a broker to its part, None: it is lost; return whether the request is answered now."""
        cdef SplitRequest whole = part.whole
        if self.is_closed:
            return False
        try:
            if not whole.note(part.node, frame, may_be_done):
                return False
            if whole.split.count > MANY:
                self.loop.call_soon(self.complete, whole)
            else:
                whole.answer = self.join(whole) if whole.split.has_error else whole.merged()
        except Exception as error:
            self.fail(error)
        return whole.answer is not None

    cdef bint passes(self, frame) except -1:
        """Let the session send an answer to the client; False: it has to decide, in its Python code."""
        # A held request may continue when an answer has arrived.
        if self.session._held_requests:
            return False
        try:
            return self.session.pass_back(frame) == PASSES
        except Exception:
            return False  # The frame had no effect; it fails again where errors are explained.

    cdef int give_ready(self) except -1:
        """Give the client the answers that are next, until one is awaited."""
        cdef list rest
        cdef bint has_given = True
        while has_given and not self.is_closed:
            rest, has_given = [], False
            while self.turns:
                frame = self.turns[0].answer
                if frame is None:
                    break
                has_given = True
                if rest or not self.passes(frame):
                    rest.append(frame)
                self.turns.popleft()
            if rest:
                self.client.broker_frames(rest, self.framer)
            elif self.session.to_client:
                self.write_answers()
        return 0

    cdef int write_answers(self) except -1:
        """Write the answers that have passed; whether anything else is to be done, the client's Python code decides."""
        if self.to is None or not self.session.is_read_on():
            self.client.flush()
        else:
            self.to.writelines(self.session.to_client)
            self.session.to_client.clear()
        return 0

    def deliver(self):
        """Give the client the answers that are next, unless more of them come at once."""
        if self.is_delivering or self.is_closed or self.is_receiving or self.is_in_batch:
            return
        self.is_delivering = True
        try:
            self.give_ready()
        except Exception as error:
            self.fail(error)
        finally:
            self.is_delivering = False

    def begin_batch(self):
        """Let answers wait until `end_batch`, so that the client gets them in one write; False: they do already."""
        was_in_batch, self.is_in_batch = self.is_in_batch, True
        return not was_in_batch

    def end_batch(self):
        """Give the answers that have waited."""
        self.is_in_batch = False
        self.deliver()


cdef class CompiledStraightRelay(CompiledRelay):
    """From a broker's socket to a router's client."""

    cdef StraightRouter router
    cdef StraightLink link

    def __init__(self, Framer framer not None, StraightRouter router not None, StraightLink link not None, protocol):
        self.framer, self.session, self.router, self.link = framer, router.session, router, link
        self.owner, self.protocol, self.fd = link, protocol, -1

    def connection_lost(self, exc):
        self.protocol.connection_lost(exc)
        self.owner = self.protocol = self.link = None

    cdef int take(self, Py_ssize_t size, Forwarding session) except -1:
        cdef list frames = None
        cdef Py_ssize_t done = 0, count = 0
        cdef StraightLink link = self.link
        cdef StraightRouter router = self.router
        try:
            frames = self.framer.take(size, None, False)
        except FrameTooLarge:
            pass  # `failed` says so.
        if frames is not None:
            count = len(frames)
            while done < count and router.take_answer(link, frames[done]):
                done += 1
            if done:
                router.deliver()
        if done < count or self.framer.failed is not None or not link.awaited and link.unsent:
            link.take_frames([] if frames is None else frames[done:], self.framer)
        if self.framer.frame is not None and not self.framer.settle(False) and self.owner is not None:
            self.owner.update_reading()
        return 0


class StraightRelay(CompiledStraightRelay, asyncio.BufferedProtocol):
    """Relays what a broker answers."""

    __slots__ = ()
