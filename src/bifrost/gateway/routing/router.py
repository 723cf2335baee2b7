"""Routes the requests of one client to the brokers of its cluster, and answers them in their order.

    session ──frames──▶ begin ──▶ parts ──▶ BrokerLink (one for each broker, one more for its long polls)
                          │ leaders or coordinators are not known: look up, everything behind waits
    session ◀──frames── answers, in the order of the requests ◀── merged

A broker, too, takes the requests of one connection one after the other; here those for several brokers are under way
together, and two for the same partition keep their order, as they go to the same broker.
"""

import asyncio
import random
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from bifrost.filters.error_response import error_response
from bifrost.forwarding.forwarding import Forwarding
from bifrost.forwarding.rooms import Rooms
from bifrost.gateway.brokers.broker_login import Login
from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.routing.broker_link import Answered, BrokerLink
from bifrost.gateway.routing.context import RouteContext, RoutedClient
from bifrost.gateway.routing.request import Request, read_request
from bifrost.gateway.routing.route_transport import RouteTransport
from bifrost.gateway.routing.route_turns import count_at_once, turns_of
from bifrost.gateway.routing.split_requests import take_unusual
from bifrost.gateway.routing.straight_relay import StraightRouter
from bifrost.routes.split_request import MANY_ITEMS, SentPart, SplitRequest
from bifrost.routes.straight import StraightRequest
from bifrost.session.close_reason import CloseReason
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.errors import WireError
from bifrost.wire.framer import Framer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


Buffer = bytes | memoryview

LATE = "broker_answer"
"""What a late answer counts as, in `kafka_proxy_limits_hit_total`."""


class Turn:
    """A request whose answer has its place among those of the connection."""

    __slots__ = ("answer",)

    def __init__(self) -> None:
        """Begin without an answer."""
        self.answer: Buffer | None = None


