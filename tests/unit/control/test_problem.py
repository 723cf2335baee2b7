import json

import pytest

from bifrost.control.backend import OutcomeUnknown, Unavailable
from bifrost.control.problem import not_found, problem_of
from bifrost.state.state_change import StateConflict
from bifrost.state.state_record import StateRecord, TooLarge
from support.state_log import key


def test_a_problem_says_what_where_and_how_to_mend_it() -> None:
    response = not_found("namespace acme:a").response("/v1/namespaces/acme:a")

    assert (response.status_code, response.media_type) == (404, "application/problem+json")
    assert json.loads(bytes(response.body)) == {
        "type": "urn:bifrost:problem:not-found",
        "title": "not found",
        "status": 404,
        "detail": "namespace acme:a does not exist",
        "instance": "/v1/namespaces/acme:a",
        "remedy": "check the name, or create it first",
    }


def test_a_conflict_names_both_versions_and_who_was_first() -> None:
    found = StateRecord(key("a"), 7, 0, "c", "gw-1", "Admin:bob", {})

    document = problem_of(StateConflict(key("a"), 6, found)).document("/v1/x")

    assert document["status"] == 409
    assert document["conflict"] == {"key": "alias:a", "expected": 6, "found": 7, "on_behalf_of": "Admin:bob"}


@pytest.mark.parametrize(
    ("error", "status", "kind", "retry"),
    [
        (TooLarge("full"), 507, "no-room", None),
        (OutcomeUnknown("lost"), 504, "outcome-unknown", None),
        (Unavailable("away"), 503, "unavailable", "5"),
    ],
)
def test_every_error_of_a_change_is_a_problem(
    error: Exception, status: int, kind: str, retry: str | None
) -> None:
    problem = problem_of(error)

    assert (problem.status, problem.kind, problem.detail) == (status, kind, str(error))
    assert (problem.headers or {}).get("Retry-After") == retry
    assert problem.remedy


def test_any_other_error_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError):
        problem_of(KeyError("x"))
