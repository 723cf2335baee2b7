"""An issuer of access tokens for the tests: private keys, the JWK set of their public ones, and any token one likes."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

ISSUER = "https://login.example.com/kafka"
CURVES = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


@cache
def private_key(algorithm: str, number: int = 1, bits: int = 2048) -> PrivateKey:
    """Give a private key for this algorithm, always the same one: making one takes a while."""
    if algorithm in CURVES:
        return ec.generate_private_key(CURVES[algorithm])
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


class Issuer:
    """One issuer; a test may give it other keys."""

    def __init__(self, algorithm: str = "RS256", *, number: int = 1, name: str = ISSUER) -> None:
        self.name = name
        self.algorithm = algorithm
        self.key_id = f"key-{number}"
        # All RSA algorithms have the same keys.
        self.private_key = private_key(algorithm if algorithm in CURVES else "RSA", number)

    def public_jwk(self, **members: Any) -> dict[str, Any]:
        """Give the public key as issuers list it; `None` leaves a member out."""
        kind = ECAlgorithm if self.algorithm in CURVES else RSAAlgorithm
        jwk = kind.to_jwk(self.private_key.public_key(), as_dict=True)
        jwk = {**jwk, "kid": self.key_id, "use": "sig", **members}
        jwk.pop("key_ops", None)
        return {name: value for name, value in jwk.items() if value is not None}

    def token(
        self, now_s: float, *, headers: dict[str, Any] | None = None, algorithm: str = "", **claims: Any
    ) -> str:
        """Sign a token for `alice` of audience `kafka`, good for five minutes; `None` leaves a claim out."""
        every = {
            "iss": self.name,
            "aud": "kafka",
            "sub": "alice",
            "iat": int(now_s),
            "exp": int(now_s) + 300,
            **claims,
        }
        kept = {name: value for name, value in every.items() if value is not None}
        return jwt.encode(
            kept,
            self.private_key,
            algorithm=algorithm or self.algorithm,
            headers={"kid": self.key_id, **(headers or {})},
        )


def jwk_set(*keys: dict[str, Any]) -> bytes:
    """Give a JWK set as an issuer serves it."""
    return json.dumps({"keys": keys}).encode()


def encoded(value: object) -> str:
    """Give a part of a token."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def client_first(token: str, *, authorization_id: str = "", extensions: str = "") -> bytes:
    """Give the message by which a client shows a token."""
    name = f"a={authorization_id}" if authorization_id else ""
    return f"n,{name},\1auth=Bearer {token}\1{extensions}\1".encode()
