"""ETags of the API: of one record its version, of many a digest of what they say."""

import hashlib
from collections.abc import Iterable
from http import HTTPStatus

from bifrost.control.problem import Problem

DIGEST_LENGTH = 32
"""Hexadecimal digits of a digest: 128 bits, which nothing hits by chance."""

MAX_VERSION_DIGITS = 20


class NotAsSeen(Exception):
    """What is to be changed is not as the caller has seen it. Nothing was changed."""

    def __init__(self, what: str) -> None:
        """Say what has changed."""
        super().__init__(f"{what} have changed since they were read")


def etag(version: int | str) -> str:
    """Return the ETag of a version or a digest."""
    return f'"{version}"'


def digest(parts: Iterable[str]) -> str:
    """Return a digest of texts, whatever their order."""
    joined = "\0".join(sorted(parts))
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_LENGTH]


def read_version(value: str | None) -> int | None:
    """Return the version of an If-Match; None: any version will do.

    Raises:
        Problem: it is none that this API has given.
    """
    text = _unquoted(value)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > MAX_VERSION_DIGITS:
        raise _no_etag()
    return int(text)


def read_digest(value: str | None) -> str | None:
    """Return the digest of an If-Match; None: any will do.

    Raises:
        Problem: it is none that this API has given.
    """
    text = _unquoted(value)
    if text is not None and (len(text) != DIGEST_LENGTH or set(text) - set("0123456789abcdef")):
        raise _no_etag()
    return text


def _unquoted(value: str | None) -> str | None:
    if value is None or value.strip() == "*":
        return None
    text = value.strip()
    if len(text) < 3 or text[:1] + text[-1:] != '""':
        raise _no_etag()
    return text[1:-1]


def _no_etag() -> Problem:
    return Problem(
        HTTPStatus.BAD_REQUEST,
        "invalid-request",
        "If-Match is no ETag of this API",
        "send what the header ETag of the answer to GET was",
    )
