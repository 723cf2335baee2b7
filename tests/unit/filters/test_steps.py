from bifrost.filters.steps import FORWARD, Need, TopicCount, TopicIds


def test_needs_are_equal_when_the_same_thing_meets_them() -> None:
    assert TopicCount() == TopicCount()
    assert TopicCount() != Need()
    assert TopicIds(frozenset({b"a"})) == TopicIds(frozenset({b"a"}))
    assert TopicIds(frozenset({b"a"})) != TopicIds(frozenset({b"b"}))
    assert TopicIds(frozenset()) != TopicCount()
    assert len({TopicCount(), TopicCount(), Need(), TopicIds(frozenset())}) == 3


def test_a_need_says_what_it_is() -> None:
    assert (repr(TopicCount()), repr(Need())) == ("TopicCount()", "Need()")
    assert TopicCount() != FORWARD
