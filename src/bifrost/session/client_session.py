"""One client connection, without its socket: frames in, frames out, to both sides.

Until a client has authenticated, it only gets answers that the gateway makes itself (authentication.py). Then its
requests go, rewritten, to the one broker that its connection stands for, and that broker's answers come back. Where an
authentication expires, the same exchange comes again later, after the answers to all requests before it.

The shell (gateway/clients/client_connection.py) feeds frames in, then writes the frames in `to_client` and `to_broker`.
Nothing here does I/O. Whether a message is sent on as it is, the engine decides; for any other message it gives the
reason why not (forwarding/lane.pyx), on which the session acts. A message that cannot be decided yet is held, and all
messages behind it; `needs` has what it waits for (needs.py), and the shell calls `meet` when that is there. Other
connections do not wait for it.
"""

from typing import Any

from bifrost.filters import namespace as translation
from bifrost.filters.fetch import FOREIGN_SESSION, LOST_SHARE_SESSION, session_not_found
from bifrost.filters.filter import Exchange
from bifrost.filters.steps import (
    FORWARD,
    Answer,
    AtBroker,
    Close,
    Forward,
    Need,
    RequestStep,
    ResponseStep,
    TopicIds,
)
from bifrost.filters.topics.automatic_creation import ABSENT_TOPICS
from bifrost.forwarding.broker_costs import GROUP_NS, NEW_PARTITION_NS, READ_BATCH_NS
from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.lane import Awaited, Lane, Reason
from bifrost.forwarding.load import ITEM_NS
from bifrost.forwarding.quotas.told_throttle import put_throttle
from bifrost.session import metering
from bifrost.session.answered_errors import count_errors
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.session.decoded_request import REQUEST_BYTES_LIMIT, exceeded_limit, is_decodable, release_large
from bifrost.session.decoded_response import decoded_response, kept_for_answer, rewritten_response
from bifrost.session.in_flight import Buffer
from bifrost.session.needs import BROKER_ANSWER, BrokerAnswer, Owed, Room
from bifrost.session.remains import Remains
from bifrost.session.requests.answering_session import AnsweringSession
from bifrost.session.requests.divided_request import Part, part_frames
from bifrost.session.requests.rewritten_request import rewritten_request
from bifrost.session.session_lanes import OWN_APIS
from bifrost.session.topics.inquiry import Inquiry
from bifrost.wire import headers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode, encode, encode_in_room_of
from bifrost.wire.window import keep

_SENT_ON = frozenset({Reason.PASSES, Reason.UNANSWERED, Reason.FOR_FILTERS})
_SENT_BACK = frozenset({Reason.PASSES, Reason.FOR_FILTERS, Reason.OVER_BUDGET, Reason.PART})
"""The reasons for which a request, or a response, is sent on, in place or through the filters; not for any other."""


