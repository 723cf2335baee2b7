import re

import pytest

from bifrost.config.remapper.topic_expressions import MAX_PATTERNS, is_name, patterns_of


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
        ("order[s]", "orders"),
        (r"\d.*", None),
        ("a.b.*", None),
    ],
)
def test_an_expression_is_a_pattern_or_refused(key: str, expected: str | None) -> None:
    assert patterns_of(key) == (() if expected is None else (expected,))


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("(a|b)", ("a", "b")),
        (r"(?:eu|us)\.orders", ("eu.orders", "us.orders")),
        (r"orders(-v[12])?", ("orders", "orders-v1", "orders-v2")),
        (r"((a|b)-)?c.*", ("c*", "a-c*", "b-c*")),
        ("(a|b|a)", ("a", "b")),
        ("logs?", ("log", "logs")),
        ("a.*?b", ("a*b",)),
        (r"^(orders|events\..*)$", ("orders", "events.*")),
        ("a?", ()),
        ("(a", ()),
        ("a)", ()),
        ("()", ()),
        ("?a", ()),
        ("[^a]b", ()),
        ("[a-c]b", ()),
        ("(a)*", ()),
        ("a{2}", ()),
        ("^a|b$", ()),
        ("(a|b)" * 6, tuple(f"{one:06b}".translate({48: "a", 49: "b"}) for one in range(64))),
        ("(a|b)" * 7, ()),
        ("(" * 5_000, ()),
        ("[" + "abcdefghij" + "]" + "[" + "abcdefghijk" + "]", ()),
    ],
)
def test_alternatives_are_several_patterns(key: str, expected: tuple[str, ...]) -> None:
    assert patterns_of(key) == expected
    assert len(expected) <= MAX_PATTERNS
    for topic in ("a", "b", "ab", "log", "logs", "logss", "eu.orders", "orders-v2", "orders-v3", "a-c", "bc"):
        patterns = [".*".join(map(re.escape, pattern.split("*"))) for pattern in expected]
        found = any(re.fullmatch(pattern, topic) for pattern in patterns)
        assert not expected or found == bool(re.search(f"^(?:{key})$", topic))


def test_a_name_is_told_from_an_expression() -> None:
    assert [is_name(one) for one in ("a.b", "a.*", "")] == [True, False, False]


@pytest.mark.parametrize("key", ["events.*", r"events\..*", r"^.*\.dlq$", r"starter-.*\..*"])
@pytest.mark.parametrize(
    "topic", ["events", "events.", "eventsX", "a.dlq", "dlq", "adlq", "starter-a.b", "x"]
)
def test_the_pattern_matches_what_the_expression_matches(key: str, topic: str) -> None:
    (pattern,) = patterns_of(key)
    regex = ".*".join(map(re.escape, pattern.split("*")))

    assert bool(re.fullmatch(regex, topic)) == bool(re.search(f"^(?:{key})$", topic))
