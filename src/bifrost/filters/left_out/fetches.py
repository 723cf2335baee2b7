"""Topics of a Fetch that no broker is asked about, and what becomes of its session (KIP-227).

A broker answers for such a topic in every answer of a session. Here a session has the other topics only: a request that
names one of these ends the session, and each answer until the client stops naming it is a full one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bifrost.filters.fetch import FINAL_EPOCH, session_not_found
from bifrost.filters.steps import FORWARD, Answer, RequestStep

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange
    from bifrost.filters.left_out.items import LeftOut
    from bifrost.wire.error_codes import ErrorCode
    from bifrost.wire.messages import FetchRequest

_SESSIONS_SINCE = 7
"""Version of Fetch."""


def leave_out(
    left_out: LeftOut,
    exchange: Exchange,
    request: FetchRequest,
    kept: list[Any],
    refused: list[Any],
    error_code: ErrorCode,
) -> RequestStep:
    """Let the broker read some topics only, and answer for the refused ones beside its answer."""
    if not refused:
        return FORWARD
    if request.session_epoch > 0:
        return Answer(session_not_found())
    answer = left_out.take_out(exchange, request, "topics", kept, refused, error_code)
    assert answer is not None, "something is refused"
    if not kept:
        return left_out.without_broker(exchange, answer)
    if exchange.api_version >= _SESSIONS_SINCE:
        request.session_epoch = FINAL_EPOCH
    return FORWARD