class Router(StraightRouter):
    """The broker side of one client's connection at a listener with a single address."""

    is_login_due = False
    """Each link renews its login by itself."""

    def __init__(
        self,
        client: RoutedClient,
        session: Forwarding,
        gateway: RouteContext,
        rooms: Rooms,
        cluster: Cluster,
        login: "Callable[[], Login | None]",
    ) -> None:
        """Connect to nothing yet.

        Args:
            client: gets the answers.
            session: the client's, which rewrites them.
            gateway: its gateway.
            rooms: where the bytes of answers are counted.
            cluster: the physical cluster of the client's tenant.
            login: returns the account with which the gateway logs in for this client.
        """
        from bifrost.gateway.routing.dispatch import Dispatch

        loop = asyncio.get_running_loop()
        self._route_turns = turns_of(loop)
        super().__init__(client, session, cluster.routes.read_straight, self._route_turns.waiting, loop)
        self._client, self.gateway, self.cluster, self.login = client, gateway, cluster, login
        self.rooms = rooms
        self.loop = loop
        self.transport: RouteTransport | None = RouteTransport(self.receive, self._read, self._close)
        self.framer = Framer(1024)
        """Of nothing: each link has its own."""
        self.is_read = True
        """Whether the client takes answers."""
        self._awaits_turn = False
        self._poll_links: dict[int, BrokerLink] = {}
        """The links for long polls, by the brokers' node IDs."""
        self._task: asyncio.Task[None] | None = None
        self._side_tasks: set[asyncio.Task[None]] = set()
        self._is_updating = self._is_looked_up = False
        self._home = -1
        self._dispatch = Dispatch(self)

    @property
    def tenant(self) -> str | None:
        """The client's tenant."""
        return self._client.tenant

    @property
    def is_write_paused(self) -> bool:
        """Whether the client may not be read: its requests wait for their turn, or a broker does not take them."""
        return self._awaits_turn or any(link.is_stuck for link in self._all_links())

    @property
    def home(self) -> int:
        """The broker that gets what any broker can answer: the same one as long as it is there."""
        known = self.cluster.node_ids
        if self._home not in known:
            self._home = random.choice(tuple(known)) if known else self._home
        return self._home

    def another(self, tried: set[int]) -> int | None:
        """Return a broker that was not tried yet; None: there is none."""
        left = self.cluster.node_ids - tried
        return random.choice(tuple(left)) if left else None

    # -- from the session

    def route(self, frames: list[list[Buffer]], is_tried: bool) -> None:
        """Route the requests about which compiled code does not decide, and those behind them.

        Args:
            frames: the requests, in their order.
            is_tried: whether compiled code has left the first one to Python code.
        """
        if not self._awaits_turn and not self._route_turns.has(self.tenant):
            at_once = count_at_once(frames)
            for frame in frames[:at_once]:
                self._route(frame, is_tried=is_tried)
                is_tried = False
            del frames[:at_once]
        self.fresh.extend(frames)
        if self.fresh and not self._awaits_turn:
            self._awaits_turn = True
            self._route_turns.wait(self.tenant, self._route_one)
            self.update()

    def _route(self, frame: list[Buffer], *, is_tried: bool = False) -> None:
        found = None if self.held or is_tried else self.cluster.routes.straight(frame)
        if isinstance(found, StraightRequest):
            self.send_straight(found)
            return
        if found is not None:
            self.send_split(found, self.home)
            return
        request = read_request(frame)
        if self.held or not self._dispatch.begin(request, is_last=False):
            self.held.append(request)
            if self._task is None:
                self._task = self.loop.create_task(self._look_up())

    def _route_one(self) -> bool:
        """Route the request that has waited longest; return whether there are more."""
        try:
            if self.fresh:
                self._route(self.fresh.popleft())
        except Exception as error:
            self.fail(error)
        if self.fresh:
            return True
        self._awaits_turn = False
        self.update()  # The client is read again, and may be in line again by itself.
        return False

    async def _look_up(self) -> None:
        """Learn what the first held request needs, until none is held."""
        try:
            while self.held:
                request = self.held[0]
                # What is not known then has an error.
                with suppress(BrokerError):
                    await self._dispatch.look_up(request)
                done: asyncio.Future[None] = self.loop.create_future()
                self._is_looked_up = True
                self._route_turns.wait(self.tenant, partial(self._begin_held, done))
                await done
        except Exception as error:
            self.fail(error)
        finally:
            self._task = None
            if self.is_closed:
                self._finish_links()

    def _begin_held(self, done: "asyncio.Future[None]") -> bool:
        """Begin with the first held request, which was looked up or stands behind one: there may be very many.

        Returns:
            Whether there are more that may begin.
        """
        try:
            first = self.held[0] if self.held else None
            if first is not None and self._dispatch.begin(first, is_last=self._is_looked_up):
                # An answer that leaves at once may have ended the client, of which other requests are held then.
                if self.held and self.held[0] is first:
                    self.held.popleft()
                self._is_looked_up = False
                if self.held:
                    return True
        except Exception as error:
            self.fail(error)
            self.held.clear()
        if not done.done():
            done.set_result(None)
        return False

    # -- to the brokers

    def link(self, node_id: int, *, polls: bool = False) -> BrokerLink:
        """Return the link to a broker; `polls`: the one for long polls, behind which nothing else waits."""
        links = self._poll_links if polls else self.links
        link = links.get(node_id)
        if link is None:
            link = links[node_id] = BrokerLink(self, node_id, lambda: links.pop(node_id, None))
            link.update_reading()
        return link

    def _all_links(self) -> tuple[BrokerLink, ...]:
        return *self.links.values(), *self._poll_links.values()

    def send(self, node_id: int, request: Request, answered: Answered | None) -> None:
        """Send a request as it is to a broker."""
        self.link(node_id).send(request.segments, answered, request.way.timeout_s)

    def lost(self, node_id: int, *, is_away: bool, has_dropped: bool) -> None:
        """Take note of a lost link; what a broker led and coordinated that is away is asked for again."""
        if is_away:
            self.cluster.routes.forget_node(node_id)
            if node_id == self._home:
                self._home = self.another({node_id}) or self._home
        if has_dropped:
            # Of a request without an answer a client learns only thus that it was lost.
            self.end(f"broker {node_id} was lost, with requests that it does not answer")

    # -- to the session

    def turn(self) -> Turn:
        """Return the place of the next answer."""
        turn = Turn()
        if not self.is_closed:
            self.turns.append(turn)
        return turn

    def answer(self, turn: Turn | SplitRequest, frame: Buffer, *, items: int = 0) -> None:
        """Give an answer, a frame without its length; it leaves when those before it have.

        Args:
            turn: its place among the answers.
            frame: the answer.
            items: how many things it was put together of. If these are many, the session rewrites it in another turn of
                the loop.
        """
        turn.answer = frame
        if items > MANY_ITEMS:
            self.loop.call_soon(self.deliver)
        else:
            self.deliver()

    def answer_error(self, turn: Turn, request: Request, code: ErrorCode) -> None:
        """Answer a request with an error for all that it is about."""
        response = error_response(request.decoded(), request.api_version, code)
        if response is None:
            self.end(f"no broker could answer {ApiKey(request.api_key).name}")
        else:
            self.answer(turn, request.answered_by(response))

    def end(self, detail: str) -> None:
        """End the client's connection: a broker that it cannot do without is lost."""
        if not self.is_closed:
            self._client.end(CloseReason.BROKER_CLOSED, detail)

    def fail(self, error: Exception) -> None:
        """End the client's connection for an error in what a broker sent, or of the gateway's own."""
        is_own = not isinstance(error, WireError)
        if is_own:
            report("route", error, tenant=self.tenant)
        if self.is_closed:
            return
        if is_own:
            self._client.end(CloseReason.INTERNAL_ERROR, type(error).__name__)
        else:
            self._client.end(CloseReason.BROKER_MISBEHAVED, str(error))

    def give(self, answered: Answered, frame: Buffer | None, *, may_be_done: bool) -> None:
        """Give an answer of a broker to the request that awaits it; an error ends this client's connection alone."""
        if self.is_closed:
            return
        try:
            if isinstance(answered, SentPart):
                if self.take_part(answered, frame, may_be_done):
                    self.deliver()
            elif not isinstance(answered, StraightRequest):
                answered(frame, may_be_done)
            else:
                if frame is None or not answered.take(frame):
                    take_unusual(self, answered, frame, may_be_done)
                self.deliver()
        except Exception as error:
            self.fail(error)

    async def in_turns(self, step: "Callable[[], bool]") -> None:
        """Do a long work of this connection, in turns with the requests of others; see `RouteTurns.all_of`."""
        await self._route_turns.all_of(self.tenant, step)

    def refuse_absent(self, whole: SplitRequest, *, is_all: bool) -> None:
        """Take note that a request names partitions that do not exist; with `is_all` it is answered with that alone."""
        if not whole.is_answered:
            # As KafkaApis does: otherwise the client would not learn that records are lost.
            self.end("a record without an answer is for a partition that does not exist")
        elif is_all:
            self.complete(whole)

    def complete(self, whole: SplitRequest) -> None:
        """Answer a request that all its brokers have answered."""
        try:
            if not self.is_closed:
                self.answer(whole, self.join(whole), items=whole.split.partitions)
        except Exception as error:
            self.fail(error)

    def join(self, whole: SplitRequest) -> Buffer:
        """Return the answer to a request that all its brokers have answered; forget leaders that they deny to be."""
        if whole.split.has_error:
            self.cluster.routes.forget_leaders(whole.split.stale(), by_id=whole.is_by_id)
        return whole.merged()

    def update(self) -> None:
        """Let the client's connection decide anew which side is read."""
        if not self._is_updating and not self.is_closed:
            self._is_updating = True
            try:
                self._client.update_reading()
            finally:
                self._is_updating = False

    def _read(self, wanted: bool) -> None:
        self.is_read = wanted
        for link in self._all_links():
            link.update_reading()

    def start(self, awaitable: "Awaitable[None]") -> None:
        """Do something beside the requests; an error of the gateway's own ends the client's connection."""

        async def run() -> None:
            try:
                with suppress(BrokerError):
                    await awaitable
            except Exception as error:
                self.fail(error)

        task = self.loop.create_task(run())
        self._side_tasks.add(task)
        task.add_done_callback(self._side_tasks.discard)

    def note_late(self) -> None:
        """Count that a broker, or a coordinator, was not there in time."""
        self.note_hit(LATE)

    def note_hit(self, limit: str) -> None:
        """Count that a limit was hit."""
        self.gateway.shared.lanes.in_flight_limits.hits[limit, self.tenant or ""] += 1

    def _close(self) -> None:
        """End: what the client has produced still goes to the brokers, as bytes do that a socket has taken."""
        self.is_closed, self.transport, self.to, self.is_read = True, None, None, True
        self._dispatch.close()
        self.turns.clear()
        for task in self._side_tasks:
            task.cancel()
        requests = [*self.held, *map(read_request, self.fresh)]
        self.fresh.clear()
        self.held = deque(one for one in requests if one.api_key == ApiKey.PRODUCE)
        if self.held and self._task is None:
            self._task = self.loop.create_task(self._look_up())
        elif self._task is None:
            self._finish_links()

    def _finish_links(self) -> None:
        self.held.clear()
        for link in self._all_links():
            link.finish()
        self.links.clear()
        self._poll_links.clear()
