"""The salted verifiers of SCRAM, which check a password without containing it (RFC 5802, section 3; RFC 7677).

    SaltedPassword := PBKDF2(password, salt, iterations)      StoredKey := H(HMAC(SaltedPassword, "Client Key"))
                                                              ServerKey := HMAC(SaltedPassword, "Server Key")

A process that has a verifier can check a password, but can neither learn it nor log in with the verifier. It is written
as Kafka writes it (ScramCredentialUtils), one mechanism per line; a line that starts with `#` is a comment:

    SCRAM-SHA-256=[salt=...,stored_key=...,server_key=...,iterations=8192]

Passwords are used unchanged, in UTF-8, without SASLprep, as in Kafka's own clients and librdkafka.

Source: KIP-84; ScramFormatter, ScramMechanism, ScramCredentialUtils.
"""

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


class Mechanism(StrEnum):
    """How a client may authenticate."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    OAUTHBEARER = "OAUTHBEARER"
    GSSAPI = "GSSAPI"


SCRAM_HASHES = {Mechanism.SCRAM_SHA_256: "sha256", Mechanism.SCRAM_SHA_512: "sha512"}


def digest_size(mechanism: Mechanism) -> int:
    """Return how many bytes the keys of a SCRAM mechanism have."""
    return hashlib.new(SCRAM_HASHES[mechanism]).digest_size


MIN_ITERATIONS = 4096
"""Kafka's lower bound (ScramMechanism), and RFC 7677's."""

MAX_ITERATIONS = 16_384
"""Kafka's upper bound: a login costs each side the iterations, some 12 ms for SHA-512."""

MIN_SALT_BYTES = 12
"""As many as in RFC 5802's own example: 96 bits, so that no two users share a salt by chance."""

MAX_SALT_BYTES = 64

NEW_SALT_BYTES = 24


