import pytest

from bifrost.filters.build import build_plans
from bifrost.filters.fetch import FINAL_EPOCH, INITIAL_EPOCH
from bifrost.forwarding.lane import Reason
from bifrost.session.fetch_ownership import FetchOwnership
from bifrost.session.fetch_sessions import FetchSessions
from bifrost.wire.api_keys import ApiKey

PLANS = build_plans()


def ownership() -> FetchOwnership:
    sessions = FetchSessions()
    sessions.claim(1, 7, "acme")
    sessions.claim(1, 8, "globex")
    sessions.claim(2, 9, "acme")
    return FetchOwnership(sessions, 1, "acme")


@pytest.mark.parametrize(("session_id", "is_own"), [(0, True), (7, True), (8, False), (9, False), (5, False)])
def test_a_session_is_owned_by_whom_this_broker_gave_it(session_id: int, is_own: bool) -> None:
    assert ownership().owns(session_id) is is_own
    reason = Reason.PASSES if is_own else Reason.NEW_SESSION
    assert ownership().judge_response((session_id,)) == reason


def test_what_is_claimed_is_owned_and_no_session_is_not_claimed() -> None:
    one = ownership()

    one.claim(8)
    one.claim(0)

    assert one.owns(8)
    assert len(one._sessions.claims) == 3


def test_only_what_is_owned_has_a_proof() -> None:
    assert ownership().proof(7) is not None
    assert ownership().proof(8) is None


@pytest.mark.parametrize(
    ("api_key", "fields", "reason"),
    [
        (ApiKey.PRODUCE, (-1,), Reason.PASSES),
        (ApiKey.PRODUCE, (0,), Reason.UNANSWERED),
        (ApiKey.FETCH, (-1, 7, 3), Reason.PASSES),
        (ApiKey.FETCH, (-1, 8, 3), Reason.LOST_SESSION),
        (ApiKey.FETCH, (1, 8, 3), Reason.LOST_SESSION),
        (ApiKey.FETCH, (-1, 8, INITIAL_EPOCH), Reason.FOR_FILTERS),
        (ApiKey.FETCH, (-1, 8, FINAL_EPOCH), Reason.FOR_FILTERS),
        (ApiKey.FETCH, (1, 7, 3), Reason.FOR_FILTERS),
        (ApiKey.FETCH, (1, 0, FINAL_EPOCH), Reason.FOR_FILTERS),
    ],
)
def test_requests_are_judged_by_their_peeked_fields(
    api_key: ApiKey, fields: tuple[int, ...], reason: Reason
) -> None:
    plan = PLANS.plan_for(api_key, 9)
    assert plan is not None

    assert ownership().judge_request(plan, fields) == reason
