"""Some codes by what Kafka's Errors says of them; tests/test_schemas_fresh.py compares all with Kafka's jars."""

import pytest

from bifrost.wire.error_codes import ErrorCode


@pytest.mark.parametrize(
    ("code", "number", "is_retriable", "message"),
    [
        ("NONE", 0, False, ""),
        ("UNKNOWN_SERVER_ERROR", -1, False, "unexpected error when processing the request"),
        ("UNKNOWN_TOPIC_OR_PARTITION", 3, True, "This server does not host this topic-partition."),
        ("NOT_COORDINATOR", 16, True, "This is not the correct coordinator."),
        ("TOPIC_AUTHORIZATION_FAILED", 29, False, "Topic authorization failed."),
        ("UNSUPPORTED_VERSION", 35, False, "The version of API is not supported."),
        ("INVALID_REQUEST", 42, False, "most likely occurs because of a request being malformed"),
        ("POLICY_VIOLATION", 44, False, "Request parameters do not satisfy the configured policy."),
        ("UNKNOWN_TOPIC_ID", 100, True, "This server does not host this topic ID."),
    ],
)
def test_a_code_is_kafkas(code: str, number: int, is_retriable: bool, message: str) -> None:
    found = ErrorCode[code]

    assert found == number
    assert found.is_retriable is is_retriable
    assert message in found.message


def test_every_code_has_a_text() -> None:
    numbers = [int(one) for one in ErrorCode]

    assert len(numbers) > 120
    assert len(set(numbers)) == len(numbers)
    assert [one for one in ErrorCode if not isinstance(one.message, str)] == []
    assert [one for one in ErrorCode if not one.message] in ([], [ErrorCode.NONE])
