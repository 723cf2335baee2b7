"""The public keys of an issuer (RFC 7517); the caller fetches them and replaces the set.

Only keys that can check a signature are taken, and each only for its own algorithms: an RSA key for RS* and PS*, an
elliptic curve's for the one ES* of its curve, and if the key names one algorithm, for that alone. A shared secret
(`oct`) is no public key and never taken. PyJWT reads the numbers, cryptography makes keys of them.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from jwt.exceptions import PyJWTError

from bifrost.config.fields.oauth import Algorithm

MAX_SET_BYTES = 256 * 1024
"""Largest set read: a hundred keys with the certificates that issuers put beside them."""

MIN_RSA_BITS = 2048
"""RFC 7518, section 3.3."""

MAX_RSA_BITS = 16_384
"""The largest key that OpenSSL checks signatures with; larger ones only take time."""

_RSA = frozenset(one for one in Algorithm if one.startswith(("RS", "PS")))
_CURVES = {"P-256": Algorithm.ES256, "P-384": Algorithm.ES384, "P-521": Algorithm.ES512}
_PUBLIC_MEMBERS = {"RSA": ("kty", "n", "e"), "EC": ("kty", "crv", "x", "y")}

PublicKey = RSAPublicKey | EllipticCurvePublicKey


class NoKey(Exception):
    """There is no key for a token. The text is for the log."""


class UnknownKey(NoKey):
    """The token names a key that is not there, or there are no keys yet: fetching them anew may help."""


@dataclass(frozen=True, slots=True)
class Key:
    """One public key."""

    key_id: str | None
    algorithms: frozenset[Algorithm]
    public_key: PublicKey


class KeySet:
    """The keys of one issuer; `replace` brings it up to date."""

    def __init__(self, max_keys: int, on_unknown: Callable[[], object] = lambda: None) -> None:
        """Start without keys.

        Args:
            max_keys: most keys of a set.
            on_unknown: called when a token's key is not there; it may cause a fetch, and must itself bound how often.
        """
        self._max_keys = max_keys
        self._on_unknown = on_unknown
        self._keys: tuple[Key, ...] = ()

    def __len__(self) -> int:
        return len(self._keys)

    def replace(self, content: bytes) -> None:
        """Replace the keys by those of a JWK set.

        Raises:
            ValueError: `content` is no JWK set, has too many keys, or none that could check a token. Nothing has
                changed then.
        """
        keys = read_keys(content, self._max_keys)
        if not keys:
            raise ValueError("the set has no key that could check the signature of a token")
        self._keys = keys

    def clear(self) -> None:
        """Trust no key any more."""
        self._keys = ()

    def find(self, key_id: str | None, algorithm: Algorithm) -> Key:
        """Return the key that a token says it was signed with.

        Args:
            key_id: the token's `kid`; None: it names none, which is enough where there is one key for the algorithm.
            algorithm: the token's `alg`.
        Raises:
            UnknownKey: the set lacks the key, which may change.
            NoKey: the key is not for this algorithm, or several keys fit and the token names none.
        """
        if not self._keys:
            self._on_unknown()
            raise UnknownKey("the issuer's keys could not be fetched yet")
        named = [key for key in self._keys if key_id in (None, key.key_id)]
        if not named:
            self._on_unknown()
            raise UnknownKey("the token was signed with a key that the issuer does not list")
        fitting = [key for key in named if algorithm in key.algorithms]
        if not fitting:
            raise NoKey(f"the issuer's key is not for {algorithm}")
        if len(fitting) > 1:
            raise NoKey("the token does not say which of the issuer's keys it was signed with (kid)")
        return fitting[0]


def read_keys(content: bytes, max_keys: int) -> tuple[Key, ...]:
    """Read a JWK set; keys that cannot check a token's signature are ignored, as RFC 7517 (section 5) demands.

    Raises:
        ValueError: `content` is no JWK set, or has more than `max_keys` keys.
    """
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    listed = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        raise ValueError("no JWK set: an object with a list `keys` is expected")
    if len(listed) > max_keys:
        raise ValueError(f"{len(listed)} keys, at most {max_keys} are taken (max_keys)")
    return tuple(_usable(listed))


def _usable(listed: list[object]) -> Iterator[Key]:
    for one in listed:
        if isinstance(one, dict):
            key = _read_key(one)
            if key is not None:
                yield key


def _make(public: dict[str, str]) -> tuple[object, frozenset[Algorithm]]:
    if public["kty"] == "RSA":
        return RSAAlgorithm.from_jwk(public), _RSA
    return ECAlgorithm.from_jwk(public), frozenset({_CURVES[public["crv"]]})


def _read_key(jwk: dict[str, Any]) -> Key | None:
    """Return the key if it can check signatures."""
    operations = jwk.get("key_ops")
    if jwk.get("use", "sig") != "sig" or (isinstance(operations, list) and "verify" not in operations):
        return None
    members = _PUBLIC_MEMBERS.get(str(jwk.get("kty")), ())
    # Of a private key that is there by mistake, only the public part is read.
    public = {name: jwk[name] for name in members if isinstance(jwk.get(name), str)}
    try:
        key, algorithms = _make(public)
    except (PyJWTError, KeyError, ValueError, TypeError):
        return None
    if isinstance(key, RSAPublicKey) and not MIN_RSA_BITS <= key.key_size <= MAX_RSA_BITS:
        return None
    if "alg" in jwk:
        algorithms = frozenset(one for one in algorithms if one == jwk["alg"])
    key_id = jwk.get("kid")
    if not algorithms or not isinstance(key, RSAPublicKey | EllipticCurvePublicKey):
        return None
    return Key(key_id if isinstance(key_id, str) else None, algorithms, key)
