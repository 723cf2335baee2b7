import hashlib
from collections.abc import Iterable

import pytest

from bifrost.tenancy.invalid_regex import InvalidRegex
from bifrost.tenancy.regex_parts import MAX_CONFINED_LENGTH
from bifrost.tenancy.topic_regex import MAX_NESTING, MAX_REGEX_BYTES, confine, original

PREFIX = "__vt_acme_"
NEVER = r"[^\x{0}-\x{10ffff}]"


def translated(regex: str, prefix: str = PREFIX) -> str:
    """What stands in the named group: the regex as the broker evaluates it behind the prefix."""
    confined = confine(regex, prefix)
    assert original(confined, prefix) == regex
    return confined.partition(">")[2].removesuffix(")")


def test_the_whole_form() -> None:
    assert (
        confine("^orders-[0-9]+$", PREFIX)
        == "__vt_acme_(?P<bifrost_5e6f72646572732d5b302d395d2b24>orders-[0-9]+$)"
    )
    assert confine("a", "t.1+") == r"t\.1\+(?P<bifrost_61>a)"


@pytest.mark.parametrize(
    ("regex", "physical"),
    [
        ("orders", "orders"),
        (r"(orders-\d+|other)", r"orders-\d+|other"),
        ("a|b", "a|b"),
        ("a(b|c)d", "a(?:b|c)d"),
        ("(?P<n>a)(?<m>b)", "ab"),
        ("ab*?c{2,3}?", "ab*c{2,3}"),
        ("(?U)a*", "a+"),
        ("(ab)*c", "(?:ab)*c"),
        ("a{,2}", r"a\{\,2\}"),
        ("a{02}", r"a\{02\}"),
        ("]", r"\]"),
        ("a{2,}", "a{2,}"),
        ("a{1}", "a"),
        (r"\Qa.b*\E+", r"a\.b\*+"),
        (r"\Qa|b", r"a\|b"),
        (r"a\Q\E*b", "a*b"),
        (r"\x61\x{62}\143\012\t\.\_", r"abc\x{a}\x{9}\._"),
        ("é /", r"\x{e9}\ \/"),
        (r"[]a-c^\-][^\d[:alpha:]][a-]", r"[\]a-c\^\-][^\d[:alpha:]][a\-]"),
        ("[[a]", r"[\[a]"),
        ("[aab]", "[ab]"),
        (r"\pN\P{^Lu}\p{^Latin}", r"\p{N}\p{Lu}\P{Latin}"),
        ("(?i)ab.(?-i)c", "(?i:ab.)c"),
        ("a(?i:b|(?-i)c)d", "a(?:(?i:b)|c)d"),
        ("(?s).(?-s).", "(?s:.)."),
        ("(?)a", "a"),
    ],
)
def test_what_has_nothing_to_do_with_the_start_means_the_same(regex: str, physical: str) -> None:
    assert translated(regex) == physical


@pytest.mark.parametrize(
    ("regex", "physical"),
    [
        (".*", ".+"),
        ("", NEVER),
        ("^", NEVER),
        ("$", NEVER),
        ("()", NEVER),
        ("a?", "a"),
        ("a?b?", "ab?|b"),
        ("(a|)", "a"),
        (".{0,3}", ".{1,3}"),
        ("a{0}", NEVER),
    ],
)
def test_the_bare_prefix_is_no_topics_name(regex: str, physical: str) -> None:
    assert translated(regex) == physical


@pytest.mark.parametrize(
    ("regex", "physical"),
    [
        ("^a", "a"),
        (r"\Aa\z", r"a\z"),
        (r"\za|$b|c", "c"),
        ("^^a", "a"),
        ("^*a", "a"),
        ("a^", NEVER),
        ("a^b|c", "c"),
        ("^a|^b", "a|b"),
        ("(^a|b)", "a|b"),
        (".*^a", "a"),
        ("(?m)^a$", "a(?m:$)"),
        ("(?m)a^b", "a(?m:^)b"),
        ("(^|a){3}b", "aa{0,2}b|b"),
        ("(^|x)(^|y)z", "xyz|yz|z"),
    ],
)
def test_a_beginning_is_nothing_at_the_start_and_impossible_behind_it(regex: str, physical: str) -> None:
    assert translated(regex) == physical


