import pytest

from bifrost.authentication.address_costs import Cost
from bifrost.config.fields.limits import Limits
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.session.first_bytes.unauthenticated_budget import UnauthenticatedBudget

LIMITS = Limits(
    max_unauthenticated_requests=5, max_unauthenticated_bytes=2_000, max_unauthenticated_cpu_ms=10
)


@pytest.mark.parametrize(
    ("most", "one", "reason", "words"),
    [
        (Cost(requests=5), Cost(requests=1), CloseReason.UNAUTHENTICATED_REQUESTS, "more than 5 requests"),
        (Cost(nbytes=2_000), Cost(nbytes=1), CloseReason.UNAUTHENTICATED_BYTES, "more than 2000 bytes"),
        (Cost(cpu_ns=10_000_000), Cost(cpu_ns=1), CloseReason.UNAUTHENTICATED_CPU, "more than 10 ms of CPU"),
    ],
)
def test_a_budget_is_spent_to_its_end_and_no_further(
    most: Cost, one: Cost, reason: CloseReason, words: str
) -> None:
    budget = UnauthenticatedBudget(LIMITS)
    budget.spend(most)

    with pytest.raises(SessionEnded, match=words) as caught:
        budget.spend(one)

    assert caught.value.reason is reason


def test_it_says_how_many_requests_are_left() -> None:
    budget = UnauthenticatedBudget(LIMITS)
    assert budget.requests_left == 5

    budget.spend(Cost(requests=4))
    assert budget.requests_left == 1
    with pytest.raises(SessionEnded):
        budget.spend(Cost(requests=2))

    assert budget.requests_left == 0
