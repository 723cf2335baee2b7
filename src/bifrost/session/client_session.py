"""One client connection, without its socket: frames in, frames out, to both sides.

Until a client has authenticated, it only gets answers that the gateway makes itself (authentication.py). Then its
requests go, rewritten, to the one broker that its connection stands for, and that broker's answers come back. Where an
authentication expires, the same exchange comes again later, after the answers to all requests before it.

The shell (gateway/clients/client_connection.py) feeds frames in, then writes the frames in `to_client` and `to_broker`.
Nothing here does I/O. When a topic ID must be looked up, `lookup` names it, and before topics are created those of the
tenant are counted (`awaits_count`): the shell asks the broker and calls `resume`. Until then, and while too many
requests await their answer, frames are held and nothing more is read.
"""

from collections.abc import Callable
from typing import Any

from bifrost.filters import namespace as translation
from bifrost.filters.fetch import session_not_found
from bifrost.filters.filter import Exchange
from bifrost.filters.topics.automatic_creation import ABSENT_TOPICS, makes_partitions
from bifrost.session import metering
from bifrost.session.authentication import answer_here, encode_answer
from bifrost.session.decoded_request import exceeded_limit, is_decodable, refusal, too_large
from bifrost.session.decoded_response import RELEASED_FROM_BYTES, decoded_response
from bifrost.session.held_frames import HeldFrames
from bifrost.session.identified_session import IdentifiedSession
from bifrost.session.in_flight import Buffer
from bifrost.session.remains import Remains
from bifrost.session.session_lanes import OWN_APIS
from bifrost.session.topics.inquiry import Inquiry
from bifrost.wire import headers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.engine import (
    ITEM_NS,
    Awaited,
    Lane,
    Traffic,
    decode,
    encode,
    keep,
    monotonic_ns,
    release,
    rewrite,
)

_FOR_EVER_NS = 2**63 - 1


