"""Confined regexes against RE2/J itself, the engine with which the broker matches them.

BIFROST_REGEX_EXAMPLES is the number of regexes of each kind; a run is the same every time unless it is set.
"""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bifrost.tenancy.invalid_regex import InvalidRegex
from bifrost.tenancy.regex_parts import MAX_PROGRAM
from bifrost.tenancy.topic_regex import confine, original
from golden.re2j import Re2j
from support.forgery import regexes

EXAMPLES = os.environ.get("BIFROST_REGEX_EXAMPLES", "")
FEWEST_CHECKS = 20_000
"""Matches compared in a run of the usual size, for each kind of regex that is mostly valid."""

pytestmark = pytest.mark.timeout(0 if EXAMPLES else 300)
search = settings(
    max_examples=int(EXAMPLES or 250),
    derandomize=not EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)

FOREIGN = [
    "__consumer_offsets",
    "__transaction_state",
    "__vt_acme",
    "__vt_acme_",
    "__vt_acmea",
    "__vt_globex_a",
    "__VT_ACME_a",
    "__vt_ACME_a",
    "a__vt_acme_a",
    "\n__vt_acme_a",
    "t1-",
    "t1_a",
    "T1-a",
    "t.1.",
    "t-1-a",
]
"""Names that are no tenant's of this test; a bare prefix is no tenant's."""

OURS_ALONE = ("too large", "longer than", "more than 50 groups", "not ASCII under (?i)", "not a Unicode")
"""Why we refuse what RE2/J takes."""

prefixes = st.sampled_from(["__vt_acme_", "t1-", "t.1."])
legal_names = st.text("aAbBkKsS01_.-", min_size=1, max_size=6)
names = st.lists(regexes.names, min_size=5, max_size=8).map(regexes.short_names.__add__)


@pytest.fixture(scope="module")
def re2j() -> Iterator[Re2j]:
    with Re2j("4.3.1") as process:
        yield process


def compare(re2j: Re2j, counts: Counter[str], regex: str, names: list[str], prefix: str) -> None:
    """Fail unless the confined regex matches what the regex does, under the prefix and nowhere else."""
    try:
        confined = confine(regex, prefix)
    except InvalidRegex as error:
        counts["refused"] += 1
        # Not even tried where it is ours alone: there are some on which RE2/J never ends.
        if not error.reason.startswith(OURS_ALONE) and re2j.ask([(regex, [])])[0].matches is not None:
            pytest.fail(f"RE2/J takes {regex!r}, we don't: {error}")
        return
    others = names + [name for name in FOREIGN if name == prefix or not name.startswith(prefix)]

    virtual, physical = re2j.ask([(regex, names), (confined, [prefix + name for name in names] + others)])

    assert virtual.matches is not None
    assert physical.matches is not None
    assert list(zip(names, physical.matches[: len(names)], strict=True)) == list(
        zip(names, virtual.matches, strict=True)
    ), confined
    assert not any(physical.matches[len(names) :]), confined
    assert physical.program <= MAX_PROGRAM + len(prefix) + 4  # two of the named group, one at each end
    assert original(confined, prefix) == regex
    counts["checks"] += len(physical.matches)
    counts["matches"] += sum(virtual.matches)


@pytest.mark.parametrize("kind", ["grammatical", "positional"])
def test_it_matches_what_the_tenants_regex_does_and_nothing_else(re2j: Re2j, kind: str) -> None:
    counts: Counter[str] = Counter()

    @search
    @given(getattr(regexes, kind), names, prefixes)
    def run(regex: str, names: list[str], prefix: str) -> None:
        compare(re2j, counts, regex, names, prefix)

    run()

    assert EXAMPLES or counts["checks"] > FEWEST_CHECKS, counts
    assert counts["matches"] > counts["checks"] / 100, counts


@pytest.mark.parametrize("kind", ["nasty", "noise"])
def test_what_only_looks_like_a_regex_is_refused_as_re2j_does_or_confined(re2j: Re2j, kind: str) -> None:
    counts: Counter[str] = Counter()

    @search
    @given(getattr(regexes, kind), names, prefixes)
    def run(regex: str, names: list[str], prefix: str) -> None:
        compare(re2j, counts, regex, names, prefix)

    run()

    assert counts["refused"]
    assert counts["checks"]