class ClientSession(AnsweringSession):
    """The protocol state of one client connection and of the broker connection behind it."""

    # -- what the shell calls

    @property
    def is_holding(self) -> bool:
        """Whether the shell must stop reading from the client: one request too many has come, or none may come."""
        return not self.is_passing and (bool(self._held_requests) or not self._max_in_flight)

    @property
    def is_holding_responses(self) -> bool:
        """Whether the shell must stop reading from the broker: an answer is held."""
        return bool(self._held_responses)

    @property
    def needs(self) -> tuple[Need, ...]:
        """What the first held answer and the first held request wait for."""
        answer, request = self._responses.need, self._requests.need
        if answer is None:
            return () if request is None else (request,)
        return (answer,) if request is None else (answer, request)

    def meet(self, need: Need) -> None:
        """Go on with the messages that have waited for this: it is there now.

        Raises:
            SessionEnded, WireError: as when frames are received.
        """
        if isinstance(need, TopicIds):
            self._namespace.looked_up(need.ids)
        self._responses.meet(need)
        self._requests.meet(need)
        self._release_responses()
        self._release_requests()
        if isinstance(need, Room | Owed):
            # The turn is over: what did not use it waits for the next one.
            self._requests.use(type(need))

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
        if not self._is_stopped:
            self._max_in_flight = self._shared.max_in_flight_requests
            self._release_requests()

    def stop(self) -> None:
        """Take no more requests, and drop those that were not sent on: the client has no answer to them yet."""
        self._max_in_flight = 0
        work = self._requests.drop()
        if work is not None:
            work.cancel()
        self._is_stopped = True

    def close(self) -> Remains | None:
        """Await no more answers: the connection has ended. Return its paused work, if there is any."""
        works = [work for work in (self._requests.drop(), self._responses.drop()) if work is not None]
        self._in_flight.abandon()
        if self._meter is not None:
            self._meter.close()
        if self._recent is not None:
            self._recent.end()
        return Remains(works, self._until_ns, self._forget_work) if works else None

    def _forget_work(self) -> None:
        """Drop the frames that work has made after the connection ended."""
        self.to_client.clear()
        self.to_broker.clear()
        self._in_flight.abandon()

    @property
    def has_finished(self) -> bool:
        """Whether the session was stopped and every request is answered: no answer is left to be written either."""
        is_left = self._in_flight.queue or self.to_broker or self._held_responses or self.to_client
        return self._is_stopped and not is_left

    def receive_from_client(self, frame: bytes | memoryview) -> None:
        """Handle one frame from the client, without its length field.

        Raises:
            SessionEnded: the connection is to be closed.
            WireError: the client broke the protocol.
        """
        reason = self.forward_request(frame)
        if reason == Reason.PASSES:
            return
        if self._authentication is not None and not self.is_holding:
            self._authenticate(self._authentication, frame)
            return
        self._requests.hold(keep(frame))
        if reason != Reason.HELD:
            self._release_requests()

    def receive_from_broker(self, frame: bytes | memoryview) -> None:
        """Handle one frame from the broker, without its length field.

        Raises:
            SessionEnded: the connection is to be closed.
            WireError: the broker's answer could not be read.
        """
        reason = self.forward_response(frame)
        if reason == Reason.PASSES:
            if not (self._held_responses or self._held_requests):
                return
        else:
            self._responses.hold(keep(frame))
        if reason == Reason.HELD:
            return
        self._release_responses()
        if self._held_requests:
            self._release_requests()

    # -- client to broker

    def _release_requests(self) -> None:
        """Decide about the held requests, one after the other; each stays in the queue until it is decided."""
        held = self._requests
        while self._held_requests and held.need is None and not self._is_full:
            if self._authentication is None and self._renews_authentication(self._held_requests[0]):
                self._authentication = self._new_authentication()
            if self._authentication is not None:
                self._authenticate(self._authentication, self._requests.take())
                continue
            if self._passes_when_paid(held):
                continue
            step = self._decide(held, self._request)
            if isinstance(step, BrokerAnswer) and not self._is_asking:
                held.meet(step)  # The answer came before the work that asked for it was over: it had paused.
            if isinstance(step, Close):
                raise SessionEnded(CloseReason.UNSUPPORTED, step.detail)
            if not isinstance(step, Need):
                self._forget_inquiries()
                if self._stand_in is not None:
                    self._responses.hold(self._take_stand_in())
                    self._release_responses()

    def _request(self, frame: Buffer) -> RequestStep:
        """Decide about a request, and answer it or send it on."""
        began_ns, header = monotonic_ns(), headers.read_request_header(frame)
        lane = self._ways.of(header, frame)
        limit_reached = self._limit_of(header, lane, frame)
        if limit_reached is not None:
            return limit_reached
        if lane is None or header.api_key in OWN_APIS:
            return self._answer_own(header, lane, frame)
        plan, way = lane.plan, lane.plan.request
        other_id = self._other_client_id(lane, frame)
        offset, head = headers.request_body_offset(
            frame, header.client_id_length, way.is_flexible_header, lane.client_id_prefix, other_id
        )
        limit, items = exceeded_limit(plan, frame, offset, self._most_items(plan.api_key))
        if limit is None:
            step = self._answer_or_send(lane, header.correlation_id, frame, offset, head, began_ns)
        else:
            refused = self._refused(plan, frame, offset, limit)
            step = self._answer(lane, header.correlation_id, frame, refused)
        # Charged only when the request is done: one that waits for something comes here again.
        if items and limit is None and not isinstance(step, Need):
            lane.load.broker_left_ns -= items * ITEM_NS
        return step

    def _answer_or_send(
        self, lane: Lane, correlation_id: int, frame: Buffer, offset: int, head: bytes | None, began_ns: int
    ) -> RequestStep:
        """Handle a request for which there is room, for the reason that the engine gives."""
        plan = lane.plan
        # Only now: there may have been a pause since the engine was asked about room.
        reason = self.judge_request(lane, frame, offset)
        if reason == Reason.LOST_SESSION:
            assert plan.request_peek is not None
            metering.deny_fetch_session(self._meter, plan, plan.request_peek(frame, offset)[1])
            return self._answer(lane, correlation_id, frame, session_not_found())
        if reason not in _SENT_ON:
            raise AssertionError(f"{reason!r} is no reason to send a request on")
        if self._has_lost_share_session and plan.api_key == ApiKey.SHARE_FETCH:
            reason = Reason.FOR_FILTERS
        exchange = metering.keep_change(self._meter, plan, self._scope, frame, offset)
        segments: list[Buffer] | None = None
        if plan.request.program is not None and reason != Reason.FOR_FILTERS:
            rewritten = rewritten_request(self._namespace, lane, frame, offset, head)
            if isinstance(rewritten, TopicIds):
                return rewritten
            segments = rewritten
        if segments is None:
            self._namespace.take_unresolved()
            exchange = self._for_filters(exchange or Exchange(plan.api_key, plan.api_version, self._scope))
            decided = self._decoded_request(lane, exchange, frame, offset, head)
            if isinstance(decided, Answer):
                return self._answer(lane, correlation_id, frame, decided.response)
            if not isinstance(decided, list):
                return decided
            segments = decided
        lane.traffic.receive(4 + len(frame))
        if lane.usage is not None:
            lane.usage.count_request(frame, offset)
        # Not before `count_request`, which may pause: a request that is written must also be awaited.
        self.to_broker += segments
        if exchange is not None:
            costs_ns = exchange.new_partitions * NEW_PARTITION_NS + exchange.read_batches * READ_BATCH_NS
            lane.load.broker_left_ns -= costs_ns + exchange.more_groups * GROUP_NS
        awaited: Awaited | None = None
        if reason != Reason.UNANSWERED:
            kept = kept_for_answer(plan.api_key, exchange)
            awaited = Awaited(correlation_id, lane, kept, began_ns, self._requests.came_ns)
        self._await_answer(lane, 4 + len(frame), awaited)
        return FORWARD

    def _decoded_request(
        self, lane: Lane, exchange: Exchange, frame: Buffer, offset: int, head: bytes | None
    ) -> list[Buffer] | RequestStep:
        """Pass a request through the filters; return its frame for the broker, or what else was decided."""
        plan = lane.plan
        if not is_decodable(plan, len(frame)):
            return Answer(self._refused(plan, frame, offset, REQUEST_BYTES_LIMIT))
        request: Any = decode(plan.request.layout, frame, offset, plan.drops_trailing)
        decided = self._filtered_request(lane, exchange, request, frame, head or bytes(frame[:offset]))
        release_large(plan.request.layout, request, frame)
        return decided

    def _filtered_request(
        self, lane: Lane, exchange: Exchange, request: Any, frame: Buffer, head: bytes
    ) -> list[Buffer] | RequestStep:
        plan, namespace = lane.plan, self._namespace
        version = plan.api_version
        unknown = None if plan.is_refused else translation.unknown_topic_ids(namespace, request, version)
        if unknown is not None:
            return unknown
        assert self._listing is not None
        assert self._absent is not None
        inquiry = self._listing.begin(lane, request, frame)
        inquiry = inquiry or self._absent.begin(plan, lane, request, frame)
        if inquiry:
            self.to_broker += inquiry
            return BROKER_ANSWER
        exchange.keep(ABSENT_TOPICS, self._absent.found)
        if plan.api_key == ApiKey.FETCH:
            exchange.keep(FOREIGN_SESSION, not self._fetches.owns(request.session_id))
            exchange.is_first = not self._in_flight.queue
        elif plan.api_key == ApiKey.SHARE_FETCH:
            exchange.keep(LOST_SHARE_SESSION, self._take_lost_share_session())
        for one in plan.filters:
            step: RequestStep = one.on_request(exchange, request)
            if isinstance(step, AtBroker):
                return self._ask_broker(step, lane, frame)
            if not isinstance(step, Forward):
                return step
        if exchange.stand_in is not None:
            return []
        translation.to_physical(namespace, request, version)
        self._listing.apply(exchange, request)
        parts = part_frames(lane, exchange, namespace, head) if exchange.parts else []
        if plan.carries_records:
            return [*parts, encode_in_room_of(plan.request.layout, request, head, frame)]
        return [*parts, encode(plan.request.layout, request, head)]

    # -- broker to client

    def _release_responses(self) -> None:
        """Decide about the held answers, one after the other."""
        held = self._responses
        while self._held_responses and held.need is None:
            step = self._decide(held, self._response)
            if isinstance(step, Close):
                raise SessionEnded(CloseReason.BROKER_MISBEHAVED, step.detail)

    def _response(self, frame: Buffer) -> ResponseStep:
        """Decide about a broker's answer, and send it to the client if it may have it."""
        came_ns, reason = monotonic_ns(), self.judge_response(frame)
        if reason == Reason.NOT_AWAITED:
            raise self._in_flight.unexpected(frame)
        awaited = self._in_flight.first()
        if isinstance(awaited.exchange, Inquiry):
            inquiry = awaited.exchange
            self.to_broker += inquiry.receive(frame, awaited)
            if not inquiry.is_under_way:
                self._requests.meet(BROKER_ANSWER)
            return FORWARD
        if awaited.is_part or isinstance(awaited.exchange, Part):
            return self._keep_part(awaited, frame)
        plan = awaited.lane.plan
        offset, head = headers.response_body_offset(frame, plan.response.is_flexible_header)
        if reason in (Reason.KEPT, Reason.UNUSUAL_HEADER):
            reason = self.judge_response(frame, offset)
        if reason == Reason.NEW_SESSION:
            assert plan.response_peek is not None
            self._fetches.claim(*plan.response_peek(frame, offset))
            reason = self.judge_response(frame, offset, is_claimed=True)
        if reason not in _SENT_BACK:
            raise AssertionError(f"{reason!r} is no reason to send a response on")
        # A client whose tenant uses more than its share is told to wait by a field of the body.
        is_told = reason == Reason.OVER_BUDGET and plan.has_throttle
        is_decoded = reason == Reason.FOR_FILTERS or (is_told and not plan.begins_with_throttle)
        is_decoded = is_decoded or (awaited.exchange is not None and awaited.exchange.wants_response)
        segments, physical, counted = rewritten_response(awaited, frame, offset, head, is_decoded=is_decoded)
        if segments is None:
            self._namespace.take_unresolved()
            met = self._responses.met
            decided = decoded_response(
                self._namespace, self._scope, awaited, frame, offset, head, self.throttle_ms, met
            )
            if not isinstance(decided, list):
                return decided
            segments = decided
        elif is_told and (throttle_ms := self.throttle_ms(awaited, 4 + len(frame))):
            put_throttle(segments, 4 + (offset if head is None else len(head)), throttle_ms)
        metering.count_answer(self._meter, self._namespace, awaited, counted, segments)
        count_errors(awaited, physical, segments)
        awaited.finish(sum(map(len, segments)), came_ns)
        left_out = 0 if awaited.exchange is None else awaited.exchange.left_out_bytes
        self.charge_response(awaited, 4 + len(frame) - left_out)
        self.to_client += [*segments, *self._in_flight.complete()]
        self._note_kept(self._responses)
        return FORWARD

    def _keep_part(self, awaited: Awaited, frame: Buffer) -> ResponseStep:
        """Keep the answer to a part of a request until that to the last one comes."""
        step: ResponseStep = FORWARD
        if isinstance(awaited.exchange, Part):
            step = awaited.exchange.receive(frame, awaited, self._namespace)
        else:
            assert awaited.trip is not None, "what was divided on the hot path has one"
            awaited.trip.keep_answer(bytes(frame))
        if isinstance(step, Forward):
            self.to_client += self._in_flight.complete()
            awaited.abandon()
        return step
