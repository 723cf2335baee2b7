"""Counts the error codes in answers, as a broker's metric `ErrorsPerSec` does: those for single items too.

The engine counts those of the answers that it sends on; here are the others.
"""

from collections.abc import Sequence

from bifrost.forwarding.lane import Awaited, Lane
from bifrost.forwarding.traffic import Traffic
from bifrost.session.in_flight import Buffer
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.program import error_codes

_BODY = 8
"""Where the body of a whole frame begins, behind its length and correlation ID, if the header has no tagged fields."""


def error_of_api_versions(answer: bytes) -> int:
    """Return the error code of an ApiVersions answer, which is its first field; of a list so long no more is read."""
    return int.from_bytes(answer[_BODY : _BODY + 2], "big", signed=True)


def count_own_answer(traffic: Traffic, lane: Lane | None, size: int, answer: bytes) -> None:
    """Count an answer of the gateway's own, with its errors, to a request of `size` bytes without its length."""
    count_own_errors(traffic, lane, answer)
    traffic.receive(4 + size)
    traffic.send(len(answer))


def count_own_errors(traffic: Traffic, lane: Lane | None, answer: bytes) -> None:
    """Count the error codes in an answer of the gateway's own; without a lane the API or its version is not served."""
    if lane is None:
        traffic.fail(ErrorCode.UNSUPPORTED_VERSION, is_own=True)
        return
    if lane.plan.api_key == ApiKey.API_VERSIONS:
        code = error_of_api_versions(answer)
        found = [(code, 1)] if code else []
    else:
        way = lane.plan.response
        found = error_codes(way.codes, answer, _BODY + way.is_flexible_header)
    for code, times in found:
        traffic.fail(code, is_own=True, times=times)


def count_errors(awaited: Awaited, physical: tuple[Buffer, int] | None, answer: Sequence[Buffer]) -> None:
    """Count the error codes in a broker's answer, and charge what they say of its cost.

    Args:
        awaited: the request that is answered.
        physical: the broker's frame and where its body begins, if the client gets all that is in it.
        answer: the frame for the client, with its length. If it was encoded in pieces, it has no error.
    """
    if physical is None and len(answer) > 1:
        return
    way = awaited.lane.plan.response
    for code, times in error_codes(way.codes, *(physical or (answer[0], _BODY + way.is_flexible_header))):
        awaited.lane.fail(code, times)
