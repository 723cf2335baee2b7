"""Lists of revoked client certificates (CRL, RFC 5280, section 5): what OpenSSL does not tell about them.

OpenSSL checks a certificate against the lists. It does not tell when they expire, nor whether a file of lists has
certificates as well, which it would then trust; so this module reads that much of their DER:

    CertificateList  SEQUENCE { TBSCertList SEQUENCE { version INTEGER OPTIONAL, signature SEQUENCE, issuer SEQUENCE,
                                                       thisUpdate Time, nextUpdate Time OPTIONAL, ... }, ... }
"""

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

MAX_CRL_BYTES = 1 << 20
"""Largest file of lists, in bytes: some 20,000 revoked certificates. OpenSSL checks a list's signature, and so hashes
all of it, in every handshake: half a millisecond of CPU for a file of this size. Reading it takes 40 ms."""

_BLOCK = re.compile(rb"-----BEGIN ([^-\r\n]*)-----\s*([A-Za-z0-9+/=\s]*?)\s*-----END \1-----")
_LABEL = b"X509 CRL"
_SEQUENCE, _INTEGER, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0x02, 0x17, 0x18
_TIMES = {_UTC_TIME: "%y%m%d%H%M%SZ", _GENERALIZED_TIME: "%Y%m%d%H%M%SZ"}


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
    found: dict[bytes, datetime] = {}
    for block in _BLOCK.finditer(content):
        try:
            issuer, expiry = _read_list(b64decode(block.group(2)))
        except (ValueError, IndexError, StopIteration):
            raise UnusableCrl("has a CRL that is not well-formed") from None
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


def _read_list(der: bytes) -> tuple[bytes, datetime]:
    """Return a list's issuer, and the time of its next update."""
    _, outer, _ = next(_elements(der))
    _, inner, _ = next(_elements(outer))
    parts = _elements(inner)
    if (
        next(parts)[0] == _INTEGER
    ):  # The version, which the first one has not; else it was the signature's algorithm.
        next(parts)
    tag, _, issuer = next(parts)
    if tag != _SEQUENCE or _read_time(*next(parts)[:2]) is None:
        raise ValueError("no issuer, or no time of this update")
    expiry = _read_time(*next(parts)[:2])
    if expiry is None:
        raise UnusableCrl("has a CRL without the time of its next update: it would never expire")
    return issuer, expiry


def _read_time(tag: int, content: bytes) -> datetime | None:
    """Return a time; None for an element that is none."""
    form = _TIMES.get(tag)
    return None if form is None else datetime.strptime(content.decode("ascii"), form).replace(tzinfo=UTC)


def _elements(der: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield the DER elements that follow each other: tag, content, and the whole element.

    Raises:
        ValueError: an element is not complete.
    """
    at = 0
    while at < len(der):
        begin, tag, size = at, der[at], der[at + 1]
        at += 2
        if size >= 0x80:
            count = size & 0x7F
            size = int.from_bytes(der[at : at + count], "big")
            at += count
        end = at + size
        if end > len(der):
            raise ValueError("an element ends early")
        yield tag, der[at:end], der[begin:end]
        at = end
