import pytest

from bifrost.session.close_reason import CloseReason, SessionEnded, limit_of


def test_every_reason_is_one_lower_case_word_for_a_label() -> None:
    assert all(reason.value == reason.name.lower() and reason.value.isidentifier() for reason in CloseReason)
    assert str(CloseReason.MALFORMED) == "malformed"


def test_an_end_says_why() -> None:
    ended = SessionEnded(CloseReason.MALFORMED, "a length is negative")

    assert (ended.reason, ended.detail) == (CloseReason.MALFORMED, "a length is negative")
    assert str(ended) == "malformed: a length is negative"


@pytest.mark.parametrize(
    ("reason", "tenant", "limit"),
    [
        (CloseReason.TOO_MANY_CONNECTIONS, None, "max_connections"),
        (CloseReason.TENANT_CONNECTIONS, "acme", "max_connections"),
        (CloseReason.FRAME_TOO_LARGE, "acme", "max_request_bytes"),
        (CloseReason.FRAME_TOO_LARGE, None, "max_unauthenticated_frame_bytes"),
        (CloseReason.UNAUTHENTICATED_REQUESTS, None, "max_unauthenticated_requests"),
        (CloseReason.UNAUTHENTICATED_BYTES, None, "max_unauthenticated_bytes"),
        (CloseReason.UNAUTHENTICATED_CPU, None, "max_unauthenticated_cpu_ms"),
        (CloseReason.UNAUTHENTICATED_CONNECTIONS, None, "max_unauthenticated_connections"),
        (CloseReason.ADDRESS_CONNECTIONS, None, "max_unauthenticated_connections_per_address"),
        (CloseReason.CLIENT_CLOSED, "acme", None),
    ],
)
def test_a_limit_goes_by_its_setting(reason: CloseReason, tenant: str | None, limit: str | None) -> None:
    assert limit_of(reason, tenant) == limit
