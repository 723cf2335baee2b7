"""Names of certificates and their principals, held against Java's X500Principal and Kafka's SslPrincipalMapper.

BIFROST_PRINCIPAL_EXAMPLES is the number of names and of rules; a run is the same every time unless it is set.
"""

import os
import random
from collections import Counter
from collections.abc import Iterator

import pytest

from bifrost.authentication.distinguished_name import BadCertificate, read_subject
from bifrost.config.principals.principal_mapping import PrincipalMapping
from golden.java_principals import JavaPrincipals

IS_RANDOM = "BIFROST_PRINCIPAL_EXAMPLES" in os.environ
EXAMPLES = int(os.environ.get("BIFROST_PRINCIPAL_EXAMPLES", "6000"))
KINDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
    "1.2.840.113549.1.9.1": "e-mail",
    "2.5.4.5": "serial number",
    "2.999.1234567890.3": "a private one",
}
STRINGS = {
    12: "utf-8",
    19: "ascii",
    20: "latin-1",
    22: "ascii",
    27: "latin-1",
    28: "utf-32-be",
    30: "utf-16-be",
}
"""Tags of strings and their encodings."""
LETTERS = "aAbBzZ09 .,+\"\\<>;=#*@_/$'()-:?äß\u20ac\U0001f600\0\r\n\t\x7f\u00a0"


@pytest.fixture(scope="module")
def java() -> Iterator[JavaPrincipals]:
    with JavaPrincipals("4.3.1") as process:
        yield process


# -- names


def encoded(tag: int, content: bytes) -> bytes:
    if len(content) < 128:
        return bytes([tag, len(content)]) + content
    size = (len(content).bit_length() + 7) // 8
    return bytes([tag, 0x80 | size]) + len(content).to_bytes(size, "big") + content


def object_identifier(dotted: str) -> bytes:
    first, second, *rest = map(int, dotted.split("."))
    content = b""
    for number in (40 * first + second, *rest):
        groups = [number & 0x7F]
        while number := number >> 7:
            groups.append(0x80 | number & 0x7F)
        content += bytes(reversed(groups))
    return encoded(6, content)


def random_value(random_one: random.Random) -> bytes:
    text = "".join(random_one.choices(LETTERS, k=random_one.choice([0, 1, 1, 2, 5, 12, 40, 200])))
    tag = random_one.choice([12, 12, 12, 19, 19, *STRINGS, 4, 2, 3])
    if tag not in STRINGS:
        return encoded(tag, bytes(random_one.choices(range(256), k=random_one.randint(1, 4))))
    return encoded(tag, text.encode(STRINGS[tag], "ignore"))


def random_name(random_one: random.Random) -> bytes:
    relative = []
    for _ in range(random_one.choice([0, 1, 2, 3, 5, 8])):
        attributes = [
            encoded(0x30, object_identifier(random_one.choice(list(KINDS))) + random_value(random_one))
            for _ in range(random_one.choice([1, 1, 1, 1, 2, 3]))
        ]
        relative.append(encoded(0x31, b"".join(attributes)))
    return encoded(0x30, b"".join(relative))


def certificate_of(name: bytes) -> bytes:
    """As much of a certificate as has a subject."""
    nothing = encoded(0x30, b"")
    fields = encoded(0xA0, encoded(2, b"\2")) + encoded(2, b"\1") + nothing * 3 + name
    return encoded(0x30, encoded(0x30, fields) + nothing + encoded(3, b"\0"))


def our_name(name: bytes) -> str | None:
    try:
        return read_subject(certificate_of(name))
    except BadCertificate:
        return None


def test_names_are_written_as_java_writes_them(java: JavaPrincipals) -> None:
    random_one = random.Random(None if IS_RANDOM else 1)
    names = [random_name(random_one) for _ in range(EXAMPLES)]
    counts: Counter[str] = Counter()

    for name, expected in zip(names, java.names(names), strict=True):
        found = our_name(name)
        if expected is None or found is None:
            counts["refused by Java" if expected is None else "refused by us"] += 1
            # Java puts a question mark where a text is not UTF-8, and so makes one name of many.
            assert expected is None or "\ufffd" in expected, (name.hex(), expected)
            continue
        counts["same"] += 1
        assert found == expected, name.hex()
    assert counts["same"] > EXAMPLES / 2, counts


# -- rules

