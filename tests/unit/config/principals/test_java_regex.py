import time

import pytest

from bifrost.config.principals.java_regex import MAX_LENGTH, read_java_regex


@pytest.mark.parametrize(
    ("pattern", "text", "groups"),
    [
        ("CN=(.*?),OU=(.*)", "CN=a,OU=b,OU=c", ("a", "b,OU=c")),
        ("^CN=([^,]+)(,.*)?$", "CN=a", ("a", None)),
        (r"a\.b\/c\,d", "a.b/c,d", ()),
        (r"\d+\w\s\x41\u0042", "12a AB", ()),
        ("(?i)cn=(A|b)", "CN=B", ("B",)),
        ("(?:ab){2}c{1,}d{1,2}+", "ababccd", ()),
        ("[^,]*(,OU=[^,]*+)*+", "a,OU=b,OU=c", (",OU=c",)),
        ("(?:[A-Z]{2}-)*x", "AB-CD-x", ()),
        ("(a*)?b", "aab", ("aa",)),
        (r"[\]\-a]+}]", "]-a}]", ()),
        ("", "", ()),
    ],
)
def test_what_java_and_python_mean_alike_is_taken(pattern: str, text: str, groups: tuple[str, ...]) -> None:
    match = read_java_regex(pattern).fullmatch(text)

    assert match is not None
    assert match.groups() == groups


def test_classes_and_cases_are_those_of_ascii() -> None:
    assert read_java_regex(r"\w").fullmatch("ä") is None
    assert read_java_regex(r"\d").fullmatch("٣") is None
    assert read_java_regex("(?i)K").fullmatch("\u212a") is None


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(a+)+b", "character 4: what is repeated holds a repetition"),
        ("x(a|b)*", "character 6: what is repeated holds a repetition or alternatives"),
        ("((a|b)c)*", "what is repeated"),
        ("(a*){3}", "what is repeated"),
        (r"\bx", r"character 1: \\b is not among what is read"),
        (r"\p{L}", r"\\p is not"),
        (r"(a)\1", r"\\1 is not"),
        (r"\Qa\E", r"\\Q is not"),
        ("\\", "is not among"),
        ("(?<n>a)", r"\(\?: is read"),
        ("(?=a)", r"\(\?: is read"),
        ("a(?i)b", r"\(\?: is read"),
        ("[a[b]]", "a class within a class"),
        ("[a&&b]", "a class within a class"),
        ("[]a]", "begins with ]"),
        ("[a", "is not closed"),
        ("(a", "character 1: a group is not closed"),
        ("a)", "closes nothing"),
        ("*a", "repeats nothing"),
        ("a|{2}", "repeats nothing"),
        ("a**", r"\* repeats nothing"),
        ("a{2", "{ repeats nothing"),
        ("a{,2}", "{ repeats nothing"),
        ("^*a", "an anchor is not repeated"),
        ("a{2,1}", "the smaller number first"),
        ("a{1001}", "up to 1000"),
        ("[z-a]", "cannot be read: bad character range"),
        ("a" * (MAX_LENGTH + 1), "at most 1000"),
    ],
)
def test_what_is_not_taken_is_refused_with_its_place(pattern: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        read_java_regex(pattern)


def test_what_is_taken_does_not_take_for_ever() -> None:
    pattern = read_java_regex("^CN=([^,]*)(,[^,]*+)*+,O=(.*),C=(.*)$")
    begun = time.perf_counter()

    assert pattern.fullmatch("CN=a" + ",O=a" * 120) is None
    assert time.perf_counter() - begun < 1
