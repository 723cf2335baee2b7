"""Kerberos names and OAUTHBEARER messages, held against what Kafka's own classes make of them."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator

import pytest

from bifrost.authentication.accounts import Account, AuthenticationFailed
from bifrost.authentication.oauthbearer_server import CheckedToken, OAuthBearerServer
from bifrost.config.principals.kerberos_rules import LocalNames, NoLocalName
from bifrost.embedded.kafka import DEFAULT_VERSION
from golden.kafka_security import KafkaSecurity

pytestmark = pytest.mark.timeout(300)
REALM = "EXAMPLE.COM"
RUNS = 3_000
FEWEST = 200
"""Results of each kind in a run."""


@pytest.fixture(scope="module")
def kafka_security() -> Iterator[KafkaSecurity]:
    with KafkaSecurity(DEFAULT_VERSION) as classes:
        yield classes


PRINCIPALS = [
    "alice@EXAMPLE.COM",
    "Alice@EXAMPLE.COM",
    "alice@OTHER.COM",
    "alice",
    "alice/admin@EXAMPLE.COM",
    "kafka/host.example.com@EXAMPLE.COM",
    "kafka/host.example.com@OTHER.COM",
    "a.b-c_d/x@EXAMPLE.COM",
    "aabbaa@EXAMPLE.COM",
    "alice/admin",
    "alice@",
    "@EXAMPLE.COM",
    "a/b/c@EXAMPLE.COM",
    "a@b@EXAMPLE.COM",
    "/x@EXAMPLE.COM",
    "alice/@EXAMPLE.COM",
    "dollar$1@EXAMPLE.COM",
    "\u00e4lice@EXAMPLE.COM",
    "ALICE/Host@Example.Com",
]
FORMATS = ["$1", "$0", "$1@$0", "$1/$2@$0", "$2", "$1.$2", "x", "", "$1$1", "$3", "$", "$1;$2", "$01", "a$1b"]
MATCHES = [
    "",
    "(.*)",
    "(.*@EXAMPLE.COM)",
    "(a.*)",
    "([a-z]+)",
    "([^@]*@OTHER[.]COM)",
    "(alice|kafka.*)",
    "(\\w+)",
]
PATTERNS = [
    "@.*",
    "a",
    "[aeiou]",
    "(a)(l)",
    "^a",
    "e$",
    ".",
    "b+",
    "a|b",
    "([a-z])([a-z])?",
    "[/@].*",
    "\\W",
    "",
]
REPLACEMENTS = ["", "x", "$1", "$2$1", "$10", "\\$1", "$0", "<$0>", "@", "$", "$3", "\\", "x\\\\y"]
OTHERS = [
    "DEFAULT",
    "default",
    "DEFAULT/L",
    "RULE:[1:$1]",
    "RULE:[1]",
    "RULE:1:$1",
    "",
    "RULE:[1:$1](a",
    "RULE:[:$1]",
]


def random_rule(rng: random.Random) -> str:
    if rng.random() < 0.15:
        return rng.choice(OTHERS)
    rule = f"RULE:[{rng.choice('1122301')}:{rng.choice(FORMATS)}]{rng.choice(MATCHES)}"
    if rng.random() < 0.6:
        rule += f"s/{rng.choice(PATTERNS)}/{rng.choice(REPLACEMENTS)}/" + rng.choice(["", "g"])
    return rule + rng.choice(["", "", "/L", "/U", "L", "/"])


def ours(rules: list[str]) -> list[str | None] | None:
    try:
        names = LocalNames(REALM, tuple(rules))
    except ValueError:
        return None

    def of(principal: str) -> str | None:
        try:
            return names.of(principal)
        except NoLocalName:
            return None

    return [of(principal) for principal in PRINCIPALS]


def test_a_rule_that_is_taken_means_what_it_means_at_a_broker(kafka_security: KafkaSecurity) -> None:
    rng, seen = random.Random(1), Counter[str]()
    for _ in range(RUNS):
        rules = [random_rule(rng) for _ in range(rng.choice([1, 1, 2, 3]))]
        mine, kafkas = ours(rules), kafka_security.names(REALM, rules, PRINCIPALS)
        if mine is None:
            seen["refused"] += 1
            continue
        assert kafkas is not None, rules
        for principal, name, kafka_name in zip(PRINCIPALS, mine, kafkas, strict=True):
            if "@" not in principal:
                # A ticket's principal has a realm; Kafka takes a name without one as it is.
                assert name is None
                continue
            assert name == kafka_name, (rules, principal)
            seen["named" if name is not None else "unknown"] += 1

    assert min(seen[one] for one in ("refused", "named", "unknown")) >= FEWEST


def test_what_people_write_is_taken(kafka_security: KafkaSecurity) -> None:
    """Refused are rules that fail at every login, and patterns that Java reads differently: here are none."""
    for number, formats in (("1", ["$1", "$0", "$1@$0"]), ("2", ["$1", "$2", "$1/$2@$0"])):
        for text in formats:
            for match, pattern in itertools.product(MATCHES, (one for one in PATTERNS if "/" not in one)):
                rules = [f"RULE:[{number}:{text}]{match}s/{pattern}/x/g/L"]
                assert ours(rules) is not None, rules
                assert kafka_security.names(REALM, rules, PRINCIPALS[:1]) is not None


class AnyToken:
    """Takes every token as a principal's."""

    max_bytes = 1000
    has_principals = True

    def __init__(self, username: str) -> None:
        self.username = username
        self.shown: list[str] = []

    def check(self, token: str) -> CheckedToken:
        self.shown.append(token)
        return CheckedToken(Account(self.username, "acme"), 1)


def token_of(message: bytes, authorization_id: str) -> str | None:
    """What we read in a message whose authorization ID is this, None if it is malformed."""
    tokens = AnyToken(authorization_id)
    try:
        OAuthBearerServer(tokens).respond(message)
    except AuthenticationFailed as failure:
        return None if not tokens.shown else f"other than {authorization_id}: {failure}"
    return tokens.shown[0]


PIECES = [
    "n,,", "n,a=alice,", "n,a=a=2Cb,", "n,a=a=b,", "y,,", "n,", "\1", "\1", "\1\1", "auth=Bearer a.b-c_d",
    "auth=bearer  x",
    "auth=Basic x", "auth=Bearer x y", "auth=", "key=value\1", "k1=v\1", "key=\1", "K=a=b\t\1", "trace=\x7f\1", "\xff",
    "\0", "=", " ",
]  # fmt: skip


def test_a_message_is_read_as_a_broker_reads_it(kafka_security: KafkaSecurity) -> None:
    rng, seen = random.Random(3), Counter[bool]()
    messages = []
    for _ in range(RUNS):
        if rng.random() < 0.5:
            text = "".join(rng.choices(PIECES, k=rng.randint(1, 6)))
        else:
            before, after = (
                "".join(rng.choices(["key=value\1", "x=y z\1", "k1=v\1"], k=rng.randint(0, 2)))
                for _ in range(2)
            )
            text = f"{rng.choice(PIECES[:4])}\1{before}{rng.choice(PIECES[9:13])}\1{after}\1"
        messages.append(text.encode("latin-1"))

    for message, kafkas in zip(messages, kafka_security.messages(messages), strict=True):
        name = "" if kafkas is None else kafkas[0].replace("=2C", ",").replace("=3D", "=")
        mine = token_of(message, name)
        seen[mine is not None] += 1
        assert mine == (None if kafkas is None else kafkas[1]), message

    assert min(seen[True], seen[False]) >= FEWEST
