"""When lists of revoked certificates expire, and what is no file of such lists."""

import datetime
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from bifrost.config.files.revocation import UnusableCrl, missing_issuers, read_expiry
from support.identity.certificates import DAY, Authority

AUTHORITY = Authority("CA")
NOW = datetime.datetime.now(datetime.UTC).replace(microsecond=0)


@pytest.mark.parametrize("until", [NOW + DAY, NOW - DAY, NOW.replace(year=2060), NOW.replace(year=1999)])
def test_a_list_expires_at_its_next_update(until: datetime.datetime) -> None:
    assert read_expiry(AUTHORITY.revocations(until=until)) == until


def test_the_first_ca_whose_newest_list_expires_decides() -> None:
    other = Authority("another CA")
    days = {3: AUTHORITY, 1: AUTHORITY, 2: other}
    content = b"".join(one.revocations(until=NOW + day * DAY) for day, one in days.items())

    assert read_expiry(content) == NOW + 2 * DAY


def test_a_long_list_is_read() -> None:
    content = AUTHORITY.revocations(AUTHORITY.client("one"), until=NOW, extra=1000)

    assert read_expiry(b"of CA, for printing\r\n" + content.replace(b"\n", b"\r\n")) == NOW


def _without_next_update() -> bytes:
    """Cut the second time out of a list; its signature is not looked at here."""
    pem = AUTHORITY.revocations(until=NOW)
    der = x509.load_pem_x509_crl(pem).public_bytes(Encoding.DER)
    time = b"\x17\x0d" + NOW.strftime("%y%m%d%H%M%SZ").encode()
    assert der.count(time) == 1
    cut = bytearray(der.replace(time, b""))
    assert (cut[:2], cut[3]) == (
        b"\x30\x81",
        0x30,
    )  # A long form of the list's length, a short one of its part.
    for at in (2, 4):
        cut[at] -= len(time)
    return ssl.DER_cert_to_PEM_cert(bytes(cut)).replace("CERTIFICATE", "X509 CRL").encode()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "has no X509 CRL block"),
        (b"\x30\x03\x02\x01\x00", "openssl crl -inform DER"),
        (AUTHORITY.pem, "has a block 'CERTIFICATE': put nothing but X509 CRL blocks there"),
        (AUTHORITY.revocations() + AUTHORITY.pem, "has a block 'CERTIFICATE'"),
        (
            AUTHORITY.revocations() + b"-----BEGIN TRUSTED CERTIFICATE-----\n",
            "has a block 'TRUSTED CERTIFICATE'",
        ),
        (b"-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n", "not well-formed"),
        (b"-----BEGIN X509 CRL-----\nMIIB\n-----END X509 CRL-----\n", "not well-formed"),
        (b"-----BEGIN X509 CRL-----\nMAA=\n", "no X509 CRL block"),
        (_without_next_update(), "without the time of its next update"),
    ],
)
def test_what_is_no_file_of_lists_is_refused(content: bytes, expected: str) -> None:
    with pytest.raises(UnusableCrl, match=expected):
        read_expiry(content)


def test_intermediate_cas_without_their_root_are_named(tmp_path: Path) -> None:
    intermediate = Authority("CA of clients", AUTHORITY)

    def names(*authorities: Authority) -> list[str]:
        path = tmp_path / "cas.pem"
        path.write_bytes(b"".join(one.pem for one in authorities))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_verify_locations(path)
        return missing_issuers(context.get_ca_certs())

    assert names(AUTHORITY) == names(intermediate, AUTHORITY) == []
    assert names(intermediate) == ["commonName=CA of clients"]
    assert names(AUTHORITY, Authority("CA of others", Authority("unknown"))) == ["commonName=CA of others"]
