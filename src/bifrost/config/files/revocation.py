"""Lists of revoked client certificates (CRL, RFC 5280, section 5): what OpenSSL does not tell about them.

OpenSSL checks a certificate against the lists. It does not tell when they expire, nor whether a file of lists has
certificates as well, which it would then trust; so this module looks for both.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

MAX_CRL_BYTES = 1 << 20
"""Largest file of lists, in bytes: some 20,000 revoked certificates. OpenSSL checks a list's signature, and so hashes
all of it, in every handshake: half a millisecond of CPU for a file of this size. Reading it takes 40 ms."""

_BLOCK = re.compile(rb"-----BEGIN ([^-\r\n]*)-----[A-Za-z0-9+/=\s]*-----END \1-----")
_LABEL = b"X509 CRL"


class UnusableCrl(Exception):
    """A file does not hold what it must; the message is for the operator."""


def read_expiry(content: bytes) -> datetime:
    """Return the time from which the lists of some CA in a PEM file are out of date.

    Of several lists of one CA the one that is valid longest counts, as OpenSSL chooses it.

    Raises:
        UnusableCrl: the file has anything but lists, no list, or a list without the time of its next update.
    """
    labels = [found.group(1) for found in re.finditer(rb"-----BEGIN ([^-\r\n]*)-----", content)]
    other = next((one for one in labels if one != _LABEL), None)
    if other is not None:
        text = other.decode("ascii", "replace")
        raise UnusableCrl(
            f"has a block {text!r}: put nothing but X509 CRL blocks there, and CAs into client_ca_file"
        )
    from cryptography import x509  # and its library of 8 MiB, for those who have lists

    found: dict[x509.Name, datetime] = {}
    for block in _BLOCK.finditer(content):
        try:
            revoked = x509.load_pem_x509_crl(block.group())
            issuer, expiry = revoked.issuer, revoked.next_update_utc
        except ValueError:
            raise UnusableCrl("has a CRL that is not well-formed") from None
        if expiry is None:
            raise UnusableCrl("has a CRL without the time of its next update: it would never expire")
        found[issuer] = max(expiry, found.get(issuer, expiry))
    if not found:
        hint = "convert it by openssl crl -inform DER -outform PEM"
        raise UnusableCrl(f"has no X509 CRL block in PEM: is it the right file? If it is in DER, {hint}")
    return min(found.values())


def missing_issuers(certificates: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the common names of CAs whose own issuer is not among them: intermediate ones alone.

    Args:
        certificates: those of the CAs, as `SSLContext.get_ca_certs` gives them.
    """
    subjects = [one["subject"] for one in certificates]
    return [_name(one["subject"]) for one in certificates if one["issuer"] not in subjects]


def _name(subject: object) -> str:
    """Return the last part of a name as `ssl` gives it, which is mostly the common name."""
    assert isinstance(subject, tuple)
    return "=".join(str(part) for part in subject[-1][-1]) if subject else "a CA without a name"
