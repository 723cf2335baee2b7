import pytest

from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.session.tries import MAX_TRIES, Tries


def test_a_message_is_tried_so_often_and_no_more() -> None:
    tries = Tries()
    for _ in range(1 + MAX_TRIES):
        tries.count(needs_another=True)

    with pytest.raises(SessionEnded) as ended:
        tries.count(needs_another=True)
    assert ended.value.reason is CloseReason.TOO_MANY_TOPIC_IDS


def test_the_next_message_starts_anew() -> None:
    tries = Tries()
    for _ in range(1 + MAX_TRIES):
        tries.count(needs_another=True)
    tries.count(needs_another=False)

    for _ in range(1 + MAX_TRIES):
        tries.count(needs_another=True)
    with pytest.raises(SessionEnded):
        tries.count(needs_another=True)
