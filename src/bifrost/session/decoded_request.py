"""How large a request may be that is decoded."""

from bifrost.filters.plan import Plan
from bifrost.session.authentication import api_name
from bifrost.session.close_reason import CloseReason, SessionEnded

MAX_DECODED_REQUEST_BYTES = 8 * 1024 * 1024
"""Decoded, a request of many tiny structs takes up to 25 times its size in memory. Large requests carry records,
and those are rewritten in place; admin requests of this size name a hundred thousand topics."""


def is_decodable(size: int) -> bool:
    """Whether a request of `size` bytes may be decoded."""
    return size <= MAX_DECODED_REQUEST_BYTES


def check_decodable(plan: Plan, size: int) -> None:
    """Let a request of `size` bytes be decoded.

    Raises:
        SessionEnded: it is too large for that.
    """
    if not is_decodable(size):
        detail = f"{api_name(plan.api_key)} of {size} bytes; at most {MAX_DECODED_REQUEST_BYTES} are decoded"
        raise SessionEnded(CloseReason.FRAME_TOO_LARGE, detail)
