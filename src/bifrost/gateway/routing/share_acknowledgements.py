"""Acknowledgements of share groups (KIP-932) at a single address: each goes to the broker that gave the records.

They are sent at once, before the poll that the same request may ask for. A broker that has one out reads them when it
has answered that: it takes the requests of a connection one after the other.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from bifrost.gateway.routing.fetch_polls import LATE_S, MAX_POLL_MS
from bifrost.gateway.routing.share_calls import Member, ShareCall, part_of
from bifrost.routes.shares import share_parts
from bifrost.routes.shares.share_answers import STALE, Found
from bifrost.routes.shares.share_parts import Batches, Result
from bifrost.routes.shares.share_session import FINAL_EPOCH, BrokerSession, Key
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ShareAcknowledgeResponse

if TYPE_CHECKING:
    from bifrost.gateway.routing.request import Request
    from bifrost.gateway.routing.router import Router

Buffer = bytes | memoryview

LOST = frozenset({ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH})
"""Errors of a broker that has no such session: it has been restarted, or the connection had been idle for too long."""

_ABSENT = frozenset({ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
"""Errors of partitions that the metadata does not have: no broker is told what is acknowledged there."""

_ACKNOWLEDGED_S = LATE_S + MAX_POLL_MS / 1000
"""How long a broker may take for acknowledgements, which it reads when it has answered the poll before them."""


class ShareAcknowledgements:
    """Sends them, and notes what brokers say."""

    def __init__(
        self,
        router: "Router",
        do: Callable[[Callable[[], object]], None],
        complete: Callable[[ShareCall], object],
    ) -> None:
        """Serve this router.

        Args:
            router: the client's.
            do: does a step behind those that have begun.
            complete: is called when a broker has answered.
        """
        self._router, self._do, self._complete = router, do, complete

    def unknown(self, call: ShareCall) -> list[bytes]:
        """Return the IDs of topics that have to be looked up: no broker is there that could say whether they exist."""
        assert call.member is not None
        session = call.member.session
        keys = [
            key
            for key, batches in call.named.items()
            if (call.fetch is None or batches)
            and not session.has_acquired(key)
            and session.broker_of(key) is None
        ]
        return self._router.cluster.routes.unknown_leaders(keys) if keys else []

    def send(self, call: ShareCall) -> None:
        """Send each broker the acknowledgements of the records that it gave."""
        assert call.member is not None
        session = call.member.session
        parts: dict[int, dict[Key, Batches]] = {}
        for key, batches in call.named.items():
            if call.fetch is not None and not batches:
                continue
            broker = session.broker_of(key)
            absence = (
                ErrorCode.NONE if session.has_acquired(key) else self._router.cluster.routes.absence(key)
            )
            if broker is None or absence in _ABSENT:
                # As KafkaApis does, without a text for what does not exist.
                lost = ErrorCode.INVALID_RECORD_STATE
                call.results[key] = Result(absence) if absence in _ABSENT else Result(lost, lost.message)
            else:
                parts.setdefault(broker.node_id, {})[key] = batches
        self.send_parts(call, parts)

    def send_parts(self, call: ShareCall, parts: dict[int, dict[Key, Batches]]) -> None:
        """Send them; with the final epoch to every broker with a session, which thereby ends."""
        assert call.member is not None
        brokers = call.member.session.brokers
        if call.is_final:
            parts = {node_id: {} for node_id, one in brokers.items() if one.is_open} | parts
        for node_id, batches in parts.items():
            self._send_part(call, brokers[node_id], batches)

    def _send_part(self, call: ShareCall, broker: BrokerSession, batches: dict[Key, Batches]) -> None:
        epoch = FINAL_EPOCH if call.is_final else broker.take_epoch()
        message = share_parts.acknowledgement(
            call.message, epoch, batches, is_renew_ack=call.message.is_renew_ack
        )
        part = part_of(call.request, ApiKey.SHARE_ACKNOWLEDGE, message)
        call.acknowledging += 1

        def note(frame: Buffer | None) -> None:
            call.acknowledging -= 1
            call.results |= self._results(call, broker, part, frame, batches)
            self._complete(call)

        def answered(frame: Buffer | None, _may_be_done: bool) -> None:
            self._do(lambda: note(frame))

        self._router.link(broker.node_id, polls=True).send(part.segments, answered, _ACKNOWLEDGED_S)

    def _results(
        self,
        call: ShareCall,
        broker: BrokerSession,
        part: "Request",
        frame: Buffer | None,
        batches: dict[Key, Batches],
    ) -> dict[Key, Result]:
        """Return what a broker says of acknowledgements; without an answer they are as at one that leads nothing."""
        assert call.member is not None
        session = call.member.session
        if frame is None:
            session.lose(broker)
            session.is_placed = False
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        else:
            response = part.read(frame)
            assert isinstance(response, ShareAcknowledgeResponse)
            call.throttle_ms = max(call.throttle_ms, response.throttle_time_ms)
            call.lock_ms = max(call.lock_ms, response.acquisition_lock_timeout_ms)
            if response.error_code == ErrorCode.NONE:
                results = share_parts.results_of(response)
                self.note_stale(call.member, [key for key, one in results.items() if one.error_code in STALE])
                return results
            code = ErrorCode(response.error_code)
            session.lose(broker)
            if code in LOST:
                # With the session the broker has released what was acquired in it.
                code = ErrorCode.INVALID_RECORD_STATE
            else:
                call.refusals.append(code)
        return dict.fromkeys(batches, Result(code, code.message))

    def note_stale(self, member: Member, keys: list[Key]) -> None:
        """Look for the leaders of these partitions before the next poll."""
        if keys:
            self._router.cluster.routes.forget_leaders({topic_id for topic_id, _ in keys}, by_id=True)
            member.session.is_placed = False

    def release(self, call: ShareCall, node_id: int, found: dict[Key, Found]) -> None:
        """Give back records of partitions that the client has left while a poll was out."""
        assert call.member is not None
        session = call.member.session
        broker = session.brokers.get(node_id)
        if broker is None or not broker.is_open:
            return
        batches = share_parts.released(found)
        message = share_parts.acknowledgement(call.message, broker.take_epoch(), batches, is_renew_ack=False)
        part = part_of(call.request, ApiKey.SHARE_ACKNOWLEDGE, message)

        def answered(frame: Buffer | None, _may_be_done: bool) -> None:
            if frame is None:
                self._do(lambda: session.lose(broker))

        self._router.link(node_id, polls=True).send(part.segments, answered, _ACKNOWLEDGED_S)