@dataclass(frozen=True, slots=True, repr=False)
class ScramVerifier:
    """The verifier of one password for one mechanism; neither key is ever printed."""

    mechanism: Mechanism
    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    @classmethod
    def derive(cls, mechanism: Mechanism, password: bytes, salt: bytes, iterations: int) -> "ScramVerifier":
        """Make the verifier of a password; takes milliseconds."""
        salted = hashlib.pbkdf2_hmac(SCRAM_HASHES[mechanism], password, salt, iterations)
        return cls.from_salted(mechanism, salted, salt, iterations)

    @classmethod
    def from_salted(
        cls, mechanism: Mechanism, salted: bytes, salt: bytes, iterations: int
    ) -> "ScramVerifier":
        """Make the verifier of a salted password, as AlterUserScramCredentials has it."""
        name = SCRAM_HASHES[mechanism]
        client_key = hmac.digest(salted, b"Client Key", name)
        server_key = hmac.digest(salted, b"Server Key", name)
        return cls(mechanism, salt, iterations, hashlib.new(name, client_key).digest(), server_key)

    def is_proven_by(self, proof: bytes, auth_message: bytes) -> bool:
        """Whether a client that sent this proof in this exchange knows the password."""
        name = SCRAM_HASHES[self.mechanism]
        signature = hmac.digest(self.stored_key, auth_message, name)
        if len(proof) != len(signature):
            return False
        client_key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
        return hmac.compare_digest(hashlib.new(name, client_key).digest(), self.stored_key)

    def server_signature(self, auth_message: bytes) -> bytes:
        """Return the signature that proves to the client that the gateway has its verifier."""
        return hmac.digest(self.server_key, auth_message, SCRAM_HASHES[self.mechanism])

    def matches(self, candidate: bytes) -> bool:
        """Whether `candidate` is the password; takes milliseconds."""
        derived = self.derive(self.mechanism, candidate, self.salt, self.iterations)
        return hmac.compare_digest(derived.stored_key, self.stored_key)

    def imitated(self, key: bytes, username: str) -> "ScramVerifier":
        """Return a verifier of the same shape for a user that does not exist; no proof or password fits it.

        Args:
            key: a secret: an attacker that has it can tell which users exist.
            username: the same name gets the same salt each time, as a real user's name does.
        """

        def made_up(what: bytes, name: str) -> bytes:
            text = b"\0".join((what, self.mechanism.encode(), username.encode("utf-8", "surrogatepass")))
            return hmac.digest(key, text, name)

        salt = made_up(b"salt", "sha512")[: len(self.salt)]
        if self.salt.isalnum() and self.salt.islower():
            # Kafka's own salts have this form: a number in base 36.
            salt = bytes(_BASE_36[one % 36] for one in salt)
        name = SCRAM_HASHES[self.mechanism]
        stored_key, server_key = made_up(b"stored key", name), made_up(b"server key", name)
        return replace(self, salt=salt, stored_key=stored_key, server_key=server_key)

    def to_line(self) -> str:
        """Return its line in a file of verifiers."""
        keys = {"salt": self.salt, "stored_key": self.stored_key, "server_key": self.server_key}
        encoded = ",".join(f"{key}={b64encode(value).decode()}" for key, value in keys.items())
        return f"{self.mechanism}=[{encoded},iterations={self.iterations}]"

    def __repr__(self) -> str:
        return f"ScramVerifier({self.mechanism}, ***)"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accept only a verifier, and dump it as `ScramVerifier(..., ***)`."""
        masked = core_schema.plain_serializer_function_ser_schema(str)
        return core_schema.is_instance_schema(cls, serialization=masked)


_BASE_36 = b"0123456789abcdefghijklmnopqrstuvwxyz"
_LINE = re.compile(r"(?P<mechanism>[A-Z0-9-]+)=\[(?P<values>[^\[\]]*)\]")
_KEYS = ("salt", "stored_key", "server_key", "iterations")


def read_verifiers(text: str) -> tuple[ScramVerifier, ...]:
    """Read the lines of a file of verifiers.

    Raises:
        ValueError: a line is not a verifier, or there is no verifier; the text says which line and what to do, without
            a value.
    """
    found: dict[Mechanism, ScramVerifier] = {}
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line.startswith("#"):
            continue
        try:
            verifier = _read_line(line)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        if verifier.mechanism in found:
            raise ValueError(f"line {number}: {verifier.mechanism} is given twice: remove one")
        found[verifier.mechanism] = verifier
    if not found:
        raise ValueError("has no verifier: write the lines into it that bifrost credentials prints")
    return tuple(found[mechanism] for mechanism in SCRAM_HASHES if mechanism in found)


def _read_line(line: str) -> ScramVerifier:
    match = _LINE.fullmatch(line)
    if match is None or match["mechanism"] not in list(SCRAM_HASHES):
        raise ValueError(
            f"expected {' or '.join(SCRAM_HASHES)}=[salt=...,stored_key=...,server_key=...,iterations=...], "
            "as bifrost credentials prints it"
        )
    mechanism = Mechanism(match["mechanism"])
    pairs = [part.partition("=") for part in match["values"].split(",")]
    values = {key.strip(): value.strip() for key, _, value in pairs}
    if sorted(values) != sorted(_KEYS) or len(pairs) != len(_KEYS):
        raise ValueError(f"expected {', '.join(_KEYS)} in the brackets, each once")
    iterations = values["iterations"]
    in_bounds = re.fullmatch(r"[0-9]{1,9}", iterations) and (
        MIN_ITERATIONS <= int(iterations) <= MAX_ITERATIONS
    )
    if not in_bounds:
        raise ValueError(f"iterations must be a number from {MIN_ITERATIONS} to {MAX_ITERATIONS}")
    size = digest_size(mechanism)
    salt = _read_bytes(values, "salt", range(MIN_SALT_BYTES, MAX_SALT_BYTES + 1))
    keys = [_read_bytes(values, key, range(size, size + 1)) for key in ("stored_key", "server_key")]
    return ScramVerifier(mechanism, salt, int(iterations), *keys)


def _read_bytes(values: dict[str, str], key: str, sizes: Sequence[int]) -> bytes:
    try:
        value = b64decode(values[key], validate=True)
    except ValueError:
        raise ValueError(f"{key} is not base64") from None
    if len(value) not in sizes:
        low, high = sizes[0], sizes[-1]
        expected = f"{low}" if low == high else f"{low} to {high}"
        raise ValueError(f"{key} has {len(value)} bytes, expected {expected}")
    return value
