"""Names of certificates; that Java writes them so is in tests/golden."""

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from bifrost.authentication.distinguished_name import BadCertificate, read_subject
from support.identity.certificates import Authority

AUTHORITY = Authority("CA")
CN, OU, C = NameOID.COMMON_NAME, NameOID.ORGANIZATIONAL_UNIT_NAME, NameOID.COUNTRY_NAME


def subject(*parts: tuple[x509.ObjectIdentifier, str]) -> str:
    name = x509.Name([x509.NameAttribute(kind, value) for kind, value in parts])
    return read_subject(AUTHORITY.client(name).der)


def test_the_last_part_stands_first() -> None:
    assert subject(
        (C, "NO"), (NameOID.ORGANIZATION_NAME, "Acme"), (OU, "Shop"), (OU, "Billing"), (CN, "b")
    ) == ("CN=b,OU=Billing,OU=Shop,O=Acme,C=NO")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a,b+c", r"a\,b\+c"),
        ('"a"\\<>;=#', r"\"a\"\\\<\>\;\=\#"),
        (" a  b ", r"\ a  b\ "),
        ("  ", r"\ \ "),
        ("ä€😀", "ä€😀"),
        ("a\0b", r"a\00b"),
        ("a/b.c@d", "a/b.c@d"),
    ],
)
def test_what_has_a_meaning_in_a_name_is_escaped(value: str, shown: str) -> None:
    assert subject((CN, value)) == f"CN={shown}"


def test_every_keyword_of_rfc_2253_and_numbers_for_the_rest() -> None:
    kinds = [NameOID.LOCALITY_NAME, NameOID.STATE_OR_PROVINCE_NAME, NameOID.STREET_ADDRESS, NameOID.USER_ID]
    found = subject(*((kind, "x") for kind in (*kinds, NameOID.DOMAIN_COMPONENT, NameOID.EMAIL_ADDRESS)))

    assert found == "1.2.840.113549.1.9.1=#160178,DC=x,UID=x,STREET=x,ST=x,L=x"
    assert subject((x509.ObjectIdentifier("2.999.16384"), "x")) == "2.999.16384=#0c0178"


def test_several_in_one_part_are_joined_in_their_order() -> None:
    both = x509.RelativeDistinguishedName([x509.NameAttribute(CN, "a"), x509.NameAttribute(OU, "b")])
    found = read_subject(AUTHORITY.client(x509.Name([both])).der)

    assert found in ("CN=a+OU=b", "OU=b+CN=a")


def test_no_name_at_all_is_an_empty_one() -> None:
    assert read_subject(AUTHORITY.client(x509.Name([])).der) == ""


def test_what_is_not_unicode_is_refused_for_it_would_look_like_another_name() -> None:
    name = x509.Name([x509.NameAttribute(CN, "abc")])
    der = AUTHORITY.client(name).der.replace(b"\x0c\x03abc", b"\x14\x03ab\xe4")

    with pytest.raises(BadCertificate, match="CN in another encoding than UTF-8"):
        read_subject(der)


@pytest.mark.parametrize("cut", [0, 1, 2, 4, 20, 60])
def test_what_is_no_certificate_is_refused(cut: int) -> None:
    der = AUTHORITY.client("billing").der
    for broken in (
        der[:cut],
        der[:cut] + b"\xff" * (len(der) - cut),
        b"\x30\x84\xff\xff\xff\xff" + der,
        b"\x30\x80",
    ):
        with pytest.raises(BadCertificate, match=r"is not well-formed|has no subject"):
            read_subject(broken)