@pytest.mark.parametrize("kind", ["grammatical", "positional"])
def test_with_a_list_of_topics_it_matches_those_that_the_tenants_regex_does(re2j: Re2j, kind: str) -> None:
    counts: Counter[str] = Counter()

    @search
    @given(getattr(regexes, kind), st.lists(legal_names, min_size=3, max_size=8), prefixes)
    def run(regex: str, some: list[str], prefix: str) -> None:
        topics = sorted({*some, *regexes.short_names[::3]})
        others = [name for name in regexes.short_names if name not in topics]
        try:
            confined = confine(regex, prefix, topics)
        except InvalidRegex as error:
            # With a list no more is refused, as the patterns here are small.
            with pytest.raises(InvalidRegex, match=re.escape(error.reason)):
                confine(regex, prefix)
            return

        virtual, physical = re2j.ask(
            [(regex, topics), (confined, [prefix + name for name in topics + others] + FOREIGN)]
        )

        assert virtual.matches is not None
        assert physical.matches is not None
        wanted = {prefix + name for name, matches in zip(topics, virtual.matches, strict=True) if matches}
        texts = [prefix + name for name in topics + others] + FOREIGN
        assert {text for text, matches in zip(texts, physical.matches, strict=True) if matches} == wanted
        assert original(confined, prefix) == regex
        counts["checks"] += len(texts)
        counts["matches"] += len(wanted)

    run()

    assert counts["checks"], counts
    assert counts["matches"] > counts["checks"] / 100, counts


def test_the_longest_list_neither_fails_nor_takes_long(re2j: Re2j) -> None:
    names = [hashlib.sha256(b"%d" % number).hexdigest() for number in range(250)]
    confined = confine(".*", "__vt_acme_", names)

    (found,) = re2j.ask([(confined, ["__vt_acme_" + name for name in names] + ["__vt_acme_" + "a" * 239])])

    assert found.matches == [True] * len(names) + [False]


@pytest.mark.parametrize(
    "regex",
    [
        r"^orders-[0-9]+$",
        r"(orders-\d+|other)",
        ".*",
        r".*\borders\b.*",
        r"\Aa|^b|c",
        "(?m)^a$|(?i)^B$",
        r"\Qa.b",
        r"\Qa)|(b\E",
        "a*^b|b*$",
        r"(^|a|\b_)*b{2,}|(\B-){2,3}",
        "(?:a?){3}|(?:\\b|a){2,3}-",
        r"(?:\b|a_){2}A|(?:\b|a_){3,5}_",
        r"(\z|A)a|($|_)A",
        r"(?m)a\n^B|($|b)\na|(\b|$)[b\n]+",
        r"[A\-a]b|[!-a-]B|[\d-_]",
        "(?i)aB(?-i)aB|_",
        "((?i)a)b|((?s).)",
        "{,2}|a{02}|{",
        "[[:alpha:]&&[:digit:]]",
        "(?i)[^\\x00-\\x{10FFFF}]|[\\x00-\\x{10FFFF}]",
        "(?i)[k-s]+|\\W",
        "",
        "^",
        "$",
        "()",
        "a||b",
        "x{0}{1}",
        "{*",
    ],
)
def test_the_shapes_that_clients_and_attackers_send(re2j: Re2j, regex: str) -> None:
    for prefix in ("__vt_acme_", "t1-"):
        orders = [
            "orders",
            "orders-1",
            "orders-",
            "my-orders",
            "orders-1\n",
            "other",
            "a.b",
            "a)|(b",
            "aB",
            "K",
        ]
        compare(re2j, Counter(), regex, regexes.short_names + orders, prefix)


@pytest.mark.parametrize(
    "regex",
    [
        "(?:(?:a?)*){395}",
        "(?:[a-z]?){660}",
        "|".join(["a*"] * 660),
        "(?:" * 30 + "(a|b)+" + ")*" * 30,
        "(" * 50 + "a?" + ")" * 50,
        "(?:a|^b|\\b){20}" * 2,
        r"\pL|" * 30 + "a",
        "é" * 1900,
    ],
)
def test_the_largest_that_are_taken_neither_fail_nor_take_long(re2j: Re2j, regex: str) -> None:
    confined = confine(regex, "__vt_acme_")
    longest = "__vt_acme_" + "a" * 239

    (found,) = re2j.ask([(confined, [longest, longest + "-", "__vt_globex_" + "a" * 237])])

    assert found.matches is not None
    assert not found.matches[2]
    assert found.program <= MAX_PROGRAM + len("__vt_acme_") + 4
