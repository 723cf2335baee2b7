from dataclasses import replace

from bifrost.filters.steps import FORWARD, Need, StateChange, TopicCount, TopicIds
from bifrost.state.state_change import Change
from bifrost.state.state_key import StateKey
from bifrost.state.state_outcome import DONE


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


def test_a_change_of_the_state_is_the_same_when_its_outcome_is_known() -> None:
    changes = (Change(StateKey("thing", "a"), 0, {"secret": "xyzzy"}),)
    change = StateChange(changes, "User:alice", plan=["anything"])

    assert replace(change, outcome=DONE) == change
    assert StateChange(changes, "User:alice", attempt=2) != change
    assert "xyzzy" not in repr(change) + repr(changes)
