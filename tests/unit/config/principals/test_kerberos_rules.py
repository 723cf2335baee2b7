"""What rules make of principals; that it is what Kafka makes of them is in tests/golden."""

import pytest

from bifrost.config.principals.kerberos_rules import LocalNames, NoLocalName, read_rule

REALM = "EXAMPLE.COM"


def name_of(principal: str, *rules: str) -> str | None:
    try:
        return LocalNames(REALM, rules).of(principal)
    except NoLocalName:
        return None


@pytest.mark.parametrize(
    ("principal", "name"),
    [
        ("alice@EXAMPLE.COM", "alice"),
        ("kafka/host.example.com@EXAMPLE.COM", "kafka"),
        ("alice@OTHER.COM", None),
        ("alice@example.com", None),
        ("alice", None),
        ("a/b/c@EXAMPLE.COM", None),
        ("alice\n@EXAMPLE.COM", None),
    ],
)
def test_by_default_the_first_part_is_the_name_in_the_own_realm(principal: str, name: str | None) -> None:
    assert name_of(principal, "DEFAULT") == name


@pytest.mark.parametrize(
    ("rule", "principal", "name"),
    [
        ("RULE:[1:$1]", "alice@OTHER.COM", "alice"),
        ("RULE:[1:$1]", "alice/admin@OTHER.COM", None),
        ("RULE:[2:$2.$1]", "alice/admin@OTHER.COM", "admin.alice"),
        ("RULE:[1:$1@$0](.*@OTHER.COM)s/@.*//", "alice@OTHER.COM", "alice"),
        ("RULE:[1:$1@$0](.*@OTHER.COM)s/@.*//", "alice@EXAMPLE.COM", None),
        ("RULE:[1:$1@$0](.*@OTHER.COM)s/@.*//", "alice@OTHER.COM.EVIL", None),
        ("RULE:[1:$1](al)s/l/x/", "alice@OTHER.COM", None),
        ("RULE:[1:$1]s/a/o/", "anna@X", "onna"),
        ("RULE:[1:$1]s/a/o/g", "anna@X", "onno"),
        ("RULE:[1:$1]s/(.)(.)/$2$1/", "anna@X", "nana"),
        ("RULE:[1:$1]s/(b)?(.)/$1$2!/", "anna@X", "a!nna"),
        ("RULE:[1:$1]s/(.)/$11/", "anna@X", "a1nna"),
        ("RULE:[1:$1]s/a/\\$1/", "anna@X", "$1nna"),
        ("RULE:[1:$1]s/a/\\\\/", "anna@X", "\\nna"),
        ("RULE:[1:$1]/U", "anna@X", "ANNA"),
        ("RULE:[1:$1]/L", "ANNA@X", "anna"),
        ("RULE:[1:$1]s/a/o/g/U", "anna@X", "ONNO"),
        ("RULE:[1:$1@$0]", "anna@X", None),
        ("RULE:[1:$1]s/n/@/", "anna@X", None),
    ],
)
def test_a_rule_is_for_some_principals_and_rewrites_them(rule: str, principal: str, name: str | None) -> None:
    assert name_of(principal, rule) == name


def test_the_first_rule_that_applies_counts() -> None:
    rules = ("RULE:[2:$1](root)s/root/unknown/", "RULE:[1:$1](a.*)s/$/-a/", "DEFAULT")

    assert [name_of(f"{one}@{REALM}", *rules) for one in ("root/host", "alice", "bob")] == [
        "unknown",
        "alice-a",
        "bob",
    ]
    # What comes of it decides, not what a later one would make of it.
    assert name_of(f"alice@{REALM}", "RULE:[1:$1@$0]", "DEFAULT") is None


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "default",
        "DEFAULT/L",
        "RULE",
        "RULE:[1]",
        "RULE:[:$1]",
        "RULE:[1:$1](a",
        "RULE:[1:$1]s/a/b",
        "RULE:[1:$1]s/a/b/x",
        "RULE:[1:$1]/l",
        "RULE:[1:$1] ",
    ],
)
def test_what_is_no_rule_is_refused(rule: str) -> None:
    with pytest.raises(ValueError, match="is no rule: write DEFAULT, or RULE:"):
        read_rule(rule)


@pytest.mark.parametrize("rule", ["RULE:[1:$2]", "RULE:[2:$3]", "RULE:[1:$]", "RULE:[1:$10]"])
def test_a_part_that_there_is_not_is_refused(rule: str) -> None:
    with pytest.raises(ValueError, match="names a part"):
        read_rule(rule)


@pytest.mark.parametrize(
    "pattern",
    [
        "[a-z&&[^b]]",
        "[a[b]]",
        "[[:alpha:]]",
        "[]a]",
        "[^]a]",
        "\\p{L}",
        "\\Qa\\E",
        "\\1",
        "\\bx",
        "\\Z",
        "\\h",
        "(?i)a",
        "(?<n>a)",
        "(?=a)",
        "a*+",
        "a" * 257,
    ],
)
def test_what_java_reads_differently_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="no pattern that is understood here"):
        read_rule(f"RULE:[1:$1]s/{pattern}/x/")


@pytest.mark.parametrize("pattern", ["(", "*", "a**", "[z-a]", "a{2,1}"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="is no pattern"):
        read_rule(f"RULE:[1:$1]s/{pattern}/x/")


@pytest.mark.parametrize("replacement", ["$", "$x", "$1", "a\\", "${n}", "$\u0661"])
def test_what_is_no_replacement_is_refused(replacement: str) -> None:
    with pytest.raises(ValueError, match="is no replacement"):
        read_rule(f"RULE:[1:$1]s/a/{replacement}/")


def test_default_is_no_rule_of_its_own() -> None:
    assert read_rule("DEFAULT") is None