class ClientSession(IdentifiedSession):
    """The protocol state of one client connection and of the broker connection behind it."""

    # -- what the shell calls

    @property
    def is_holding(self) -> bool:
        """Whether the shell must stop reading from the client: a look-up is under way or too many answers are due."""
        return not self.is_passing and (self.awaits_look_up or bool(self._held_requests) or self._is_full)

    @property
    def awaits_look_up(self) -> bool:
        """Whether the shell must look up `lookup`, or count the tenant's topics, and then `resume`."""
        return self.awaits_count or bool(self.lookup)

    @property
    def is_holding_responses(self) -> bool:
        """Whether the shell must stop reading from the broker: an answer waits for a look-up."""
        return bool(self._held_responses)

    @property
    def in_flight(self) -> int:
        """Requests that have no answer yet."""
        return len(self._in_flight)

    def hold_back(self) -> None:
        """Take nothing from the client until `let_go`; the shell stops reading it when something has come."""
        self._max_in_flight = 0

    def let_go(self) -> None:
        """Handle the requests that were held back, and go on.

        Raises:
            SessionEnded, WireError: as when frames are received.
        """
        self.awaits_keys = False
        if not self._is_stopped:
            self._max_in_flight = self._shared.max_in_flight_requests
            self._release_requests()

    def stop(self) -> None:
        """Take no more requests, and drop those that were not sent on: the client has no answer to them yet."""
        self._max_in_flight = 0
        work = self._requests.drop()
        if work is not None:
            work.cancel()
        self._is_stopped, self.waits_for_room = True, False

    def take_turn(self) -> None:
        """Send on the request that waited for room, and more requests if there is room for them.

        Raises:
            SessionEnded, WireError: as when frames are received.
        """
        self.waits_for_room, self._has_turn = False, True
        self._release_requests()
        self._has_turn = False

    def go_on(self) -> None:
        """Continue the work that waits for a turn, as long as there is time.

        Raises:
            SessionEnded, WireError: as when frames are received.
        """
        self.waits_for_turn = False
        self._release_responses()
        self._release_requests()

    def close(self) -> Remains | None:
        """Await no more answers: the connection has ended. Return its paused work, if there is any."""
        works = [work for work in (self._requests.drop(), self._responses.drop()) if work is not None]
        self._in_flight.abandon()
        if self._meter is not None:
            self._meter.close()
        return Remains(works, self._until_ns, self._forget_work) if works else None

    def _forget_work(self) -> None:
        """Drop the frames that work has made after the connection ended."""
        self.to_client.clear()
        self.to_broker.clear()
        self._in_flight.abandon()

    @property
    def has_finished(self) -> bool:
        """Whether the session was stopped and every request is answered."""
        return self._is_stopped and not (self._in_flight.queue or self.to_broker or self._held_responses)

    def receive_from_client(self, frame: bytes | memoryview) -> None:
        """Handle one frame from the client, without its length field.

        Raises:
            SessionEnded: the connection is to be closed.
            WireError: the client broke the protocol.
        """
        if self._authentication is not None and not self.is_holding:
            self._authenticate(self._authentication, frame)
        elif self.is_holding:
            self._held_requests.append(keep(frame))
        elif not self.forward_request(frame):
            self._held_requests.append(keep(frame))
            self._release_requests()

    def receive_from_broker(self, frame: bytes | memoryview) -> None:
        """Handle one frame from the broker, without its length field.

        Raises:
            SessionEnded: the connection is to be closed.
            WireError: the broker's answer could not be read.
        """
        if self._held_responses:
            self._held_responses.append(keep(frame))
            return
        if not self.forward_response(frame):
            self._held_responses.append(keep(frame))
            self._release_responses()
        if self._held_requests and not self.awaits_look_up:
            self._release_requests()

    def resume(self, looked_up: frozenset[bytes], is_counted: bool = False) -> None:
        """Go on after these topic IDs of `lookup` were found or found to be absent, or topics were counted.

        Raises:
            SessionEnded, WireError: as when frames are received.
        """
        self._namespace.looked_up(looked_up)
        # An answer that came meanwhile may have named others.
        self.lookup -= looked_up
        if is_counted:
            self.awaits_count, self._is_counted = False, True
        if self.awaits_look_up:
            return
        self._answer_needs_ids = False
        self._release_responses()
        self._release_requests()

    # -- client to broker

    @property
    def _is_full(self) -> bool:
        """Whether nothing may be sent to the broker now: an inquiry is under way, or too many answers are awaited."""
        is_asked = self._listing is not None and self._listing.is_under_way
        is_asked = is_asked or (self._absent is not None and self._absent.is_under_way)
        return is_asked or len(self._in_flight.queue) >= self._max_in_flight

    def _until_ns(self) -> int:
        return _FOR_EVER_NS if self._shared.turns is None else self._shared.turns.until_ns()

    def _work_on(self, held: HeldFrames, run: Callable[[Buffer], bool]) -> bool | None:
        """Work on the first held frame; return whether it is done, or None when it waits for a turn."""
        until_ns = self._until_ns()
        is_done = None if monotonic_ns() >= until_ns else held.go_on(run, self._namespace, until_ns)
        if is_done is None:
            self.waits_for_turn = True
        return is_done

    def _release_requests(self) -> None:
        """Work on the held requests, one after the other; each stays in the queue until it is done."""
        while self._held_requests and not (self.awaits_look_up or self._is_full or self.waits_for_room):
            if self._authentication is not None:
                self._authenticate(self._authentication, self._held_requests.popleft())
                continue
            is_done = self._work_on(self._requests, self._request)
            if is_done is None:
                return
            if is_done:
                self._is_counted = False
                assert self._absent is not None
                self._absent.take()
            self._tries.count(needs_another=bool(self.lookup))

    def _request(self, frame: Buffer) -> bool:
        """Answer a request or send it on; False: it waits for something and is tried again after that."""
        began_ns, header = monotonic_ns(), headers.read_request_header(frame)
        lane = self._ways.of(header, frame)
        if lane is None or header.api_key in OWN_APIS:
            return self._answer_own(header, lane, frame)
        if lane.load.is_full and not self._has_turn:
            self.waits_for_room = True
            return False
        self._has_turn = False
        plan, way = lane.plan, lane.plan.request
        offset, head = headers.request_body_offset(
            frame, header.client_id_length, way.is_flexible_header, self._client_id_prefix
        )
        limit, items = exceeded_limit(plan, frame, offset)
        is_done = True
        if limit is None:
            is_done = self._answer_or_send(lane, header.correlation_id, frame, offset, head, began_ns)
        else:
            self._refuse_for_its_size(lane, limit, header.correlation_id, frame, offset)
        # Charged only when the request is done: one that waits for something comes here again.
        if is_done and items:
            lane.load.spend(items * ITEM_NS, monotonic_ns())
        return is_done

    def _answer_or_send(
        self, lane: Lane, correlation_id: int, frame: Buffer, offset: int, head: bytes | None, began_ns: int
    ) -> bool:
        """Handle a request as its plan says; False: it is tried again, as in `_request`."""
        plan, way = lane.plan, lane.plan.request
        is_answered, is_for_filters = True, False
        if plan.request_peek is not None:
            fields = plan.request_peek(frame, offset)
            if self._fetches.is_lost(plan, fields):
                metering.deny_fetch_session(self._meter, plan, fields[1])
                answer = encode_answer(correlation_id, plan, session_not_found())
                self._send_own(lane.traffic, lane, frame, answer)
                return True
            is_answered = plan.api_key != ApiKey.PRODUCE or fields[0] != 0
            # The filters answer a replica, and remove a session from a request.
            is_for_filters = is_answered and not self._fetches.admits_request(plan, fields)
        exchange = metering.keep_change(self._meter, plan, self._scope, frame, offset)
        segments = None
        if way.program is not None and not is_for_filters:
            segments = rewrite(way.program, frame, offset, self._to_physical, head, plan.drops_trailing)
        if segments is None:
            unresolved = self._namespace.take_unresolved()
            if unresolved and not is_decodable(plan, len(frame)):
                # A large Produce is not decoded to find all its unknown IDs at once: they are looked up one by one.
                self.lookup |= unresolved
                return False
            exchange = exchange or Exchange(plan.api_key, plan.api_version, self._scope)
            segments = self._decoded_request(lane, exchange, frame, offset, head)
            if not segments:
                return segments is not None
        lane.traffic.receive(4 + len(frame))
        if lane.usage is not None:
            lane.usage.count_request(frame, offset)
        # Not before `count_request`, which may pause: a request that is written must also be awaited.
        self.to_broker += segments
        if is_answered:
            self._in_flight.await_broker(Awaited(correlation_id, lane, exchange, began_ns))
        return True

    def _refuse_for_its_size(
        self, lane: Lane, limit: str, correlation_id: int, frame: Buffer, offset: int
    ) -> None:
        """Answer a request that exceeds `limit`."""
        plan = lane.plan
        self._shared.lanes.loads.hits[limit, self._namespace.tenant] += 1
        answer = refusal(plan, frame, offset)
        self._send_own(lane.traffic, lane, frame, encode_answer(correlation_id, plan, answer))
        release(plan.response.layout, answer, is_deep=True)

    def _decoded_request(
        self, lane: Lane, exchange: Exchange, frame: bytes | memoryview, offset: int, head: bytes | None
    ) -> list[Buffer] | None:
        """Pass a request through the filters; empty when it was answered, None when it is held for a look-up."""
        plan = lane.plan
        if not is_decodable(plan, len(frame)):
            raise too_large(plan, len(frame))
        request: Any = decode(plan.request.layout, frame, offset, plan.drops_trailing)
        segments = self._filtered_request(lane, exchange, request, frame, head or bytes(frame[:offset]))
        if len(frame) > RELEASED_FROM_BYTES:
            release(plan.request.layout, request, is_deep=False)  # Filters may have kept some of its structs.
        return segments

    def _filtered_request(
        self, lane: Lane, exchange: Exchange, request: Any, frame: Buffer, head: bytes
    ) -> list[Buffer] | None:
        plan, namespace = lane.plan, self._namespace
        version = plan.api_version
        if not plan.is_refused and not translation.knows_topic_ids(namespace, request, version):
            self.lookup |= self._namespace.take_unresolved()
            return None
        assert self._listing is not None
        assert self._absent is not None
        inquiry = self._listing.begin(lane, request, frame)
        inquiry = inquiry or self._absent.begin(plan, lane, request, frame)
        if inquiry:
            self.to_broker += inquiry
            return None
        bounds = namespace.bounds
        if bounds is not None and (self._absent.has_some or makes_partitions(plan, request)):
            self.awaits_count = not (self._is_counted or bounds.is_counted)
            if self.awaits_count:
                return None
        exchange.notes[ABSENT_TOPICS] = self._absent.take()
        if plan.api_key == ApiKey.FETCH:
            exchange.notes["foreign_fetch_session"] = not self._fetches.owns(request.session_id)
        for one in plan.filters:
            answer = one.on_request(exchange, request)
            if answer is not None:
                correlation_id = headers.read_request_header(frame).correlation_id
                self._send_own(lane.traffic, lane, frame, encode_answer(correlation_id, plan, answer))
                release(plan.response.layout, answer, is_deep=True)
                return []
        translation.to_physical(namespace, request, version)
        self._listing.apply(exchange, request)
        return [encode(plan.request.layout, request, head)]

    def _answer_own(self, header: headers.RequestHeader, lane: Lane | None, frame: Buffer) -> bool:
        """Answer a request that goes to no broker; False: the client authenticates again, and this is its handshake."""
        if header.api_key == ApiKey.SASL_HANDSHAKE and lane is not None and self._lifetime.may_renew:
            self._authentication = self._new_authentication()
            return False
        own = header.api_key if header.api_key in OWN_APIS else None
        traffic = self._shared.lanes.traffic(self._namespace.tenant, own)
        metering.note_own(self._meter, self._ways, header, lane, frame)
        answer = answer_here(self._shared.plans, self._route.offered, header, frame)
        self._send_own(traffic, lane, frame, answer)
        return True

    def _send_own(self, traffic: Traffic, lane: Lane | None, frame: Buffer, answer: bytes) -> None:
        """Queue the gateway's own answer to a request, after the answers to the requests before it."""
        metering.count_own_answer(self._meter, self._namespace, lane, frame, answer)
        traffic.receive(4 + len(frame))
        traffic.send(len(answer))
        self.to_client += self._in_flight.answer(answer)

    # -- broker to client

    def _release_responses(self) -> None:
        """Work on the held answers, one after the other."""
        while self._held_responses and not self._answer_needs_ids:
            is_done = self._work_on(self._responses, self._response)
            if is_done is None:
                return
            self._answer_needs_ids = not is_done
            self._tries.count(needs_another=self._answer_needs_ids)

    def _response(self, frame: Buffer) -> bool:
        """Send a broker's answer to the client; False: it is tried again when IDs have been looked up."""
        came_ns, awaited = monotonic_ns(), self._in_flight.answered_by(frame)
        if isinstance(awaited.exchange, Inquiry):
            self.to_broker += awaited.exchange.receive(frame, awaited)
            return True
        plan = awaited.lane.plan
        offset, head = headers.response_body_offset(frame, plan.response.is_flexible_header)
        if plan.response_peek is not None:
            self._fetches.claim(*plan.response_peek(frame, offset))
        # A client whose tenant uses more than its share is told to wait by a field of the body.
        is_decoded = plan.has_throttle and awaited.lane.load.is_over_budget
        is_decoded = is_decoded or (awaited.exchange is not None and awaited.exchange.wants_response)
        program = None if is_decoded else plan.response.program
        segments = None if program is None else rewrite(program, frame, offset, self._to_virtual, head)
        physical = None if segments is None else (frame, offset)
        if segments is None:
            self._namespace.take_unresolved()
            segments = decoded_response(self._namespace, self._scope, awaited, frame, offset, head)
            if segments is None:
                self.lookup |= self._namespace.take_unresolved()
                return False
        metering.count_answer(self._meter, self._namespace, awaited, physical, segments)
        awaited.finish(sum(map(len, segments)), came_ns)
        self.to_client += [*segments, *self._in_flight.complete()]
        return True
