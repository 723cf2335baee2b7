import pytest

from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.session.decoded_request import MAX_DECODED_REQUEST_BYTES, check_decodable, is_decodable
from support.stage import PLANS


def test_what_is_too_large_to_decode_ends_the_session() -> None:
    plan = PLANS.plan_for(3, 9)
    assert plan is not None

    check_decodable(plan, MAX_DECODED_REQUEST_BYTES)
    with pytest.raises(SessionEnded, match="METADATA of 8388609 bytes") as caught:
        check_decodable(plan, MAX_DECODED_REQUEST_BYTES + 1)

    assert caught.value.reason is CloseReason.FRAME_TOO_LARGE
    assert is_decodable(MAX_DECODED_REQUEST_BYTES)
    assert not is_decodable(MAX_DECODED_REQUEST_BYTES + 1)
