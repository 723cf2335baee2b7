import pytest

from bifrost.transforms.record_transform import Direction, Failure, Rejected
from bifrost.wire.error_codes import ErrorCode


@pytest.mark.parametrize(
    ("direction", "is_retriable", "code"),
    [
        (Direction.PRODUCE, True, ErrorCode.REQUEST_TIMED_OUT),
        (Direction.FETCH, True, ErrorCode.KAFKA_STORAGE_ERROR),
        (Direction.PRODUCE, False, ErrorCode.INVALID_RECORD),
        (Direction.FETCH, False, ErrorCode.INVALID_RECORD),
    ],
)
def test_a_failure_that_may_pass_is_an_error_that_clients_retry(
    direction: Direction, is_retriable: bool, code: ErrorCode
) -> None:
    failure = Failure("away", is_retriable=is_retriable)

    assert failure.rejected(direction, ErrorCode.INVALID_RECORD) == Rejected((), "away", code)
