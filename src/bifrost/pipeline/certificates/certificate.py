"""A certificate: a report of one tenant and day, signed with Ed25519 (RFC 8032), and its check.

    {"report": {...}, "algorithm": "Ed25519", "key_id": "<hex>", "signature": "<base64>"}

The signed bytes are a fixed prefix, so that the signature is valid for nothing else, and the report as JSON with sorted
keys, no spaces and only ASCII. A person with the public key can check the signature without this code, by three lines
of OpenSSL (docs/pipeline.md).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from bifrost.pipeline.errors import PipelineError

CONTEXT = b"bifrost isolation certificate v1\n"
_MAKE_KEY = "make one: openssl genpkey -algorithm ed25519 -out certify.key"
_MAKE_PUBLIC = "make it: openssl pkey -in certify.key -pubout -out certify.pub"


def read_private_key(pem: bytes) -> Ed25519PrivateKey:
    """Return the key of a PEM file.

    Raises:
        PipelineError: it is no Ed25519 key, or it is encrypted. The message contains no part of it.
    """
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError):
        raise PipelineError(f"the signing key is no unencrypted private key in PEM: {_MAKE_KEY}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise PipelineError(f"the signing key is not of Ed25519: {_MAKE_KEY}")
    return key


def read_public_key(pem: bytes) -> Ed25519PublicKey:
    """Return the key of a PEM file.

    Raises:
        PipelineError: it is no Ed25519 key.
    """
    try:
        key = load_pem_public_key(pem)
    except (ValueError, TypeError):
        raise PipelineError(f"the key is no public key in PEM: {_MAKE_PUBLIC}") from None
    if not isinstance(key, Ed25519PublicKey):
        raise PipelineError(f"the key is not of Ed25519: {_MAKE_PUBLIC}")
    return key


def key_id(key: Ed25519PublicKey) -> str:
    """Return the ID of a key: the first half of its SHA-256, in hexadecimal."""
    return hashlib.sha256(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()[:32]


def signed_bytes(report: dict[str, Any]) -> bytes:
    """Return the bytes that are signed."""
    return CONTEXT + json.dumps(report, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def sign(report: dict[str, Any], key: Ed25519PrivateKey) -> str:
    """Return the text of a certificate: its report, readable, and the signature."""
    whole = {
        "report": report,
        "algorithm": "Ed25519",
        "key_id": key_id(key.public_key()),
        "signature": base64.b64encode(key.sign(signed_bytes(report))).decode(),
    }
    return json.dumps(whole, indent=2, sort_keys=True) + "\n"


def verify(text: str, key: Ed25519PublicKey) -> dict[str, Any]:
    """Return the report of a certificate that `key` has signed.

    Raises:
        PipelineError: the text is no certificate, is signed by another key, or was changed since it was signed.
    """
    try:
        whole = json.loads(text, object_pairs_hook=_without_doubles)
        report, signature = whole["report"], base64.b64decode(whole["signature"], validate=True)
        signer, algorithm = whole["key_id"], whole["algorithm"]
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error):
        raise PipelineError("no certificate of this pipeline") from None
    if not isinstance(report, dict) or algorithm != "Ed25519":
        raise PipelineError("no certificate of this pipeline")
    try:
        key.verify(signature, signed_bytes(report))
    except InvalidSignature:
        if signer != key_id(key):
            raise PipelineError(
                f"signed with another key ({str(signer)[:32]!a}, not {key_id(key)})"
            ) from None
        raise PipelineError("not as it was signed: it was changed since") from None
    return report


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Of a key that occurs twice one reader takes the first value, another the last: a signed text must be unambiguous.
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found
