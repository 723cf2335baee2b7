"""A user that a tenant has made, and its record in the state: kind `user`.

key    user:TENANT:NAME
body   {"namespace": "analytics:eu", "credentials": {"SCRAM-SHA-512": {"salt": ..., "stored_key": ...,
       "server_key": ..., "iterations": 4096}}}

`namespace` is empty for users of the whole tenant. Salts and keys are base64. With a stored key a password can be
guessed offline, and no client can authenticate by it (RFC 5802, section 9); no password is stored.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bifrost.config.fields.verifiers import (
    MAX_ITERATIONS,
    MAX_SALT_BYTES,
    MIN_ITERATIONS,
    MIN_SALT_BYTES,
    SCRAM_HASHES,
    Mechanism,
    ScramVerifier,
    digest_size,
)
from bifrost.config.tiers import SEPARATOR, misfit
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import Body

KIND = "user"

MAX_NAME_LENGTH = 256
"""Longest name, in characters: as of a user in the configuration."""

_NEWER = "run the version of the gateway that wrote it"


@dataclass(frozen=True, slots=True)
class StoredUser:
    """One user."""

    tenant: str
    name: str
    tiers: tuple[str, ...]
    """The namespace below the tenant that the user is bound to; () for all of the tenant."""
    verifiers: Mapping[Mechanism, ScramVerifier]
    """At least one. They are never printed."""


def user_key(tenant: str, name: str) -> StateKey:
    """Return the key of a user's record."""
    return StateKey(KIND, f"{tenant}:{name}")


def unfit_name(name: str) -> str | None:
    """Return why this cannot be the name of a user; None: it can.

    Printable ASCII only: clients that prepare names (SASLprep) send no other form of it.
    """
    if not name:
        return "Username must not be empty"
    if len(name) > MAX_NAME_LENGTH or not (name.isascii() and name.isprintable()):
        return f"A user name has up to {MAX_NAME_LENGTH} printable ASCII characters."
    return None


def user_body(tiers: tuple[str, ...], verifiers: Mapping[Mechanism, ScramVerifier]) -> Body:
    """Return the body of a user's record."""
    return {
        "namespace": SEPARATOR.join(tiers),
        "credentials": {
            str(mechanism): {
                "salt": b64encode(one.salt).decode(),
                "stored_key": b64encode(one.stored_key).decode(),
                "server_key": b64encode(one.server_key).decode(),
                "iterations": one.iterations,
            }
            for mechanism, one in verifiers.items()
        },
    }


def read_user(key: StateKey, body: Body) -> StoredUser:
    """Return the user of a record.

    Raises:
        ValueError: it is none; the text has nothing of the body.
    """
    tenant, colon, name = key.name.partition(SEPARATOR)
    if not tenant or not colon or unfit_name(name) is not None:
        raise ValueError("the key of a user has a tenant and a name")
    namespace, credentials = body.get("namespace"), body.get("credentials")
    if (
        len(body) != 2
        or not isinstance(namespace, str)
        or not isinstance(credentials, dict)
        or not credentials
    ):
        raise ValueError(f"the body of a user has a namespace and credentials: {_NEWER}")
    tiers = tuple(namespace.split(SEPARATOR)) if namespace else ()
    if tiers and misfit(tiers) is not None:
        raise ValueError(f"the body of a user has no namespace: {_NEWER}")
    verifiers = {one.mechanism: one for one in map(_read_verifier, credentials, credentials.values())}
    return StoredUser(tenant, name, tiers, verifiers)


def _read_verifier(name: str, fields: Any) -> ScramVerifier:
    wrong = ValueError(f"a credential of a user cannot be read: {_NEWER}")
    if name not in list(SCRAM_HASHES) or not isinstance(fields, dict):
        raise wrong
    mechanism, size = Mechanism(name), digest_size(Mechanism(name))
    if fields.keys() != {"salt", "stored_key", "server_key", "iterations"}:
        raise wrong
    try:
        salt, stored_key, server_key = (
            b64decode(fields[one], validate=True) for one in ("salt", "stored_key", "server_key")
        )
    except (ValueError, TypeError):
        raise wrong from None
    is_fit = (
        MIN_SALT_BYTES <= len(salt) <= MAX_SALT_BYTES
        and len(stored_key) == len(server_key) == size
        and type(fields["iterations"]) is int
        and MIN_ITERATIONS <= fields["iterations"] <= MAX_ITERATIONS
    )
    if not is_fit:
        raise wrong
    return ScramVerifier(mechanism, salt, fields["iterations"], stored_key, server_key)
