import pytest

from bifrost.state.state_outcome import DONE, OFF, OutcomeKind, StateOutcome
from bifrost.wire.error_codes import ErrorCode


@pytest.mark.parametrize("kind", [kind for kind in OutcomeKind if kind is not OutcomeKind.DONE])
def test_what_failed_has_a_code_and_a_text_that_names_no_process(kind: OutcomeKind) -> None:
    outcome = StateOutcome(kind, "written by gateway-7/4711")

    assert not outcome.is_done
    assert outcome.error_code != ErrorCode.NONE
    assert outcome.message
    assert "gateway-7" not in outcome.message


def test_what_was_done_has_none() -> None:
    assert (DONE.is_done, DONE.error_code, DONE.message) == (True, ErrorCode.NONE, None)


def test_without_a_state_the_text_says_what_is_missing() -> None:
    assert OFF.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert "proxy.state" in (OFF.message or "")