NAMES = [
    "CN=billing",
    "CN=Billing,OU=ServiceUsers,O=Acme,L=Oslo,ST=Oslo,C=NO",
    "CN=kafka1.example.com,OU=Servers",
    "OU=x,CN=y",
    "CN=a\\,b,O=\\#c\\ ",
    "UID=me+CN=two,DC=example,DC=com",
    "1.2.840.113549.1.9.1=#1603612e62,CN=mail",
    "cn=lower",
    "CN=",
    "",
    "CN=ä\u20acß,O=\u00a0",
    "CN=$1/x\\\\y,O=Z",
]
RULES = [
    "DEFAULT",
    " DEFAULT , DEFAULT",
    "",
    ",",
    "DEFAULT,",
    "DEFAULTS",
    "DEFAULT DEFAULT",
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/",
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/, RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L, DEFAULT",
    "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L,DEFAULT",
    "RULE:CN=(.*)/$1/U",
    "RULE:CN=(.*)/$1/X",
    "RULE:CN=(.*)/$1/LU",
    "RULE:CN=(.*)/$1/L ,DEFAULT",
    "RULE:CN=(.*)/$1",
    "RULE:CN=(.*)",
    "RULE:(/$1/",
    "RULE:CN=(.*)//",
    "RULE:/x/",
    "RULE:.*/x/",
    "RULE:CN=(.*?)/[$1]/",
    "RULE:(CN=)(.*)/$2$1$0/",
    "RULE:(CN=)(.*)/$12$3/",
    "RULE:(CN=)(.*)/$02/",
    "RULE:(CN=)(.*)/a\\/b\\$1\\\\/",
    "RULE:CN=(.*?)\\/.*/$1/",
    "RULE:CN=.*/$1/",
    "RULE:CN=.*/$/",
    "RULE:(.*)/${name}/",
    "RULE:(a)?CN=(.*)/<$1>$2/",
    "RULE:(?i)cn=(.*)/$1/",
    "RULE:[^,]*(,OU=[^,]*+)*+.*/x/",
    "RULE:CN=([^,+]+)([,+].*)?/$1/L",
    "RULE:.{3}(\\w*).*/$1/",
    "RULE:CN=(\\d|\\D)*/y/",
    "RULE:CN=[^\\]]*/z/",
    "RULE:CN=\\x61?.*/w/",
    "RULE:a**/x/",
    "RULE:x{2,1}/x/",
    "RULE:[z-a]/x/",
    "RULE:(?P<n>a)/x/",
    "RULE:CN=(.*),DEFAULT",
    "rule:CN=(.*)/$1/",
    "RULE:C/x/ RULE:D/y/",
]
PIECES = [
    "CN=",
    "(.*)",
    "(.*?)",
    "[^,]*",
    ",",
    "OU=",
    ".*",
    "$",
    "^",
    "(a|b)",
    "([A-Za-z]+)",
    "\\/",
    "\\.",
    "+",
    "x?",
]
PIECES += [
    "{2}",
    "\\d*",
    "(",
    ")",
    "[",
    "]",
    "|",
    "\\w+",
    "(?:,.*)?",
    "=",
    "\\,",
    "[^+]+?",
    "*+",
    "{1,3}",
    "\\Q",
    "}",
    "-",
]
REPLACEMENTS = [
    "$1",
    "$2",
    "x",
    "$1@$2",
    "",
    "\\/",
    "$0",
    "$9",
    "$",
    "\\$",
    "$10",
    "a$1b",
    "$00",
    "$01",
    "\\\\",
]


def our_principals(rules: str, names: list[str]) -> list[str | None] | None:
    try:
        mapping = PrincipalMapping(rules)
    except ValueError:
        return None
    return [mapping.principal_of(name) for name in names]


@pytest.mark.parametrize("rules", RULES)
def test_the_rules_that_operators_write(java: JavaPrincipals, rules: str) -> None:
    compare(java, rules, Counter())


def test_rules_of_all_kinds(java: JavaPrincipals) -> None:
    random_one = random.Random(None if IS_RANDOM else 2)
    counts: Counter[str] = Counter()
    for _ in range(EXAMPLES // 2):
        rules = []
        for _ in range(random_one.choice([1, 1, 1, 2, 3])):
            pattern = "".join(random_one.choices(PIECES, k=random_one.randint(1, 5)))
            replacement = "".join(random_one.choices(REPLACEMENTS, k=random_one.randint(0, 3)))
            rules.append(f"RULE:{pattern}/{replacement}/{random_one.choice(['', '', 'L', 'U', 'Q'])}")
        text = random_one.choice([",", ", ", " ,"]).join(rules) + random_one.choice(["", ",DEFAULT"])
        compare(java, text, counts)

    assert counts["mapped"] > EXAMPLES / 4, counts
    assert counts["refused by both"], counts


def compare(java: JavaPrincipals, rules: str, counts: Counter[str]) -> None:
    """Fail unless we say of each name what Kafka says, or refuse the rules."""
    ours, theirs = our_principals(rules, NAMES), java.principals(rules, NAMES)
    if ours is None:
        counts["refused by both" if theirs is None else "refused by us"] += 1
        return
    assert theirs is not None, f"Kafka refuses {rules!r}, we don't"
    assert list(zip(NAMES, ours, strict=True)) == list(zip(NAMES, theirs, strict=True)), rules
    counts["mapped"] += sum(one is not None for one in ours)
