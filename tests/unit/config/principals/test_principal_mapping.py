"""Rules as they are read here; that Kafka reads them so is in tests/golden."""

import pytest

from bifrost.config.principals.principal_mapping import PrincipalMapping

NAME = "CN=Billing,OU=ServiceUsers,O=Acme"


@pytest.mark.parametrize(
    ("rules", "principal"),
    [
        ("DEFAULT", NAME),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "Billing"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L", "billing"),
        ("RULE:CN=(.*?),.*/$1/U , DEFAULT", "BILLING"),
        ("RULE:^CN=([^,]+),OU=([^,]+),O=(.*)$/$3@$1/", "Acme@Billing"),
        ("RULE:^OU=(.*)$/$1/,RULE:^CN=([^,]+).*/second/", "second"),
        ("RULE:^OU=(.*)$/$1/", None),
        (r"RULE:^(.*)$/a\/b\$1\\$1/", rf"a/b$1\{NAME}"),
        ("RULE:(CN=)(.*)/$12$0/", f"CN=2{NAME}"),
        ("RULE:.*/x/", "xx"),
        ("RULE:(a)?.*/<$1>/", "<><>"),
        (" , DEFAULT,", NAME),
        (
            "RULE:^CN=(.*?),OU=Servers.*$/$1/,RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,"
            "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L,DEFAULT",
            "billing",
        ),
    ],
)
def test_the_first_rule_that_matches_gives_the_principal(rules: str, principal: str | None) -> None:
    assert PrincipalMapping(rules).principal_of(NAME) == principal


def test_an_empty_match_goes_on_one_character_later() -> None:
    assert PrincipalMapping("RULE:(.*?)/-$1/").principal_of("abc") == "-a-b-c-"


@pytest.mark.parametrize("line_break", "\n\r\u0085\u2028\u2029")
def test_a_name_with_a_line_break_gives_no_principal(line_break: str) -> None:
    assert PrincipalMapping("RULE:.*/x/,DEFAULT").principal_of(f"CN=a{line_break}") is None


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("", "there is no rule"),
        (" , ,", "there is no rule"),
        ("DEFAULTS", "'DEFAULTS' is no rule"),
        ("DEFAULT DEFAULT", "is no rule"),
        ("RULE:a/b", "is no rule"),
        ("RULE:a/b/X", "is no rule"),
        ("RULE:a/b/LU", "is no rule"),
        ("rule:a/b/", "is no rule"),
        ("RULE:a/b,c/d/", "is no rule"),
        ("RULE:(a/b/", "the rule 'RULE:.a/b/': the pattern '.a', character 1: a group is not closed"),
        ("RULE:a/$1/", "but the pattern has no groups"),
        ("RULE:(a)/$2/", "has 1 groups"),
        (r"RULE:(a)/\$2/", "has 1 groups"),
        ("RULE:(a)/$/", "followed by the number of a group"),
        ("RULE:(a)/${n}/", "followed by the number of a group"),
        (",".join(["DEFAULT"] * 101), "101 rules"),
    ],
)
def test_rules_that_cannot_be_read_are_refused(rules: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        PrincipalMapping(rules)
