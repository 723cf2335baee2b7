"""One item of a request stands in for many."""

from bifrost.filters.topics.stand_ins import StandIns


def test_the_first_of_a_kind_is_sent_and_answered_for_all() -> None:
    stand_ins: StandIns[str] = StandIns()
    sent = [
        key for kind, key in [("x", "a"), ("y", "b"), ("x", "c"), ("x", "d")] if stand_ins.is_sent(kind, key)
    ]

    answers = stand_ins.answer_all(
        [("b", 1), ("a", 2), ("z", 3)], lambda one: one[0], lambda one, key: (key, one[1])
    )

    assert sent == ["a", "b"]
    assert answers == [("b", 1), ("a", 2), ("c", 2), ("d", 2), ("z", 3)]


def test_items_that_are_equal_are_each_answered() -> None:
    stand_ins: StandIns[tuple[str]] = StandIns()
    sent = [stand_ins.is_sent("x", (name,)) for name in ("a", "a", "a")]

    answers = stand_ins.answer_all([("a",)], lambda one: one, lambda _one, key: key)

    assert sent == [True, False, False]
    assert answers == [("a",)] * 3


def test_what_the_broker_does_not_answer_is_not_answered() -> None:
    stand_ins: StandIns[str] = StandIns()
    stand_ins.is_sent("x", "a")
    stand_ins.is_sent("x", "b")

    assert stand_ins.answer_all([], str, lambda one, _key: one) == []
