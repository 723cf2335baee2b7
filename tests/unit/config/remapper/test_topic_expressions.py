import re

import pytest

from bifrost.config.remapper.topic_expressions import is_name, pattern_of


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("orders", "orders"),
        ("events.v1", "events.v1"),
        ("events.*", "events*"),
        (r"events\..*", "events.*"),
        (r"^.*\.dlq$", "*.dlq"),
        (r"starter-.*\..*", "starter-*.*"),
        ("", None),
        ("^$", None),
        ("orders*", None),
        ("orders.+", None),
        ("a|b", None),
        ("a b", None),
        ("order[s]", None),
        (r"\d.*", None),
        ("a.b.*", None),
    ],
)
def test_an_expression_is_a_pattern_or_refused(key: str, expected: str | None) -> None:
    assert pattern_of(key) == expected


def test_a_name_is_told_from_an_expression() -> None:
    assert [is_name(one) for one in ("a.b", "a.*", "")] == [True, False, False]


@pytest.mark.parametrize("key", ["events.*", r"events\..*", r"^.*\.dlq$", r"starter-.*\..*"])
@pytest.mark.parametrize(
    "topic", ["events", "events.", "eventsX", "a.dlq", "dlq", "adlq", "starter-a.b", "x"]
)
def test_the_pattern_matches_what_the_expression_matches(key: str, topic: str) -> None:
    pattern = pattern_of(key)
    assert pattern is not None
    regex = ".*".join(map(re.escape, pattern.split("*")))

    assert bool(re.fullmatch(regex, topic)) == bool(re.search(f"^(?:{key})$", topic))