@pytest.mark.parametrize(
    ("regex", "behind_a_word", "behind_none"),
    [
        (r"\ba", r"\Ba", r"\ba"),
        (r"\B-", r"\b-", r"\B-"),
        (r"a\b-", r"a\b-", r"a\b-"),
        (r".*\ba", r".+\ba|\Ba", r".+\ba|\ba"),
        (r"\b(a|-)", r"\B(?:a|-)", r"\b(?:a|-)"),
        (r"(?:\b|a){2}b", r"(?:a(?:\b|a)|\Ba(?:\b|a)?)b|\Bb", r"(?:a(?:\b|a)|\ba(?:\b|a)?)b|\bb"),
        (r"(?i)\ba", r"(?i:\Ba)", r"(?i:\ba)"),
        (r"\b\Ba", r"\B\ba", r"\b\Ba"),
        (r"(?m)($|\b)\w", r"(?:\B|(?m:$))\w", r"(?:\b|(?m:$))\w"),
    ],
)
def test_a_boundary_at_the_start_knows_the_last_character_of_the_prefix(
    regex: str, behind_a_word: str, behind_none: str
) -> None:
    assert translated(regex, PREFIX) == behind_a_word
    assert translated(regex, "t1-") == behind_none


@pytest.mark.parametrize(
    ("regex", "offset"),
    [
        ("a)|(b", 1),
        ("a)", 1),
        ("(a", 0),
        ("a|(b", 2),
        ("[a", 0),
        ("[^]", 0),
        ("[]", 0),
        ("[a-", 0),
        ("[b-a]", 1),
        (r"[a-\d]", 3),
        (r"[\b]", 1),
        (r"[\Qa\E]", 1),
        ("[[:foo:]]", 1),
        ("[[:a]b:]", 1),
        ("a\\", 1),
        (r"a\E", 1),
        (r"\C", 0),
        (r"\Z", 0),
        (r"\1", 0),
        (r"\8", 0),
        (r"\k", 0),
        (r"\xg", 0),
        (r"\x{}", 0),
        (r"\x{110000}", 0),
        (r"\x{d800}", 0),
        (r"\p", 0),
        (r"\pX", 0),
        (r"\p{Klingon}", 0),
        (r"\p{^^L}", 0),
        ("*a", 0),
        ("a|*", 2),
        ("(*)", 1),
        ("(?i)*", 4),
        ("a**", 2),
        ("a{2}{3}", 4),
        ("{*", 1),
        ("a{1001}", 1),
        ("a{2,1}", 1),
        ("a{1,1001}", 1),
        ("a{99999999999}", 1),
        ("(?=a)", 0),
        ("(?<=a)b", 0),
        ("(?>a)", 0),
        ("(?#a)", 0),
        ("(?P=n)", 0),
        ("(?P<>a)", 0),
        ("(?P<n-m>a)", 0),
        ("(?P<n>a)(?<n>b)", 8),
        ("(?x)a", 0),
        ("(?-)a", 0),
        ("(?", 0),
        ("(?i)é", 4),
        ("(?i)\\x{1c80}", 4),
        ("(?i)[a-é]", 5),
        ("a\ud800", 1),
    ],
)
def test_what_is_refused_says_where(regex: str, offset: int) -> None:
    with pytest.raises(InvalidRegex, match=rf"^[^\n]+ at offset {offset}$") as refused:
        confine(regex, PREFIX)

    assert refused.value.offset == offset


