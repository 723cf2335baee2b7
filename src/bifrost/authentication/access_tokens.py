"""Checks access tokens and finds their accounts. A token is a JSON Web Token (RFC 7519, RFC 8725) of one issuer.

Checked, in this order: the size, the algorithm, the key, the signature, `iss`, `aud`, the times (`exp` and `iat` must
be there, as Kafka requires; `nbf` if it is), the scopes, the principal, the tenant.

PyJWT reads the header and checks the signature. Its `decode` would look at each character of the token in Python
(`PyJWS._decode_base64url_segment`, in 2.15), a millisecond for the largest, and anyone can send one: so the claims are
read and checked here, the times by a clock that the caller gives.

Error texts never contain a token or a library's words about one: they name only what the issuer has signed.
"""

import base64
import copy
import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from jwt import PyJWS, get_unverified_header
from jwt.exceptions import PyJWTError

from bifrost.authentication.accounts import Account, Accounts
from bifrost.authentication.json_web_keys import KeySet, NoKey, UnknownKey
from bifrost.authentication.oauthbearer_server import CheckedToken, InvalidToken, KeysAreFetched
from bifrost.config.fields.oauth import Algorithm, OAuth
from bifrost.config.values import is_namespace

MAX_PRINCIPAL_LENGTH = 256
"""Characters, as of a user name in the configuration."""

MAX_HEADER_LENGTH = 8 * 1024
"""Longest header of a token that is decoded, in characters of base64: it has an algorithm and the name of a key, some
hundred, with a chain of certificates (`x5c`) 5 to 6 KiB. It is read before its signature is checked."""

_YEAR_10000_S = 253_402_300_800


