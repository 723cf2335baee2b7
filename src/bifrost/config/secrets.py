"""A password that can be compared but not read back.

Only its SHA-256 digest is kept: a password that the process does not hold cannot reach a log line, a traceback, a core
of the object or a pickle. SASL/PLAIN needs no more; it passes the candidate and asks whether it is the same.
"""

import hashlib
import hmac
from typing import Any, NoReturn

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

READ_FROM_FILES = frozenset(
    {"password", "verifiers", "client_secret", "key_password", "pseudonym_key", "token", "hash_key"}
    | {"sealing_key"}
)
"""Fields of a section that are not keys of the configuration file: the loader reads them from files beside it."""


class Secret:
    """A secret value, shown as `Secret(***)` wherever it is printed."""

    __slots__ = ("_digest",)
    _digest: bytes

    def __init__(self, value: bytes) -> None:
        object.__setattr__(self, "_digest", hashlib.sha256(value).digest())

    @classmethod
    def of_digest(cls, digest: bytes) -> "Secret":
        """Return the secret whose SHA-256 this is: 32 bytes."""
        assert len(digest) == hashlib.sha256().digest_size
        made = cls(b"")
        object.__setattr__(made, "_digest", digest)
        return made

    def matches(self, candidate: bytes) -> bool:
        """Whether `candidate` is the secret, in a time that tells nothing about either.

        It compares digests of equal length, so that not even the secret's length can be measured.
        """
        return hmac.compare_digest(self._digest, hashlib.sha256(candidate).digest())

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Secret does not change")

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._digest, other._digest)

    def __hash__(self) -> int:
        return hash(self._digest)

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Secret":
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a Secret is not pickled: load the configuration anew where it is needed")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accept only a Secret, and dump it as `Secret(***)` in JSON."""
        masked = core_schema.plain_serializer_function_ser_schema(str, when_used="json")
        return core_schema.is_instance_schema(cls, serialization=masked)
