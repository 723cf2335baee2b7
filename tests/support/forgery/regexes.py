"""Hypothesis strategies of regexes in RE2's syntax, of what only looks like one, and of names they may match."""

import itertools
import string

from hypothesis import strategies as st

# Few characters, so that regexes and names meet often.
_LETTERS = "aA_-"
_MORE_LETTERS = "aAbKks01_.-\nKé /"
"""K and s have case variants outside ASCII; the last ones are for transactional IDs only."""

_literals = st.one_of(
    st.sampled_from(_LETTERS),
    st.sampled_from(_LETTERS),
    st.sampled_from(
        [
            *"bKks01",
            r"\x61",
            r"\x{62}",
            r"\141",
            r"\_",
            r"\n",
            "\n",
            "é",
            r"\Qa.\E",
            r"\Q\E",
            "-",
            "{",
            "]",
            "}",
        ]
    ),
)
_classes = st.one_of(
    st.sampled_from(
        [r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\pL", r"\PN", r"\p{^Lu}", r"\P{Ll}", r"\p{Latin}"]
    ),
    st.sampled_from(
        ["[a-b]", "[^a]", "[]a]", "[^]-]", "[a-]", "[[:alpha:]_]", "[[:^word:]a]", r"[\d\-.]", r"[^\W_]"]
    ),
    st.sampled_from(
        [r"[^\x00-\x{10FFFF}]", r"[\x00-\x{10FFFF}]", "[k-s]", r"[\pLa]", "[K]", "[aA]", "[[:lower:]]"]
    ),
)
_assertions = st.sampled_from(["^", "$", r"\A", r"\z", r"\b", r"\B", "(?m:^)", "(?m:$)"])
_dots = st.sampled_from([".", ".", "(?s:.)", ".*", ".+"])
_REPETITIONS = "* + ? *? +? ?? {0} {1} {2} {0,1} {1,2} {2,3} {0,} {1,} {2,} {2,3}? {0,0} {3,5}"
_repetitions = st.sampled_from(_REPETITIONS.split())
_OPENINGS = "( ( (?: (?: (?i: (?m: (?s: (?U: (?-i: (?im-s: (?i-i: (?P<n> (?<m> (?P<b>"
_openings = st.sampled_from(_OPENINGS.split())
_flags = st.sampled_from(["(?i)", "(?m)", "(?s)", "(?U)", "(?-i)", "(?ms)", "(?)"])


def _extended(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    groups = st.builds("{}{})".format, _openings, parts)
    return st.one_of(
        st.lists(parts, min_size=1, max_size=4).map("".join),
        st.lists(parts, min_size=2, max_size=3).map("|".join),
        st.builds("{}|".format, parts),
        groups,
        st.builds(str.__add__, st.one_of(groups, _literals, _classes, _assertions, _dots), _repetitions),
        st.builds("(?:{}){}".format, parts, _repetitions),
        st.builds(str.__add__, _flags, parts),
    )


grammatical = st.recursive(st.one_of(_literals, _classes, _assertions, _dots), _extended, max_leaves=12)
"""Mostly valid, rich in what looks at the start of the name."""

_TOKENS = r"""
    a b A _ . - ( ) | * + ? ^ $ [ ] { } \ " ' # , / é K
    (?: (?i) (?i: (?m) (?s) (?U) (?-i) (?-) (? (?P<n> (?<m> (?P=n) (?= (?! (?<= (?# (?> (?P> (?'n'
    \b \B \A \z \Z \Q \E \C \d \W \pL \p{^Lu} \p{Greek} \p{ \p \P \x \x61 \x{62} \x{} \x{110000}
    \1 \8 \0 \141 \k \_ \n [^ [^] [] [a-b] [b-a] [[:alpha:]] [: :] [:^ [[:foo:]] a- -] [a-\d] && ||
    ++ ** {2} {,2} {2,1} {1000} {1001} {02} {2,} {99999999999} )|( a)|(b |__consumer_offsets
"""
_CHARACTERS = [" ", "\n", "\0", "\x7f", "\u017f", "\u1c80", "\U00010428"]
nasty = st.lists(st.sampled_from(_TOKENS.split() + _CHARACTERS), max_size=12).map("".join)
"""Tokens in any order: unbalanced, unfinished, unknown."""

noise = st.one_of(
    st.binary(max_size=40).map(lambda raw: raw.decode("latin-1")),
    st.text(max_size=40),
    st.text(string.printable, max_size=40),
)
"""Not meant to be a regex."""

positional = st.recursive(
    st.one_of(
        _assertions,
        st.sampled_from(_LETTERS),
        st.sampled_from([".", "(?s:.)", "[^a]", r"\w", "a*", ".*", "-?"]),
    ),
    lambda parts: st.one_of(
        st.lists(parts, min_size=2, max_size=4).map("".join),
        st.lists(st.one_of(parts, st.just("")), min_size=2, max_size=3).map(
            lambda some: f"(?:{'|'.join(some)})"
        ),
        st.builds("(?:{}){}".format, parts, _repetitions),
        st.builds("((?m){})".format, parts),
    ),
    max_leaves=10,
)
"""What looks at the start, behind what may be empty."""

regexes = st.one_of(grammatical, positional, nasty, noise)
"""All of them."""

short_names = ["".join(chars) for length in (1, 2, 3) for chars in itertools.product(_LETTERS, repeat=length)]
"""All names of up to three characters of the commonest in the regexes above."""

names = st.text(_MORE_LETTERS, min_size=1, max_size=6)
"""Topics, and transactional IDs that are no legal topic."""
