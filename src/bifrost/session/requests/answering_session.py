"""A session's own answers: to requests that go to no broker, or that its filters answer."""

from typing import Any

from bifrost.filters import namespace as translation
from bifrost.filters.filter import Exchange
from bifrost.filters.plan import Plan
from bifrost.filters.steps import FORWARD, Answer, AtBroker, Need, RequestStep
from bifrost.forwarding.lane import Awaited, Lane
from bifrost.forwarding.quotas.told_throttle import put_throttle
from bifrost.forwarding.traffic import Traffic
from bifrost.session import metering
from bifrost.session.answered_errors import count_errors, count_own_answer
from bifrost.session.authentication import answer_here, encode_answer, is_the_same_again
from bifrost.session.decoded_request import refusal
from bifrost.session.decoded_response import pass_filters
from bifrost.session.in_flight import Buffer
from bifrost.session.limited_session import LimitedSession
from bifrost.session.needs import BROKER_ANSWER
from bifrost.session.requests.divided_request import await_parts
from bifrost.session.session_lanes import OWN_APIS
from bifrost.wire import headers
from bifrost.wire.codec import encode_in_taken_room, release
from bifrost.wire.message import Message


class AnsweringSession(LimitedSession):
    """A session that can answer requests in place of its broker."""

    @property
    def _is_full(self) -> bool:
        """Whether nothing may be sent to the broker now, because too many answers are awaited."""
        return len(self._in_flight.queue) >= self._max_in_flight

    @property
    def _is_asking(self) -> bool:
        """Whether an answer to a request of the session's own is awaited."""
        inquiries = (self._listing, self._absent, self._asked)
        return any(one is not None and one.is_under_way for one in inquiries)

    def _forget_inquiries(self) -> None:
        """Forget what the broker has answered for the request at hand, which is done."""
        assert self._absent is not None
        self._absent.forget()
        if self._asked is not None:
            self._asked.forget()

    def _ask_broker(self, need: AtBroker, lane: Lane, frame: Buffer) -> Need:
        """Send the requests that a filter has for the broker before the client's; return what that one waits for."""
        if self._asked is None:
            from bifrost.session.requests.asked_broker import AskedBroker  # memory, only if it is needed

            self._asked = AskedBroker(self._namespace, self._in_flight)
        self.to_broker += self._asked.begin(need, lane, frame)
        return BROKER_ANSWER

    _stand_in: Buffer | None = None
    """What answers the request that was just sent on, as a broker's answer that has come."""

    def _await_answer(self, lane: Lane, size: int, awaited: Awaited | None) -> None:
        """Await the answer to a request of so many bytes that was sent on, and charge it; None: it has no answer.

        If the broker was not asked, give the answer at once.
        """
        exchange: Any = None if awaited is None else awaited.exchange
        if awaited is not None:
            await_parts(self._in_flight, lane, exchange, awaited.correlation_id)
            self._in_flight.await_broker(awaited)
        self.charge_request(lane, size)  # Noted with what is awaited.
        self._note_kept(self._requests)
        if exchange is not None and exchange.stand_in is not None:
            self._answer_for_broker(self._in_flight.first())

    def _answer_for_broker(self, awaited: Awaited) -> None:
        """Answer a request by what its exchange has, as its broker was not asked."""
        exchange: Any = awaited.exchange
        plan = awaited.lane.plan
        head = headers.response_header(awaited.correlation_id, plan.response.is_flexible_header)
        if self._scope.records is not None:
            # Filters of records may have to wait for keys: it goes the way of a broker's answer.
            translation.to_physical(self._namespace, exchange.stand_in, plan.api_version)
            self._stand_in = _encoded(plan, exchange, head)[4:]
            return
        pass_filters(plan, exchange, exchange.stand_in)
        answer = _encoded(plan, exchange, head)
        segments: list[Buffer] = [answer]
        if plan.begins_with_throttle and (throttle_ms := self.throttle_ms(awaited, len(answer))):
            at = 4 + len(head)
            segments = [bytes(answer[: at + 4]), answer[at + 4 :]]
            put_throttle(segments, at, throttle_ms)
        metering.count_answer(self._meter, self._namespace, awaited, None, [answer])
        count_errors(awaited, None, [answer])
        awaited.finish(len(answer))
        self.charge_response(awaited, len(answer))
        self.to_client += [*segments, *self._in_flight.complete()]

    def _take_stand_in(self) -> Buffer:
        """Return what stands in for the broker's answer that is awaited first."""
        found, self._stand_in = self._stand_in, None
        assert found is not None
        return found

    def _answer_own(self, header: headers.RequestHeader, lane: Lane | None, frame: Buffer) -> RequestStep:
        """Answer a request that goes to no broker."""
        own = header.api_key if header.api_key in OWN_APIS else None
        traffic = self._shared.lanes.traffic(self._namespace.tenant, own)
        metering.note_own(self._meter, self._ways, header, lane, frame)
        answer = answer_here(self._shared.plans, self._route.offered, header, frame)
        self._send_own(traffic, lane, frame, answer)
        if self._meter is None and is_the_same_again(header.api_key, frame, answer):
            self.remember_answer(bytes(frame), answer, traffic)
        return FORWARD

    def _answer(self, lane: Lane, correlation_id: int, frame: Buffer, response: Message) -> Answer:
        """Answer a request in place of the broker."""
        if throttle_ms := self.charge_own(lane, 4 + len(frame)):
            response.throttle_time_ms = throttle_ms  # type: ignore[attr-defined]  # of a Produce
        self._send_own(lane.traffic, lane, frame, encode_answer(correlation_id, lane.plan, response))
        release(lane.plan.response.layout, response)
        return Answer(response)

    def _refused(self, plan: Plan, frame: Buffer, offset: int, limit: str) -> Message:
        """Return the answer to a request that exceeds a limit, and count it.

        Raises:
            SessionEnded: it cannot be answered.
        """
        self._shared.lanes.in_flight_limits.hits[limit, self._namespace.tenant] += 1
        return refusal(plan, frame, offset, self._most_items(plan.api_key))

    def _send_own(self, traffic: Traffic, lane: Lane | None, frame: Buffer, answer: bytes) -> None:
        """Queue the gateway's own answer to a request, after the answers to the requests before it."""
        metering.count_own_answer(self._meter, self._namespace, lane, frame, answer)
        count_own_answer(traffic, lane, len(frame), answer)
        self.to_client += self._in_flight.answer(answer)


def _encoded(plan: Plan, exchange: Exchange, head: bytes) -> Buffer:
    """Return what stands in for a broker's answer as a frame, with its length, in the room that was taken for it."""
    assert exchange.stand_in is not None
    assert exchange.stand_in_room is not None
    return encode_in_taken_room(plan.response.layout, exchange.stand_in, head, exchange.stand_in_room)
