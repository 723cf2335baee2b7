"""Share sessions (KIP-932) of one client: ShareFetch and ShareAcknowledge go to the leaders of their partitions.

    client's ShareFetch ──▶ acknowledgements to the brokers that gave the records ──all results──┐
                        └─▶ a poll at each leader that has none ──first with records, or an error─┴─▶ answer
                                 │ others are still out: what they bring is kept for the client's next ShareFetch

To each broker this is what a client sends that has the address of each: it, too, has a session and one request at a
time with each leader, and hands out what the first one brings. Requests of a session go over the connection that is for
long polls alone; with the client's connection it ends, and brokers then release what was acquired over it.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from bifrost.gateway.errors import BrokerError
from bifrost.gateway.routing.fetch_polls import GRACE_S, LATE_S, MAX_POLL_MS, WORTH_MS
from bifrost.gateway.routing.share_acknowledgements import LOST, ShareAcknowledgements
from bifrost.gateway.routing.share_calls import Member, ShareCall, part_of
from bifrost.routes.shares import share_parts
from bifrost.routes.shares.share_answers import STALE, Found, read_found
from bifrost.routes.shares.share_session import FINAL_EPOCH, INITIAL_EPOCH, NO_NODE, BrokerSession, Key
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ShareAcknowledgeResponse, ShareFetchResponse

if TYPE_CHECKING:
    from bifrost.gateway.routing.request import Request
    from bifrost.gateway.routing.router import Router

Buffer = bytes | memoryview

MAX_SESSIONS = 10
"""Share sessions of one connection. Clients have one: a broker, too, releases the records of one session when a
connection ends."""

LOCK_MS = 30_000
"""How long records are locked if the broker does not say: Kafka's default of
`group.share.record.lock.duration.ms`."""

FULL = "share_sessions"
"""What a request counts as for whose session there is no room, in `kafka_proxy_limits_hit_total`."""


class ShareRequests:
    """The requests of members of share groups on one connection, which are answered one after the other."""

    def __init__(self, router: "Router") -> None:
        """Begin without sessions."""
        self._router = router
        self._acknowledgements = ShareAcknowledgements(router, self._do, self._complete)
        self._waiting: deque[ShareCall] = deque()
        self._members: dict[tuple[str, str], Member] = {}
        self._held_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._steps: deque[Callable[[], object]] = deque()
        self._is_busy = self._is_closed = False

    def close(self) -> None:
        """Stop waiting; the sessions at brokers end with the connections."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._waiting.clear()
        self._steps.clear()
        for member in list(self._members.values()):
            self._forget(member)

    def begin(self, request: "Request") -> None:
        """Take a request; a broker, too, looks at the next one when it has answered the one before."""
        turn = self._router.turn()
        self._do(lambda: self._waiting.append(ShareCall(turn, request)))

    def _do(self, step: Callable[[], object]) -> None:
        """Do a step behind those that have begun, and begin with the first request that waits.

        Work on a large message may pause (wire/steps.pyx), and meanwhile brokers answer: what they are asked in one
        session has to leave in the order of its epochs.
        """
        self._steps.append(step)
        if self._is_busy or self._is_closed:
            return
        self._is_busy = True
        try:
            while self._steps or (self._waiting and not self._waiting[0].is_begun):
                if self._steps:
                    self._steps.popleft()()
                else:
                    self._start(self._waiting[0])
        except Exception as error:
            self._steps.clear()
            self._router.fail(error)
        finally:
            self._is_busy = False

    def _start(self, call: ShareCall) -> None:
        call.is_begun = True
        code = call.refusal() or self._enter(call)
        if code != ErrorCode.NONE:
            self._refuse(call, code)
            return
        unknown = self._acknowledgements.unknown(call)
        if unknown:
            self._router.start(self._look_up(call, unknown, self._acknowledge))
        else:
            self._acknowledge(call)

    def _acknowledge(self, call: ShareCall) -> None:
        self._acknowledgements.send(call)
        if call.is_fetching:
            self._fetch(call)
        else:
            self._complete(call)

    # -- the client's session

    def _enter(self, call: ShareCall) -> ErrorCode:
        """Let a request go on with its session, begin it or end it; return why it may not, or NONE."""
        message, epoch = call.message, call.message.share_session_epoch
        key = message.group_id or "", message.member_id or ""
        member = self._members.get(key)
        if epoch == INITIAL_EPOCH:
            if member is None and len(self._members) >= MAX_SESSIONS:
                self._router.note_hit(FULL)
                return ErrorCode.SHARE_SESSION_LIMIT_REACHED
            member = member or Member(key)
            member.session.begin(call.named)
        elif member is None:
            return ErrorCode.SHARE_SESSION_NOT_FOUND
        elif epoch == FINAL_EPOCH:
            call.member, call.is_final = member, True
            self._forget(member)
            return ErrorCode.NONE
        elif code := member.session.refusal(epoch):
            return code
        if call.fetch is not None:
            member.session.change(call.named, share_parts.forgotten(call.fetch))
        call.member = member
        if not self._hold(member):
            self._router.note_hit(FULL)
            self._forget(member)
            call.is_final = True
            self._acknowledgements.send_parts(call, {})
            return ErrorCode.SHARE_SESSION_LIMIT_REACHED
        self._members[key] = member
        member.session.go_on()
        return ErrorCode.NONE

    def _hold(self, member: Member) -> bool:
        """Count what a session holds; False: there is no room for it."""
        session, memory = member.session, self._router.cluster.routes.share_memory
        before, after = session.held_bytes, session.size + sum(map(len, member.key))
        if self._is_closed:
            return True  # The client has left while its request was read.
        if not memory.swap(self._router.tenant or "", before, after, self._held_bytes):
            return False
        session.held_bytes = after
        self._held_bytes += after - before
        return True

    def _forget(self, member: Member) -> None:
        self._members.pop(member.key, None)
        memory, held_bytes = self._router.cluster.routes.share_memory, member.session.held_bytes
        memory.swap(self._router.tenant or "", held_bytes, 0, self._held_bytes)
        self._held_bytes -= held_bytes
        member.session.held_bytes = 0

    # -- polls

    def _fetch(self, call: ShareCall) -> None:
        """Ask the leaders of a session's partitions, once they are known."""
        assert call.member is not None
        session, routes = call.member.session, self._router.cluster.routes
        if session.is_placed and session.absent:
            is_same = all(routes.absence(key) == code for key, code in session.absent.items())
            session.is_placed = is_same and not routes.unknown_leaders(session.absent)
        if session.is_placed:
            self._begin_polls(call)
            return
        unknown = routes.unknown_leaders(session.partitions)
        if unknown:
            self._router.start(self._look_up(call, unknown, self._place))
        else:
            self._place(call)

    async def _look_up(
        self, call: ShareCall, topics: list[bytes], go_on: Callable[[ShareCall], None]
    ) -> None:
        with suppress(BrokerError):
            await self._router.cluster.routes.look_up_leaders(topics, self._router.tenant or "", by_id=True)
        self._do(lambda: go_on(call))

    def _place(self, call: ShareCall) -> None:
        assert call.member is not None
        call.member.session.place(self._leader, self._router.cluster.routes.absence)
        self._begin_polls(call)

    def _leader(self, partition: Key) -> int:
        """Return the leader of a partition, or a broker that has Kafka's error for it."""
        leader = self._router.cluster.routes.leader_by_id(partition)
        return self._router.home if leader == NO_NODE else leader

    def _begin_polls(self, call: ShareCall) -> None:
        assert call.fetch is not None
        now_s = self._router.loop.time()
        call.due_s = now_s + max(0, call.fetch.max_wait_ms) / 1000
        call.is_polled = True
        assert call.member is not None
        call.member.answers.drop_late(now_s * 1000)
        self._go_on(call)
        if self._waiting and self._waiting[0] is call:
            self._timer = self._router.loop.call_at(call.due_s + GRACE_S, self._give_up, call)

    def _go_on(self, call: ShareCall) -> None:
        """Answer, or ask the brokers that have no poll."""
        assert call.member is not None
        session = call.member.session
        if self._complete(call) or self._has_news(call.member):
            return  # In the second case results of acknowledgements are missing.
        if call.is_asked and self._left_ms(call) < WORTH_MS:
            return  # Another broker has a poll yet.
        idle = [one for one in session.brokers.values() if one.wanted and not one.is_out]
        if not call.is_one_by_one:
            call.is_asked = True
            for broker in idle:
                self._poll(call, broker, self._left_ms(call))
        elif not any(one.is_out for one in session.brokers.values()):
            self._poll_next(call, [one.node_id for one in idle])

    def _poll_next(self, call: ShareCall, nodes: list[int]) -> None:
        """Ask one more broker: first what each has, then each for a part of the time that is left."""
        assert call.member is not None
        session, left_ms = call.member.session, self._left_ms(call)
        if not call.steps and nodes:
            first = session.turn % len(nodes)
            session.turn += 1
            in_turn = nodes[first:] + nodes[:first]
            wait_ms = left_ms // len(nodes) if call.is_asked else 0
            call.steps.extend((one, wait_ms) for one in in_turn)
        if call.steps:
            node_id, wait_ms = call.steps.popleft()
            call.is_asked = call.is_asked or not call.steps
            self._poll(call, session.brokers[node_id], min(wait_ms, left_ms))

    def _poll(self, call: ShareCall, broker: BrokerSession, wait_ms: int) -> None:
        assert call.fetch is not None
        assert call.member is not None
        member, fetch = call.member, call.fetch
        wait_ms = min(wait_ms, MAX_POLL_MS)
        nodes = sum(bool(one.wanted) for one in member.session.brokers.values())
        max_bytes = -(-fetch.max_bytes // max(1, nodes)) if fetch.max_bytes > 0 else fetch.max_bytes
        broker.is_out = True
        message = share_parts.poll(
            fetch, broker.take_epoch(), broker.take_changes(), wait_ms=wait_ms, max_bytes=max_bytes
        )
        part = part_of(call.request, ApiKey.SHARE_FETCH, message)

        def answered(frame: Buffer | None, _may_be_done: bool) -> None:
            self._do(lambda: self._note(member, broker, part, frame))

        self._router.link(broker.node_id, polls=True).send(part.segments, answered, wait_ms / 1000 + LATE_S)

    def _note(self, member: Member, broker: BrokerSession, part: "Request", frame: Buffer | None) -> None:
        """Take a broker's answer to a poll, or None when it is lost."""
        broker.is_out = False
        if self._members.get(member.key) is not member:
            return
        session, node_id = member.session, broker.node_id
        call = self._waiting[0] if self._waiting else None
        if call is not None and (call.member is not member or not call.is_polled):
            call = None
        if frame is None:
            if session.lose(broker) is not None and broker.wanted:
                found = share_parts.failed(dict.fromkeys(broker.wanted, ErrorCode.NOT_LEADER_OR_FOLLOWER))
                self._keep(member, node_id, found, 0)
        else:
            response = part.read(frame)
            assert isinstance(response, ShareFetchResponse)
            if response.error_code == ErrorCode.NONE:
                session.lock_ms = response.acquisition_lock_timeout_ms or session.lock_ms
                self._keep(member, node_id, read_found(response), session.lock_ms or LOCK_MS)
            else:
                other = session.lose(broker)
                if response.error_code not in LOST or (call and node_id in call.reopened):
                    member.code = response.error_code
                elif other is not None and call is not None and other.wanted:
                    call.reopened.add(node_id)
                    self._poll(call, other, self._left_ms(call))
            if call is not None:
                call.throttle_ms = max(call.throttle_ms, response.throttle_time_ms)
        if call is not None:
            self._go_on(call)

    def _keep(self, member: Member, node_id: int, found: dict[Key, Found], lock_ms: int) -> None:
        until_ms = self._router.loop.time() * 1000 + lock_ms
        member.answers.keep(node_id, found, until_ms)
        self._acknowledgements.note_stale(
            member, [key for key, one in found.items() if one.error_code in STALE]
        )

    # -- the answer

    def _left_ms(self, call: ShareCall) -> int:
        return max(0, int((call.due_s - self._router.loop.time()) * 1000))

    @staticmethod
    def _has_news(member: Member) -> bool:
        return member.answers.has_news or member.code != ErrorCode.NONE

    def _is_over(self, call: ShareCall) -> bool:
        """Whether a request has records or an error, or no more to wait for."""
        assert call.member is not None
        if not call.is_fetching or call.is_due:
            return True
        brokers = call.member.session.brokers.values()
        if not call.is_polled:
            return False
        if self._has_news(call.member) or not any(one.wanted for one in brokers):
            return True
        is_out = any(one.is_out for one in brokers)
        return call.is_asked and not is_out and self._left_ms(call) < WORTH_MS

    def _complete(self, call: ShareCall) -> bool:
        """Answer a request if nothing is missing; return whether it was answered."""
        if not self._waiting or self._waiting[0] is not call:
            return True
        if call.acknowledging or not self._is_over(call):
            return False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        response = self._answer(call)
        response.throttle_time_ms = call.throttle_ms
        if not self._is_closed:
            self._waiting.popleft()
            self._router.answer(call.turn, call.request.answered_by(response))
        return True

    def _answer(self, call: ShareCall) -> ShareFetchResponse | ShareAcknowledgeResponse:
        assert call.member is not None
        member, session = call.member, call.member.session
        is_refused = bool(call.refusals) and all(
            one.error_code in call.refusals for one in call.results.values()
        )
        if call.fetch is None:
            if is_refused:
                return ShareAcknowledgeResponse(error_code=call.refusals[0])
            return share_parts.acknowledged(call.results, call.lock_ms or session.lock_ms)
        if is_refused:
            return ShareFetchResponse(error_code=call.refusals[0])
        found: dict[Key, Found] = {}
        if call.is_fetching:
            taken = member.answers.take(session, self._router.loop.time() * 1000)
            for node_id, unwanted in taken.unwanted.items():
                self._acknowledgements.release(call, node_id, unwanted)
            found = taken.found
            for key, one in found.items():
                if taken.node_id is not None and one.acquired_records:
                    session.note_acquired(key, taken.node_id)
            code, member.code = member.code, ErrorCode.NONE
            if code != ErrorCode.NONE and not found and not call.results:
                return ShareFetchResponse(error_code=code)
            # As at a broker: they are in every answer, which waits for what the others have.
            found = share_parts.failed(session.absent) | found
        return share_parts.fetched(found, call.results, session.lock_ms)

    def _refuse(self, call: ShareCall, code: ErrorCode) -> None:
        self._waiting.popleft()
        made = ShareAcknowledgeResponse if call.fetch is None else ShareFetchResponse
        self._router.answer(call.turn, call.request.answered_by(made(error_code=code)))

    def _give_up(self, call: ShareCall) -> None:
        """Answer when brokers have not answered their polls in time."""
        call.is_due = True
        self._do(lambda: self._complete(call))
