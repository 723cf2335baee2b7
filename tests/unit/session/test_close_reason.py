from bifrost.session.close_reason import CloseReason, SessionEnded


def test_every_reason_is_one_lower_case_word_for_a_label() -> None:
    assert all(reason.value == reason.name.lower() and reason.value.isidentifier() for reason in CloseReason)
    assert str(CloseReason.MALFORMED) == "malformed"


def test_an_end_says_why() -> None:
    ended = SessionEnded(CloseReason.MALFORMED, "a length is negative")

    assert (ended.reason, ended.detail) == (CloseReason.MALFORMED, "a length is negative")
    assert str(ended) == "malformed: a length is negative"
