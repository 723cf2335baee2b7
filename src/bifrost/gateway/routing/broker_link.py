"""One broker's connection among those of a router: what is sent, what is awaited, and until when.

    idle ──send──▶ connecting ──▶ open ──login due, nothing awaited──▶ logging in ──▶ open …
                        └────────────┴── lost, or an answer is late ──▶ lost: each part fails, the next makes a new link

Parts leave in the order in which they were given, and a broker answers in that order. A part whose request has a
timeout of its own fails alone when that is over: what the broker answers to it later is dropped, and the link is lost
only when it has not answered some seconds after.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import structlog

from bifrost.gateway.brokers.broker_connection import (
    BrokerConnection,
    connect,
    renew_login,
    set_reading,
    set_up_socket,
)
from bifrost.gateway.errors import BrokerError, LoginError
from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.routing.straight_relay import StraightLink, StraightRelay
from bifrost.gateway.sockets.socket_transport import SocketTransport
from bifrost.routes.split_request import LATE_S, SentPart
from bifrost.routes.straight import StraightRequest
from bifrost.session.close_reason import CloseReason
from bifrost.wire.errors import FrameTooLarge
from bifrost.wire.framer import Framer
from bifrost.wire.window import keep

if TYPE_CHECKING:
    from bifrost.gateway.routing.router import Router

log = structlog.get_logger()

Buffer = bytes | memoryview
Answered = Callable[[Buffer | None, bool], None] | StraightRequest | SentPart
"""Gets the frame of an answer, without its length; or None, and whether the part may have reached the broker. Of
requests by leader the router takes care (`Router.give`), so that no function is made for them."""


MOST_DROPPED = 100
"""Answers of one broker that are still awaited, to be dropped; with more the link is lost, for they are memory. As many
as a client may have requests under way, by default."""


class _Part(NamedTuple):
    """A part that is to be sent."""

    segments: list[Buffer]
    answered: Answered | None
    """None: the broker does not answer it."""
    due_s: float


class BrokerLink(StraightLink):
    """A connection to one broker, made when the first part is sent."""

    def __init__(self, router: "Router", node_id: int, forget: Callable[[], object]) -> None:
        """Connect to nothing yet; `forget` is called when the link is lost."""
        super().__init__()
        self._router, self.node_id, self._forget = router, node_id, forget
        self._is_finishing = self._is_lost = False

    def send(self, segments: list[Buffer], answered: Answered | None, timeout_s: float) -> None:
        """Send a part.

        Args:
            segments: its whole frame.
            answered: called once with the answer, perhaps before this returns; None: there is none.
            timeout_s: how long the answer may take.
        """
        due_s = self._router.loop.time() + timeout_s
        if self.is_ready():
            self._write(segments, answered, due_s)
        else:
            self.unsent.append(_Part(segments, answered, due_s))
            self.watch(due_s)
            if self.task is None:
                self._go_on()

    @property
    def is_stuck(self) -> bool:
        """Whether parts wait to be written that no answer bounds: then the client may not be read."""
        connection = self.connection
        if connection is not None and not connection.is_write_paused and not self.unsent:
            self.waits_unanswered = False
            return False
        return self.waits_unanswered or any(one.answered is None for one in self.unsent)

    def _write(self, segments: list[Buffer], answered: Answered | None, due_s: float) -> None:
        assert self.connection is not None
        assert self.connection.transport is not None
        if answered is None:
            self.waits_unanswered = self.has_unanswered = True
        else:
            self.awaited.append((answered, due_s))
            self.watch(due_s)
        self.connection.transport.writelines(segments)

    def _go_on(self) -> None:
        """Connect, or renew the login, if that is what parts wait for."""
        if self._is_lost or self.task is not None:
            return
        connection = self.connection
        if connection is None:
            self.task = self._router.loop.create_task(self._connect())
        elif connection.is_login_due and not self.awaited:
            self.task = self._router.loop.create_task(self._renew_login(connection))
        elif not connection.is_login_due:
            while self.unsent and self.is_open():
                self._write(*self.unsent.popleft())
            self._router.update()
            if self._is_finishing:
                self.close()

    async def _connect(self) -> None:
        with self._ending():
            await self._try_to_connect()
            self._go_on()

    async def _try_to_connect(self) -> None:
        router = self._router
        try:
            await router.gateway.connects.turn()
            broker = router.cluster.broker(self.node_id)
            if broker is None:
                raise BrokerError(f"the cluster has no broker {self.node_id}")
            limit_ms = router.gateway.limits.upstream_connect_timeout_ms
            made = await connect(self, broker, router.cluster.security, router.login(), limit_ms)
            made.count_in(router.gateway.broker_connections, router.cluster.name)
            try:
                if not self._is_lost:
                    self._take(made)
            finally:
                if self.connection is not made and made.transport is not None:
                    made.transport.close()
        except (BrokerError, OSError) as error:
            self._lose(str(error), is_away=True)
        except Exception as error:
            report("route", error, node_id=self.node_id)
            self._lose(type(error).__name__)
        finally:
            self.task = None

    def _take(self, made: BrokerConnection) -> None:
        """Use a connection, which is logged in."""
        if made.transport is not None and not isinstance(made.transport, SocketTransport):
            taken = SocketTransport.take(made.transport, made)
            set_up_socket(taken)
            made.transport = taken
            taken.resume_reading()
        rooms = self._router.rooms
        made.framer.enter(rooms.room(self._router.tenant), is_answer=True)
        if isinstance(made.transport, SocketTransport):
            made.transport.count_in(rooms.backlogs)
        self.connection = made
        self._relay(made)
        self.update_reading()

    def _relay(self, connection: BrokerConnection) -> None:
        """Let compiled code read the broker's answers, from after a login until the next one."""
        if connection.transport is not None:
            relay = StraightRelay(connection.framer, self._router, self, connection)
            connection.transport.set_protocol(relay)

    async def _renew_login(self, connection: BrokerConnection) -> None:
        with self._ending():
            await self._try_to_renew_login(connection)
            self._go_on()

    async def _try_to_renew_login(self, connection: BrokerConnection) -> None:
        router = self._router
        try:
            login, broker = router.login(), router.cluster.broker(self.node_id)
            if login is None or broker is None:
                raise LoginError("the account that the connection was made with is not in the configuration")
            limit_ms = router.gateway.limits.upstream_connect_timeout_ms
            await renew_login(connection, broker, login, limit_ms)
            self._relay(connection)
        except BrokerError as error:
            self._lose(str(error))
        except Exception as error:
            report("route", error, node_id=self.node_id)
            self._lose(type(error).__name__)
        finally:
            self.task = None

    # -- what the broker connection calls

    def broker_bytes_received(self, framer: Framer, nbytes: int) -> None:
        """Give the answers that are whole to those who wait for them."""
        try:
            frames = framer.buffer_updated(nbytes)
        except FrameTooLarge:
            frames = []
        self.take_frames(frames, framer)
        if not self._is_lost and not framer.see():
            self.update_reading()

    def take_frames(self, frames: list[Buffer], framer: Framer) -> None:
        """Give answers to those who wait for them, and go on with what waits until all are there.

        Args:
            frames: the answers, without their lengths.
            framer: the connection's, which says if no more will come.
        """
        if frames and not self._give(frames):
            self._lose("the broker sent what no request asked for")
            return
        if framer.failed is not None:
            self._lose(str(framer.failed))
            return
        if not self.awaited and self.unsent:
            self._go_on()

    def _give(self, frames: list[Buffer]) -> bool:
        """Give answers to what awaits them; False: one was not asked for."""
        router = self._router
        with_others = len(frames) > 1 and router.begin_batch()
        try:
            for frame in frames:
                if not self.awaited:
                    return False
                router.give(self.awaited.popleft()[0], keep(frame), may_be_done=True)
        finally:
            if with_others:
                router.end_batch()
        return True

    def update_reading(self) -> None:
        """Read the broker's answers only while there is room for them, and the client takes them."""
        connection = self.connection
        self._router.update()
        if connection is None or connection.transport is None:
            return
        framer, rooms = connection.framer, self._router.rooms
        if framer.is_blocked:
            rooms.wait(self._router.tenant, framer, self)
        set_reading(connection.transport, self._router.is_read and not framer.is_blocked)

    def broker_login_due(self) -> None:
        """Send nothing more until the login is renewed; do that at once if nothing is awaited."""
        with self._ending():
            if self.unsent:
                self._go_on()

    def end(self, reason: CloseReason, detail: str) -> None:
        """Take note that the broker has closed the connection."""
        with self._ending():
            self._lose(detail)

    # -- the end

    def watch(self, due_s: float) -> None:
        """Look at `due_s`, by the loop's time, whether a part is late, if that is not planned for earlier."""
        if self._is_lost or (self.timer is not None and self.looks_s <= due_s):
            return
        if self.timer is not None:
            self.timer.cancel()
        self.timer, self.looks_s = self._router.loop.call_at(due_s, self._end_late), due_s

    def _end_late(self) -> None:
        self.timer = None
        with self._ending():
            self._look()

    def _look(self) -> None:
        """Fail the parts whose own time is over; give up if another one is late; else look again when one would be."""
        now_s = self._router.loop.time()
        late = self._take_late(now_s)
        for answered, may_be_done in late:
            self._router.give(answered, None, may_be_done=may_be_done)
        due = [(due_s, answered is not _drop) for answered, due_s in self.awaited]
        due += [(one.due_s, True) for one in self.unsent]
        is_late = any(due_s <= now_s for due_s, _ in due)
        if late or any(due_s <= now_s and is_wanted for due_s, is_wanted in due):
            self._router.note_late()
        if is_late or (late and self._holds_too_much()):
            self._lose("the broker did not answer in time", is_away=True)
        elif due:
            self.watch(min(due)[0])

    def _take_late(self, now_s: float) -> list[tuple[Answered, bool]]:
        """Await no longer what has a time of its own that is over; return it, and whether the broker may have it."""
        late: list[tuple[Answered, bool]] = []
        for place, (answered, due_s) in enumerate(tuple(self.awaited)):
            if due_s <= now_s and _has_timeout(answered):
                late.append((answered, True))
                self.awaited[place] = _drop, now_s + LATE_S
        for part in tuple(self.unsent):
            if part.answered is not None and part.due_s <= now_s and _has_timeout(part.answered):
                late.append((part.answered, False))
                self.unsent.remove(part)
        return late

    def _holds_too_much(self) -> bool:
        """Whether the broker owes or does not take more than the requests under way account for."""
        connection = self.connection
        if connection is not None and connection.is_write_paused:
            return True
        return sum(one[0] is _drop for one in self.awaited) > MOST_DROPPED

    def _lose(self, detail: str, *, is_away: bool = False) -> None:
        """Close; parts that are not answered fail.

        Args:
            detail: why, for the log.
            is_away: whether the broker itself cannot be reached. That it has closed a connection says nothing about
                what it leads: it does so when a connection is idle, and with what it cannot read.
        """
        if self._is_lost:
            return
        # A broker that cannot take what it need not answer closes the connection, and so does the gateway.
        has_dropped = self.has_unanswered or any(one.answered is None for one in self.unsent)
        self.close()
        self._forget()
        log.debug("route_lost", node_id=self.node_id, tenant=self._router.tenant, detail=detail)
        awaited, self.awaited = self.awaited, deque()
        unsent, self.unsent = self.unsent, deque()
        self._router.lost(self.node_id, is_away=is_away, has_dropped=has_dropped)
        for answered, _ in awaited:
            self._router.give(answered, None, may_be_done=True)
        for part in unsent:
            if part.answered is not None:
                self._router.give(part.answered, None, may_be_done=False)

    @contextmanager
    def _ending(self) -> Iterator[None]:
        """End the client's connection if what the event loop calls raises: its parts would never be answered."""
        try:
            yield
        except Exception as error:
            self.close()
            self._router.fail(error)

    def finish(self) -> None:
        """Send what was given, and close; the client waits for no answer any more."""
        self._is_finishing = True
        if not self.unsent:
            self.close()

    def close(self) -> None:
        """Close without telling those who wait."""
        self._is_lost = True
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        task, connection = self.task, self.connection
        if task is not None and task is not asyncio.current_task(self._router.loop):
            task.cancel()
        if connection is not None:
            self._router.rooms.forget(self._router.tenant, connection.framer)
            connection.framer.leave()
            if connection.transport is not None:
                connection.transport.close()


def _has_timeout(answered: Answered) -> bool:
    """Whether it is answered when its own time is over, whatever else the broker does."""
    if isinstance(answered, SentPart):
        return answered.whole.has_timeout
    return isinstance(answered, StraightRequest) and answered.timeout_ms >= 0


def _drop(_frame: Buffer | None, _may_be_done: bool) -> None:
    """Take an answer that has come too late for the client."""
