import json
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from bifrost.pipeline.certificates.certificate import (
    key_id,
    read_private_key,
    read_public_key,
    sign,
    signed_bytes,
    verify,
)
from bifrost.pipeline.errors import PipelineError

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
REPORT = {"tenant": "acmé", "day": "2026-10-01", "accesses": 3, "exceptions": []}


def pem_of(key: Ed25519PrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_pem_of(key: Ed25519PrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def test_what_was_signed_is_verified() -> None:
    assert verify(sign(REPORT, read_private_key(pem_of(KEY))), read_public_key(public_pem_of(KEY))) == REPORT


def test_a_change_of_anything_is_found() -> None:
    changed = sign(REPORT, KEY).replace('"accesses": 3', '"accesses": 4')

    with pytest.raises(PipelineError, match="changed since"):
        verify(changed, KEY.public_key())


def test_another_key_is_named() -> None:
    other = Ed25519PrivateKey.generate().public_key()

    with pytest.raises(PipelineError, match=f"another key .*{key_id(KEY.public_key())}"):
        verify(sign(REPORT, KEY), other)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "null", '{"report": 1, "signature": "AA==", "key_id": "", "algorithm": ""}']
)
def test_anything_else_is_no_certificate(text: str) -> None:
    with pytest.raises(PipelineError, match="no certificate"):
        verify(text, KEY.public_key())


def test_a_key_that_is_given_twice_is_refused() -> None:
    doubled = sign(REPORT, KEY).replace('"accesses": 3', '"accesses": 4, "accesses": 3')

    with pytest.raises(PipelineError, match="no certificate"):
        verify(doubled, KEY.public_key())


def test_openssl_verifies_it_without_us(tmp_path: Path) -> None:
    whole = json.loads(sign(REPORT, KEY))
    (tmp_path / "signed").write_bytes(signed_bytes(whole["report"]))
    (tmp_path / "pub.pem").write_bytes(public_pem_of(KEY))
    script = (
        f"printf %s '{whole['signature']}' | base64 -d > sig && "
        "openssl pkeyutl -verify -pubin -inkey pub.pem -rawin -in signed -sigfile sig"
    )

    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert "Verified Successfully" in done.stdout, done.stderr


def test_a_key_of_another_kind_says_how_to_make_one() -> None:
    other = ec.generate_private_key(ec.SECP256R1())

    with pytest.raises(PipelineError, match="openssl genpkey -algorithm ed25519"):
        read_private_key(pem_of(other))
    with pytest.raises(PipelineError, match="openssl pkey"):
        read_public_key(public_pem_of(other))
    with pytest.raises(PipelineError, match="no unencrypted private key"):
        read_private_key(b"secret nonsense")
    with pytest.raises(PipelineError, match="no public key"):
        read_public_key(b"nonsense")
