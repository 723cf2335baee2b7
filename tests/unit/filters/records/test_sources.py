import pytest

from bifrost.filters.records.sources import KnownAnswers, NoSources
from support.records.needing import AtHand, Text


def test_answers_that_were_waited_for_come_before_those_at_hand() -> None:
    known = KnownAnswers(AtHand({Text("a"): 1, Text("b"): 2}), {Text("a"): 3})

    assert (known.get(Text("a")), known[Text("b")], known.get(Text("c")), known.get(Text("c"), 4)) == (
        3,
        2,
        None,
        4,
    )
    with pytest.raises(KeyError):
        known[Text("c")]


def test_only_what_was_waited_for_is_listed() -> None:
    known = KnownAnswers(AtHand({Text("a"): 1}), {Text("b"): 2})

    assert list(known) == [Text("b")]
    assert Text("a") not in known, "it may not be at hand any more in a moment"


def test_a_process_without_sources_is_asked_nothing() -> None:
    with pytest.raises(AssertionError, match="texts"):
        KnownAnswers(NoSources(), {}).get(Text("a"))
