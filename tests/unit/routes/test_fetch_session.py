"""Fetch sessions at a single address: which request may be the next one."""

import pytest

from bifrost.routes.fetch_session import MAX_EPOCH, FetchSession
from bifrost.wire.error_codes import ErrorCode

ID = 77


@pytest.mark.parametrize(
    ("session_id", "epoch", "version", "code"),
    [
        (ID, 1, 13, ErrorCode.NONE),
        (ID + 1, 1, 13, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (ID, 2, 13, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (ID, 1, 12, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
        (ID, 1, 14, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
    ],
)
def test_a_request_that_is_not_the_next_one_is_refused(
    session_id: int, epoch: int, version: int, code: ErrorCode
) -> None:
    assert FetchSession(ID, 13).refusal(session_id, epoch, version) == code


def test_epochs_count_and_begin_again_with_one() -> None:
    session = FetchSession(ID, 13)

    session.go_on()
    assert session.epoch == 2
    session.epoch = MAX_EPOCH
    session.go_on()

    assert session.epoch == 1