class AccessTokens:
    """Checks the tokens of one issuer."""

    def __init__(
        self,
        settings: OAuth,
        keys: KeySet,
        accounts: Accounts,
        tenants: Collection[str],
        *,
        now_s: Callable[[], float],
        is_fetching: Callable[[], bool] = lambda: False,
    ) -> None:
        """Check tokens against `keys`.

        Args:
            settings: what a token must have.
            keys: the issuer's, which the gateway keeps up to date.
            accounts: the principals and their tenants, where tokens do not name their tenant.
            tenants: names of all tenants.
            now_s: the time of day, in seconds since 1970.
            is_fetching: whether a fetch of keys is under way.
        """
        self._settings = settings
        self._keys = keys
        self._accounts = accounts
        self._tenants = frozenset(tenants)
        self._now_s = now_s
        self._is_fetching = is_fetching
        self._jws = PyJWS()

    @property
    def max_bytes(self) -> int:
        """Largest token read."""
        return self._settings.max_token_bytes

    @property
    def has_principals(self) -> bool:
        """Whether any principal's token could be accepted."""
        return self._settings.namespace_claim is not None or self._accounts.has_principals

    def only_of(self, tenant: str) -> "AccessTokens":
        """Return the same checks, which accept only this tenant's principals."""
        restricted = copy.copy(self)
        restricted._accounts = self._accounts.only_of(tenant)
        restricted._tenants = self._tenants & {tenant}
        return restricted

    def check(self, token: str) -> CheckedToken:
        """Return the token's account and lifetime.

        Raises:
            InvalidToken: the token is refused.
            KeysAreFetched: the token's key may be among those that are being fetched.
        """
        if len(token) > self._settings.max_token_bytes:
            raise InvalidToken(f"the token is larger than {self._settings.max_token_bytes} bytes")
        claims = self._verified(token)
        lifetime_ms = self._check_times(claims)
        self._check_scope(claims)
        return CheckedToken(self._account(claims), lifetime_ms)

    def _verified(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token if its signature, issuer and audience are right."""
        key_id, algorithm = self._read_header(token)
        try:
            key = self._keys.find(key_id, algorithm)
        except UnknownKey as unknown:
            if self._is_fetching():
                raise KeysAreFetched from None
            status = "invalid_token" if len(self._keys) else "temporarily_unavailable"
            raise InvalidToken(str(unknown), status=status) from None
        except NoKey as no_key:
            raise InvalidToken(str(no_key)) from None
        signed, _, signature = token.rpartition(".")
        try:
            checker = self._jws.get_algorithm_by_name(algorithm)
            public_key = checker.prepare_key(key.public_key)
            if not checker.verify(signed.encode("ascii"), public_key, _from_base64url(signature)):
                raise InvalidToken("the token's signature is wrong")
            claims = json.loads(_from_base64url(signed.partition(".")[2]))
        except (PyJWTError, ValueError, TypeError, RecursionError):
            raise InvalidToken("the token cannot be read") from None
        if not isinstance(claims, dict):
            raise InvalidToken("the token cannot be read")
        self._check_issuer_and_audience(claims)
        return claims

    def _check_issuer_and_audience(self, claims: Mapping[str, Any]) -> None:
        """Check that the token is of the issuer, and for this gateway (RFC 7519, sections 4.1.1 and 4.1.3)."""
        settings = self._settings
        for one in ("exp", "iat", "iss", *(() if settings.any_audience else ("aud",))):
            if claims.get(one) in (None, "", []):
                raise InvalidToken(f"the token has no claim {one}")
        if claims["iss"] != settings.issuer:
            raise InvalidToken("the token is of another issuer than the configured one")
        if settings.any_audience:
            return
        named = [claims["aud"]] if isinstance(claims["aud"], str) else claims["aud"]
        if (
            not isinstance(named, list)
            or not all(isinstance(one, str) for one in named)
            or set(settings.audience).isdisjoint(named)
        ):
            raise InvalidToken("the token is for another audience than the configured one")

    def _read_header(self, token: str) -> tuple[str | None, Algorithm]:
        """Return the key ID and algorithm that the header names; its signature is not checked yet."""
        head, _, others = token.partition(".")
        if len(head) > MAX_HEADER_LENGTH:
            raise InvalidToken(f"the token's header is longer than {MAX_HEADER_LENGTH} characters")
        try:
            if others.count(".") != 1:
                raise ValueError("not three parts")
            # PyJWT would decode all three parts here, and again when it checks the signature.
            header = get_unverified_header(f"{head}.e30.AA")
        except (PyJWTError, ValueError, TypeError, RecursionError):
            raise InvalidToken("the token is no signed JSON Web Token") from None
        if "crit" in header or "b64" in header:
            raise InvalidToken("the token wants an extension that is not known")
        algorithm = header.get("alg")
        allowed = {str(one): one for one in self._settings.algorithms}
        if not isinstance(algorithm, str) or algorithm not in allowed:
            raise InvalidToken("the token is not signed by an algorithm that is allowed")
        key_id = header.get("kid")
        return (key_id if isinstance(key_id, str) else None), allowed[algorithm]

    def _check_times(self, claims: Mapping[str, Any]) -> int:
        """Return how long the token is still valid, in milliseconds."""
        now_s, skew_s = self._now_s(), self._settings.clock_skew_ms / 1000
        expires_s = _time(claims, "exp")
        if expires_s <= now_s - skew_s:
            raise InvalidToken("the token has expired")
        if _time(claims, "iat") > now_s + skew_s:
            raise InvalidToken("the token was issued in the future: do the clocks differ?")
        if "nbf" in claims and _time(claims, "nbf") > now_s + skew_s:
            raise InvalidToken("the token is not good yet: do the clocks differ?")
        return max(0, int((expires_s - now_s) * 1000))

    def _check_scope(self, claims: Mapping[str, Any]) -> None:
        wanted = self._settings.scope
        granted = _scopes(claims.get("scope")) | _scopes(claims.get("scp"))
        missing = [one for one in wanted if one not in granted]
        if missing:
            text = f"the token lacks the scope {', '.join(missing)}"
            raise InvalidToken(text, status="insufficient_scope", scope=" ".join(wanted))

    def _account(self, claims: Mapping[str, Any]) -> Account:
        settings = self._settings
        principal = claims.get(settings.principal_claim)
        is_name = isinstance(principal, str) and principal.isprintable() and principal == principal.strip()
        if not is_name or not 1 <= len(str(principal)) <= MAX_PRINCIPAL_LENGTH:
            raise InvalidToken(f"the token's claim {settings.principal_claim} is no name of a principal")
        name = str(principal)
        if settings.namespace_claim is None:
            account = self._accounts.of_principal(name)
            if account is None:
                raise InvalidToken(f"the token's principal {name!r} belongs to no tenant")
            return account
        claimed = claims.get(settings.namespace_claim)
        tenant, colon, below = claimed.partition(":") if isinstance(claimed, str) else ("", "", "")
        if tenant not in self._tenants:
            text = f"the token's claim {settings.namespace_claim} names no tenant that may come in here"
            raise InvalidToken(text)
        if colon and not is_namespace(below):
            text = f"the token's claim {settings.namespace_claim} names no namespace of tenant {tenant}"
            raise InvalidToken(text)
        return Account(name, tenant, namespace=tuple(below.split(":")) if colon else (), is_listed=False)


def _time(claims: Mapping[str, Any], name: str) -> float:
    """Return a claim that is a NumericDate (RFC 7519, section 2): a number of seconds."""
    value = claims.get(name)
    # Python's JSON parser also accepts NaN and Infinity; the bounds exclude them.
    is_time = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _YEAR_10000_S
    if not is_time:
        raise InvalidToken(f"the token's claim {name} is no time")
    return float(value)  # type: ignore[arg-type]  # checked above


def _scopes(claim: object) -> frozenset[str]:
    """Return the scopes of a claim, which is a text with spaces between them (RFC 8693) or a list of texts."""
    if isinstance(claim, str):
        return frozenset(claim.split())
    if isinstance(claim, list):
        return frozenset(one for one in claim if isinstance(one, str))
    return frozenset()


def _from_base64url(text: str) -> bytes:
    """Decode a part of a token (RFC 7515, section 2); padding, which some issuers add, is taken as well.

    Raises:
        ValueError: the text is something else.
    """
    bare = text.rstrip("=")
    decoded = base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
    # The decoder passes over what is not of its alphabet, and bits that no byte has.
    if (
        text not in (bare, bare + "=" * (-len(bare) % 4))
        or base64.urlsafe_b64encode(decoded).decode().rstrip("=") != bare
    ):
        raise ValueError("not base64url")
    return decoded