@pytest.mark.parametrize(
    "regex",
    [
        "a" * (MAX_REGEX_BYTES + 1),
        "é" * (MAX_REGEX_BYTES // 2 + 1),
        "a{1000}b{1000}c",
        "((a{1000}){1000}){1000}",
        "(" * 11 + "a" + "){2}" * 11,
        "(?:a?b?c?d?){100}" * 5,
        "a?" * 2000,
        "(" * (MAX_NESTING + 1) + "a" + ")" * (MAX_NESTING + 1),
        r"\pL" * 50,
        r"[\pL\pN]{30}",
    ],
)
def test_the_broker_is_given_nothing_too_large(regex: str) -> None:
    with pytest.raises(InvalidRegex):
        confine(regex, PREFIX)


@pytest.mark.parametrize(
    "regex", ["a" * 1990, "a|" * 600 + "b", "\n" * 1900, r"\pL" * 30, "(" * 50 + "a" + ")" * 50]
)
def test_the_result_fits_a_kafka_string(regex: str) -> None:
    confined = confine(regex, "." * 248)

    assert len(confined) < 32_767
    assert len(translated(regex)) <= MAX_CONFINED_LENGTH


@pytest.mark.parametrize(
    "physical",
    [
        "",
        "orders",
        "__vt_acme_orders",
        "__vt_globex_(?P<bifrost_61>a)",
        "(?P<bifrost_61>a)",
        "__vt_acme_(?P<bifrost_61>a",
        "__vt_acme_(?P<bifrost_61",
        "__vt_acme_(?P<bifrost_6>a)",
        "__vt_acme_(?P<bifrost_6G>a)",
        "__vt_acme_(?P<bifrost_6 1>a)",
        "__vt_acme_(?P<bifrost_ff>a)",
        "x__vt_acme_(?P<bifrost_61>a)",
    ],
)
def test_what_was_not_confined_with_the_prefix_has_no_original(physical: str) -> None:
    assert original(physical, PREFIX) is None


def test_another_tenants_regex_has_no_original() -> None:
    assert original(confine("a", "__vt_globex_"), PREFIX) is None
    assert original(confine("a", "t-1-"), "t.1-") is None
    assert original(confine("", PREFIX), PREFIX) == ""


# -- with a list of topics


TOPICS = ["orders", "orders-1", "orders-22", "billing", "audit.log"]


def listed(regex: str, names: Iterable[str] = TOPICS, prefix: str = PREFIX) -> str:
    confined = confine(regex, prefix, names)
    assert original(confined, prefix) == regex
    return confined.partition(">")[2].removesuffix(")")


@pytest.mark.parametrize(
    ("regex", "physical"),
    [
        (".*", r"audit\.log|billing|orders(?:|-(?:1|22))"),
        ("^orders-[0-9]+$", "orders-(?:1|22)"),
        ("orders", "orders"),
        ("order", NEVER),
        ("", NEVER),
        ("secret|.*secret.*", NEVER),
        (r"\w+\.log|billing", r"audit\.log|billing"),
        (r".*\b1\b", "orders-1"),
        ("(?i)ORDERS", "orders"),
        (r"\p{Lu}.*", NEVER),
        (r"(?i)\p{Lu}+", "billing|orders"),
        ("[[:alpha:]]+", "billing|orders"),
        ("[^o].*", r"audit\.log|billing"),
        (r"\Bbilling|\borders", "orders"),
    ],
)
def test_a_pattern_lists_the_topics_that_it_matches(regex: str, physical: str) -> None:
    assert listed(regex) == physical


def test_the_order_of_the_list_makes_no_difference() -> None:
    assert listed(".*", reversed(TOPICS)) == listed(".*", TOPICS)


def test_an_empty_list_has_nothing_to_match() -> None:
    assert listed(".*", []) == NEVER


def test_an_invalid_pattern_is_refused_with_a_list_too() -> None:
    for regex in ("(", "a{1001}", r"\C", "x" * (MAX_REGEX_BYTES + 1)):
        with pytest.raises(InvalidRegex):
            confine(regex, PREFIX, TOPICS)


def test_a_list_too_long_for_a_pattern_is_refused() -> None:
    names = [f"{hashlib.sha256(b'%d' % number).hexdigest()}" for number in range(270)]

    assert len(listed(".*", names[:250])) <= MAX_CONFINED_LENGTH
    with pytest.raises(InvalidRegex, match="matches 270 topics, more than can be listed"):
        listed(".*", names)
    assert listed(f"{names[7]}|no", names) == names[7]


def test_a_pattern_that_takes_too_long_is_refused() -> None:
    with pytest.raises(InvalidRegex, match="too much to match with the list of topics"):
        listed("(?:[a-z]?){600}", ["a" * 200, "a" * 199])
